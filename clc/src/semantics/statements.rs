//! Statements.

use super::Checker;
use crate::syntax::ast;
use crate::tree::{Expr, Stmt};

impl Checker<'_, '_> {
    /// `{ ... }`, in a scope of its own.
    pub(crate) fn block(&mut self, block: &ast::Block) -> Vec<Stmt> {
        let _ = block;
        Vec::new()
    }

    /// A statement.
    pub(crate) fn statement(&mut self, statement: &ast::Stmt) -> Vec<Stmt> {
        let _ = statement;
        Vec::new()
    }

    /// `({ ... })`
    pub(crate) fn statement_expression(&mut self, block: &ast::Block) -> Expr {
        self.error_value(block.span)
    }
}
