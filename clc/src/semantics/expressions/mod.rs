//! Expressions, conversions, overloads, calls.

use super::{Assigning, Checker, Operand};
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind};
use crate::types::Ty;

impl Checker<'_, '_> {
    /// The value of an expression: places are read, arrays and functions have become pointers.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        self.error_value(expr.span)
    }

    /// An expression before it is used.
    pub(crate) fn operand(&mut self, expr: &ast::Expr) -> Operand {
        Operand::Value(self.expr(expr))
    }

    /// A condition, as a `bool`.
    pub(crate) fn condition(&mut self, expr: &ast::Expr) -> Expr {
        self.expr(expr)
    }

    /// The implicit conversion of a value to a type.
    pub(crate) fn convert_assign(&mut self, expr: Expr, to: Ty, context: Assigning) -> Expr {
        let _ = (to, context);
        expr
    }

    /// The value of an expression with an error.
    pub(crate) fn error_value(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Constant(Constant::Undefined), ty: self.module.types.error(), span }
    }
}
