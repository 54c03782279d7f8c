//! Evaluation of constant expressions.

use super::Checker;
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind};
use crate::types::Ty;

impl Checker<'_, '_> {
    /// The value and type of an integer constant expression. `None` if it is none: an error was reported, in which `what`
    /// (an adverbial such as `"array size"`) may say what it is for.
    pub(crate) fn integer_constant(&mut self, expr: &ast::Expr, what: &str) -> Option<(i128, Ty)> {
        let _ = (expr, what);
        None
    }

    /// The value of a typed tree, if it is constant. Nothing is reported.
    pub(crate) fn evaluate(&self, expr: &Expr) -> Option<Constant> {
        match &expr.kind {
            ExprKind::Constant(constant) => Some(constant.clone()),
            _ => None,
        }
    }

    /// The value of a typed tree as an integer.
    pub(crate) fn evaluate_integer(&self, expr: &Expr) -> Option<i128> {
        let _ = expr;
        None
    }

    /// The tree as a constant if it is a constant of a scalar or a vector; otherwise the tree as it is.
    pub(crate) fn fold(&self, expr: Expr) -> Expr {
        expr
    }
}
