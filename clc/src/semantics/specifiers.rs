//! Types as specifiers give them.

use super::Checker;
use crate::source::Symbol;
use crate::syntax::ast;
use crate::types::QualTy;

use super::Entity;

impl Checker<'_, '_> {
    /// The type of a type name (in a cast, `sizeof`, a compound literal).
    pub(crate) fn type_name(&mut self, name: &ast::TypeName) -> QualTy {
        let _ = name;
        QualTy::plain(self.module.types.error())
    }

    /// A constant that OpenCL C declares: `memory_order_relaxed` and its kin.
    pub(crate) fn predeclared_constant(&self, name: Symbol) -> Option<Entity> {
        let _ = name;
        None
    }
}
