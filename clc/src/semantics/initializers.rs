//! Initializers.

use super::{Checker, Operand};
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::Expr;
use crate::types::QualTy;

impl Checker<'_, '_> {
    /// The value of an initializer for an object of a type, and the type: that of an array of unknown size is completed.
    /// `None` if there is an error; it was reported.
    pub(crate) fn initialize(&mut self, target: QualTy, init: &ast::Initializer, span: Span) -> Option<(QualTy, Expr)> {
        let _ = (target, init, span);
        None
    }

    /// `(type){ ... }`: a place.
    pub(crate) fn compound_literal(&mut self, ty: &ast::TypeName, list: &ast::InitList, span: Span) -> Operand {
        let _ = (ty, list);
        Operand::Value(self.error_value(span))
    }
}
