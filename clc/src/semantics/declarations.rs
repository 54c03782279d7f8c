//! Declarations of objects, types and functions.

use super::Checker;
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{GlobalId, LocalId, Stmt};
use crate::types::QualTy;

impl Checker<'_, '_> {
    /// Checks a translation unit.
    pub(crate) fn unit(&mut self, unit: &ast::Unit) {
        let _ = unit;
    }

    /// A declaration in a function: the statements that it becomes.
    pub(crate) fn local_declaration(&mut self, declaration: &ast::Declaration) -> Vec<Stmt> {
        let _ = declaration;
        Vec::new()
    }

    /// A new automatic variable of the current function: a named one, or a temporary. It is not declared in a scope.
    pub(crate) fn new_local(&mut self, name: Option<Symbol>, ty: QualTy, span: Span) -> LocalId {
        let _ = (name, ty, span);
        LocalId(0)
    }

    /// The object of a string literal: bytes without the terminating zero. Equal literals are one object. Its type is an
    /// array of `char` in the constant address space, with the zero.
    pub(crate) fn string_literal(&mut self, bytes: Vec<u8>, span: Span) -> GlobalId {
        let _ = (bytes, span);
        GlobalId(0)
    }
}
