//! The syntax tree in, the typed tree out: names, types, conversions, constants, and all rules of the language.
//!
//! [`Checker`] holds the state. Its methods are in one file per concern:
//!
//! | files | concern |
//! |---|---|
//! | `scope.rs` | what names mean |
//! | `specifiers.rs`, `declarators.rs`, `records.rs`, `attributes.rs` | types as written |
//! | `declarations.rs`, `initializers.rs`, `functions.rs`, `kernels.rs` | objects and functions |
//! | `statements.rs` | statements |
//! | `constants/` | evaluation of constant expressions, exactly |
//! | `expressions/` | expressions, conversions, overloads, calls |

mod scope;

use crate::preprocess::Session;
use crate::syntax::ast;
use crate::tree::{Expr, FunctionId, Module, Place};
use crate::types::TypeTable;

pub(crate) use scope::Entity;

/// The state of a check.
pub(crate) struct Checker<'s, 'o> {
    /// Options, names, diagnostics.
    pub session: &'s mut Session<'o>,
    /// What was checked so far.
    pub module: Module,
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
    Builtin(crate::source::Symbol),
}

/// Checks a translation unit. Errors are reported; the module is complete only if there are none.
pub fn check(session: &mut Session<'_>, unit: &ast::Unit) -> Module {
    let _ = unit;
    let bytes = if session.options.profile.bits_64 { 8 } else { 4 };
    let module = Module { types: TypeTable::new(bytes), functions: Vec::new(), globals: Vec::new() };
    let checker = Checker { session, module };
    checker.module
}
