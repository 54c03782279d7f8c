//! Block literals (`^{ ... }`) and what they capture.

use super::Checker;
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Expr, LocalId, Place, PlaceKind};
use crate::types::QualTy;

impl Checker<'_, '_> {
    /// `^ type (parameters) { ... }`: a value of a block pointer type.
    pub(crate) fn block_literal(&mut self, ty: Option<&ast::TypeName>, body: &ast::Block, span: Span) -> Expr {
        let _ = (ty, body);
        self.error_value(span)
    }

    /// The place of a local of a function around the current block literal ([`super::Entity::Captured`]): a `const` member of
    /// the captures.
    pub(crate) fn capture(&mut self, local: LocalId, state: usize, span: Span) -> Place {
        let _ = state;
        Place { kind: PlaceKind::Local(local), ty: QualTy::plain(self.module.types.error()), span }
    }
}
