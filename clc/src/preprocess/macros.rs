//! Macros, and the table that finds them by name.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::lexer::PpToken;
use super::token::TokenKind;
use crate::source::{Span, Symbol};

/// A macro whose expansion is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dynamic {
    /// `__LINE__`
    Line,
    /// `__FILE__`
    File,
    /// `__FILE_NAME__`: without directories.
    FileName,
    /// `__BASE_FILE__`: the main file.
    BaseFile,
    /// `__INCLUDE_LEVEL__`
    IncludeLevel,
    /// `__COUNTER__`
    Counter,
    /// `__DATE__`
    Date,
    /// `__TIME__`
    Time,
    /// `__TIMESTAMP__`
    Timestamp,
    /// `__has_include` and `__has_include_next`
    HasInclude(bool),
    /// `__has_attribute` and the like, with an argument in parentheses.
    Has(Feature),
}

/// What a feature check asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// `__has_attribute`
    Attribute,
    /// Attributes that C has none of here: `__has_c_attribute`, `__has_declspec_attribute`.
    OtherAttribute,
    /// `__has_builtin`
    Builtin,
    /// `__has_feature`
    Language,
    /// `__has_extension`
    Extension,
    /// `__has_warning`
    Warning,
    /// `__is_identifier`
    Identifier,
}

/// A macro.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    /// Its name.
    pub name: Symbol,
    /// Where its name is in the definition; [`Span::NONE`] for predefined ones.
    pub span: Span,
    /// Names of its parameters; `None` for an object-like macro.
    pub parameters: Option<Rc<[Symbol]>>,
    /// Whether the last parameter takes all further arguments.
    pub is_variadic: bool,
    /// The body. In function-like macros, parameters are marked.
    pub body: Rc<[PpToken]>,
    /// Whether its expansion is computed.
    pub dynamic: Option<Dynamic>,
    /// Whether it is being expanded, so that its name means itself.
    pub is_disabled: bool,
}

impl Macro {
    /// Whether a definition repeats another one: the same tokens and spaces, and the same parameters.
    pub(super) fn is_same(&self, other: &Macro) -> bool {
        let same_token = |(index, (a, b)): (usize, (&PpToken, &PpToken))| {
            a.token.kind == b.token.kind
                && a.parameter == b.parameter
                && (index == 0 || a.token.space_before == b.token.space_before)
        };
        self.dynamic == other.dynamic
            && self.parameters == other.parameters
            && self.is_variadic == other.is_variadic
            && self.body.len() == other.body.len()
            && self.body.iter().zip(other.body.iter()).enumerate().all(same_token)
    }

    /// Whether some token of the body is the symbol.
    pub(super) fn mentions(&self, symbol: Symbol) -> bool {
        self.body.iter().any(|token| token.token.kind == TokenKind::Identifier(symbol))
    }
}

/// A macro of a [`MacroTable`]. Macros are never removed from it: one may be undefined while it is being expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MacroId(u32);

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Not looked up yet among the predefined macros.
    Unknown,
    /// No macro.
    None,
    /// A macro.
    Some(MacroId),
}

/// All macros.
#[derive(Debug, Default)]
pub(super) struct MacroTable {
    macros: Vec<Macro>,
    /// By symbol.
    entries: Vec<Entry>,
    /// Entries that `#pragma push_macro` saved, the last one last.
    pub saved: FxHashMap<Symbol, Vec<Entry>>,
}

impl MacroTable {
    /// What a name is.
    pub(super) fn entry(&self, name: Symbol) -> Entry {
        self.entries.get(name.0 as usize).copied().unwrap_or(Entry::Unknown)
    }

    /// Sets what a name is.
    pub(super) fn set(&mut self, name: Symbol, entry: Entry) {
        let index = name.0 as usize;
        if self.entries.len() <= index {
            self.entries.resize(index + 1 + index / 2, Entry::Unknown);
        }
        self.entries[index] = entry;
    }

    /// Adds a macro, which its name stands for from now on.
    pub(super) fn define(&mut self, one: Macro) {
        let name = one.name;
        self.macros.push(one);
        self.set(name, Entry::Some(MacroId(self.macros.len() as u32 - 1)));
    }

    /// A macro.
    pub(super) fn get(&self, id: MacroId) -> &Macro {
        &self.macros[id.0 as usize]
    }

    /// Sets whether a macro is being expanded.
    pub(super) fn set_disabled(&mut self, id: MacroId, is_disabled: bool) {
        self.macros[id.0 as usize].is_disabled = is_disabled;
    }
}
