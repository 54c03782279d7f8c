//! Compound literals.

use super::{Checker, Operand};
use crate::source::Span;
use crate::syntax::ast::{self, InitList};
use crate::tree::{Expr, ExprKind, Global, Linkage, Place, PlaceKind};
use crate::types::{AddressSpace, QualTy, TypeKind};

impl Checker<'_, '_> {
    /// `(type){ ... }`: a place.
    pub(crate) fn compound_literal(&mut self, ty: &ast::TypeName, list: &InitList, span: Span) -> Operand {
        let (mut target, has_space) = self.written_type_name(ty);
        if *self.module.types.kind(target.ty) == TypeKind::Error {
            return Operand::Value(self.error_value(span));
        }
        let at_file_scope = self.states.is_empty();
        if has_space && !at_file_scope && target.quals.space != AddressSpace::Private {
            self.error(span, "compound literal in function scope may not be qualified with an address space");
        }
        if !at_file_scope {
            target.quals.space = AddressSpace::Private;
        } else if !has_space || target.quals.space == AddressSpace::Private {
            target.quals.space =
                if self.has_program_scope_globals() { AddressSpace::Global } else { AddressSpace::Constant };
        }
        if self.module.types.layout(target.ty).is_none()
            && !matches!(self.module.types.kind(target.ty), TypeKind::Array(_, None))
        {
            let text = format!("variable has incomplete type {}", self.describe_ty(target.ty));
            self.error(span, text);
            return Operand::Value(self.error_value(span));
        }
        let Some((ty, value)) = self.initialize_list(target.ty, list, span) else {
            return Operand::Value(self.error_value(span));
        };
        let value = self.fold_initializer(value);
        let target = QualTy { ty, quals: target.quals };
        if !at_file_scope {
            let local = self.new_local(None, target, span);
            let kind = PlaceKind::Temporary(local, Box::new(value));
            return Operand::Place(Place { kind, ty: target, span });
        }
        let Some(constant) = self.evaluate(&value) else {
            let at = self.first_not_constant(&value);
            self.error(at, "initializer element is not a compile-time constant");
            return Operand::Value(self.error_value(span));
        };
        let id = self.add_global(Global {
            name: String::new(),
            ty: target,
            init: Some(constant.clone()),
            linkage: Linkage::Internal,
            is_defined: true,
            owner: None,
            align: 0,
            span,
        });
        // The value of a literal is constant where the literal itself initializes something.
        if self.module.types.lanes(ty).is_some() {
            return Operand::Value(Expr { kind: ExprKind::Constant(constant), ty, span });
        }
        Operand::Place(Place { kind: PlaceKind::Global(id), ty: target, span })
    }
}
