//! Which names are types. A name is looked up among those that the program declares, then among OpenCL C's own types.

use rustc_hash::FxHashMap;

use crate::preprocess::Session;
use crate::source::Symbol;
use crate::types::{BuiltinType, builtin_type};

/// What the parser knows of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It was not asked for yet.
    #[default]
    NotLookedUp,
    /// Neither declared nor a type of OpenCL C.
    Unknown,
    /// A type of OpenCL C.
    Builtin,
    /// A vector type of OpenCL C.
    BuiltinVector,
    /// A `typedef`.
    Typedef,
    /// A `typedef` of a vector type.
    VectorTypedef,
    /// An object, a function or a constant.
    Ordinary,
}

impl Meaning {
    /// Whether the name is a type.
    pub(super) fn is_type(self) -> bool {
        matches!(self, Meaning::Builtin | Meaning::Typedef) || self.is_vector()
    }

    /// Whether the name is a vector type.
    pub(super) fn is_vector(self) -> bool {
        matches!(self, Meaning::BuiltinVector | Meaning::VectorTypedef)
    }
}

/// The names in scope.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By the symbol's number.
    meanings: Vec<Meaning>,
    /// What declarations in open scopes have hidden, to restore it.
    hidden: Vec<(Symbol, Meaning)>,
    /// Lengths of `hidden` at the beginning of each open scope.
    scopes: Vec<usize>,
    /// The keywords by which tags were declared, in any scope: for messages.
    tags: FxHashMap<Symbol, &'static str>,
}

impl Names {
    /// What a name is.
    pub(super) fn meaning(&mut self, symbol: Symbol, session: &Session<'_>) -> Meaning {
        let at = symbol.0 as usize;
        if at >= self.meanings.len() {
            self.meanings.resize(at + 64, Meaning::NotLookedUp);
        }
        if self.meanings[at] == Meaning::NotLookedUp {
            let text = session.names.text(symbol);
            self.meanings[at] = match builtin_type(text, session.version_of(text), &session.options.profile) {
                Some(BuiltinType::Vector(..)) => Meaning::BuiltinVector,
                Some(_) => Meaning::Builtin,
                None => Meaning::Unknown,
            };
        }
        self.meanings[at]
    }

    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, symbol: Symbol, meaning: Meaning) {
        let at = symbol.0 as usize;
        if at >= self.meanings.len() {
            self.meanings.resize(at + 64, Meaning::NotLookedUp);
        }
        if !self.scopes.is_empty() {
            self.hidden.push((symbol, self.meanings[at]));
        }
        self.meanings[at] = meaning;
    }

    /// The names of `typedef`s, for hints.
    pub(super) fn typedefs(&self) -> impl Iterator<Item = Symbol> + '_ {
        let meanings = self.meanings.iter().enumerate();
        let typedefs = meanings.filter(|(_, meaning)| matches!(meaning, Meaning::Typedef | Meaning::VectorTypedef));
        typedefs.map(|(number, _)| Symbol(number as u32))
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(self.hidden.len());
    }

    /// Closes the innermost scope.
    pub(super) fn close(&mut self) {
        let from = self.scopes.pop().unwrap_or(0);
        for (symbol, meaning) in self.hidden.drain(from..).rev() {
            self.meanings[symbol.0 as usize] = meaning;
        }
    }

    /// Closes all scopes: after an error parsing goes on at file scope.
    pub(super) fn close_all(&mut self) {
        while !self.scopes.is_empty() {
            self.close();
        }
    }

    /// Whether a declaration would be in file scope.
    pub(super) fn at_file_scope(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Remembers a tag.
    pub(super) fn declare_tag(&mut self, symbol: Symbol, keyword: &'static str) {
        self.tags.insert(symbol, keyword);
    }

    /// The keyword of a tag.
    pub(super) fn tag(&self, symbol: Symbol) -> Option<&'static str> {
        self.tags.get(&symbol).copied()
    }
}
