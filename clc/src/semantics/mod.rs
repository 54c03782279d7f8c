//! The syntax tree in, the typed tree out: names, types, conversions, constants, and all rules of the language.
//!
//! [`Checker`] holds the state. Its methods are in one file per concern:
//!
//! | files | concern |
//! |---|---|
//! | `scope.rs` | what names mean |
//! | `describe.rs`, `compatible.rs` | how types are printed; which are compatible |
//! | `specifiers.rs`, `declarators.rs`, `records.rs`, `attributes.rs` | types as written |
//! | `declarations.rs`, `variables.rs`, `initializers.rs`, `designators.rs`, `compound.rs` | objects |
//! | `functions.rs`, `mangle.rs`, `blocks.rs`, `kernels.rs`, `calls.rs` | functions |
//! | `statements.rs`, `labels.rs`, `flow.rs`, `warnings.rs` | statements |
//! | `constants/` | evaluation of constant expressions, exactly |
//! | `expressions/` | expressions, conversions, overloads, calls |

mod attributes;
mod blocks;
mod calls;
mod compatible;
mod compound;
mod constants;
mod declarations;
mod declarators;
mod describe;
mod designators;
mod expressions;
mod flow;
mod functions;
mod initializers;
mod kernels;
mod labels;
mod mangle;
mod records;
mod scope;
mod specifiers;
mod state;
mod statements;
#[cfg(test)]
mod tests;
mod variables;
mod warnings;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::builtins::Function;
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::preprocess::Session;
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Expr, FunctionId, GlobalId, Module, Place};
use crate::types::{AddressSpace, RecordId, Ty, TypeTable};

pub(crate) use scope::{Entity, Scopes};
pub(crate) use state::{FunctionInfo, FunctionState};

/// The state of a check.
pub(crate) struct Checker<'s, 'o> {
    /// Options, names, diagnostics.
    pub session: &'s mut Session<'o>,
    /// What was checked so far.
    pub module: Module,
    /// What names mean.
    pub scopes: Scopes,
    /// What [`crate::tree::Function`] does not say of each function of the module.
    pub functions: Vec<FunctionInfo>,
    /// The functions whose bodies are being checked: the innermost block literal is last. Empty at file scope.
    pub states: Vec<FunctionState>,
    /// What is known of `typedef` names besides their types.
    pub typedefs: FxHashMap<Symbol, declarations::TypedefInfo>,
    /// Records and enumerations without a tag that a `typedef` names.
    pub untagged: FxHashSet<Ty>,
    /// Members of records whose type is `size_t` or the like.
    pub device_sized_fields: FxHashSet<(RecordId, u32)>,
    /// The names of functions that the program defines.
    pub defined: FxHashSet<Symbol>,
    /// String literals that exist already.
    pub strings: FxHashMap<Vec<u8>, GlobalId>,
    /// Which function calls which, and where.
    pub calls: Vec<(FunctionId, FunctionId, Span)>,
    /// Whether contraction is allowed at this point of the file scope.
    pub contract: bool,
    /// Built-in functions that were looked up.
    pub builtins: FxHashMap<Symbol, Option<Rc<Function>>>,
    /// Whether a tag that is declared now is one in a parameter list, outside of which it cannot be named.
    pub in_parameters: bool,
    /// How deep expressions, statements and initializers are nested.
    pub depth: u32,
    /// Elements of arrays that designators repeated or skipped so far.
    pub unlisted: u64,
}

/// An expression before it is used: only the use decides whether a place is read.
#[derive(Debug)]
pub(crate) enum Operand {
    /// A value.
    Value(Expr),
    /// An object.
    Place(Place),
    /// The functions of a name: those of the program.
    Functions(Vec<FunctionId>),
    /// A built-in function, by its name.
    Builtin(Symbol),
}

/// What a value is implicitly converted for: the words of the diagnostics depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigning {
    /// `a = b`
    Assignment,
    /// An initializer.
    Initialization,
    /// An argument of a call.
    Argument,
    /// `return`
    Return,
}

/// Checks a translation unit. Errors are reported; the module is complete only if there are none.
pub fn check(session: &mut Session<'_>, unit: &ast::Unit) -> Module {
    let bytes = if session.options.profile.bits_64 { 8 } else { 4 };
    let module = Module { types: TypeTable::new(bytes), functions: Vec::new(), globals: Vec::new() };
    let mut checker = Checker {
        session,
        module,
        scopes: Scopes::new(),
        functions: Vec::new(),
        states: Vec::new(),
        typedefs: FxHashMap::default(),
        untagged: FxHashSet::default(),
        device_sized_fields: FxHashSet::default(),
        defined: FxHashSet::default(),
        strings: FxHashMap::default(),
        calls: Vec::new(),
        contract: true,
        builtins: FxHashMap::default(),
        in_parameters: false,
        depth: 0,
        unlisted: 0,
    };
    checker.unit(unit);
    checker.module
}

impl Checker<'_, '_> {
    /// Reports an error.
    pub(crate) fn error(&mut self, span: Span, text: impl Into<String>) {
        self.session.diagnostics.error(span, text);
    }

    /// Reports a warning of a group.
    pub(crate) fn warning(&mut self, span: Span, group: &'static str, text: impl Into<String>) {
        self.session.diagnostics.warning(span, group, text);
    }

    /// Reports a diagnostic.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.session.diagnostics.report(diagnostic);
    }

    /// The text of a name.
    pub(crate) fn text(&self, name: Symbol) -> &str {
        self.session.names.text(name)
    }

    /// The language version.
    pub(crate) fn version(&self) -> Version {
        self.session.options.version
    }

    /// Whether the version has a feature of OpenCL C 3.0: 2.0 has all of them, versions before have none.
    pub(crate) fn has_feature(&self, name: &str) -> bool {
        self.version_has_feature(self.version(), name)
    }

    /// Whether a version has a feature on this device.
    pub(crate) fn version_has_feature(&self, version: Version, name: &str) -> bool {
        match version {
            Version::V1_0 | Version::V1_1 | Version::V1_2 => false,
            Version::V2_0 => true,
            Version::V3_0 | Version::V3_1 => self.session.options.profile.has_feature(name),
        }
    }

    /// Whether there is a generic address space.
    pub(crate) fn has_generic(&self) -> bool {
        self.has_feature("__opencl_c_generic_address_space")
    }

    /// The address space of what a pointer points to if none is written.
    pub(crate) fn default_pointee_space(&self) -> AddressSpace {
        if self.has_generic() { AddressSpace::Generic } else { AddressSpace::Private }
    }

    /// Goes one level deeper into the syntax tree. False, and an error is reported, if the limit is reached; otherwise
    /// [`Checker::leave`] must follow.
    pub(crate) fn enter(&mut self, span: Span) -> bool {
        // The parser has the same limit for each kind of nesting; they add up here.
        if self.depth >= 8 * crate::limits::NESTING + crate::limits::CHAIN {
            self.error(span, "the source is nested too deeply");
            return false;
        }
        self.depth += 1;
        true
    }

    /// Ends what [`Checker::enter`] began.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}
