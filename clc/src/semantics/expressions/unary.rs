//! Operators of one operand.

use rustc_hash::FxHashSet;

use super::convert::merged;
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::semantics::{Checker, Entity, Operand};
use crate::source::{Span, Symbol};
use crate::syntax::ast::{self, UnaryOp};
use crate::tree::{self, Expr, ExprKind, Place, PlaceKind};
use crate::types::{QualTy, RecordId, Scalar, TypeKind, Uses};

impl Checker<'_, '_> {
    /// A unary operator.
    pub(super) fn unary(&mut self, op: UnaryOp, inner: &ast::Expr, expr: &ast::Expr) -> Operand {
        match op {
            UnaryOp::Deref => self.dereference(inner, expr),
            UnaryOp::AddressOf => Operand::Value(self.address_of(inner, expr)),
            UnaryOp::PreIncrement => Operand::Value(self.increment(inner, expr, false, false)),
            UnaryOp::PreDecrement => Operand::Value(self.increment(inner, expr, false, true)),
            UnaryOp::PostIncrement => Operand::Value(self.increment(inner, expr, true, false)),
            UnaryOp::PostDecrement => Operand::Value(self.increment(inner, expr, true, true)),
            UnaryOp::LogicalNot => Operand::Value(self.logical_not(inner, expr)),
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not => Operand::Value(self.arithmetic_unary(op, inner, expr)),
            UnaryOp::Real | UnaryOp::Imag => {
                self.expr(inner);
                self.error(expr.span, "complex numbers are not supported in OpenCL C");
                Operand::Value(self.error_value(expr.span))
            }
        }
    }

    fn invalid_argument(&mut self, value: &Expr, expr: &ast::Expr) -> Expr {
        if !self.is_error(value.ty) {
            let text = format!("invalid argument type {} to unary expression", self.shown(value));
            self.report(Diagnostic::error(expr.caret, text).range(value.span));
        }
        self.error_value(expr.span)
    }

    fn arithmetic_unary(&mut self, op: UnaryOp, inner: &ast::Expr, expr: &ast::Expr) -> Expr {
        let value = self.expr(inner);
        let Some((scalar, _)) = self.lanes(value.ty) else {
            return self.invalid_argument(&value, expr);
        };
        if op == UnaryOp::Not && scalar.is_float() {
            return self.invalid_argument(&value, expr);
        }
        let value = self.promote(value);
        if op == UnaryOp::Plus {
            return Expr { span: expr.span, ..value };
        }
        let op = if op == UnaryOp::Minus { tree::UnaryOp::Negate } else { tree::UnaryOp::Not };
        let ty = value.ty;
        self.make(ExprKind::Unary(op, Box::new(value)), ty, expr.span)
    }

    fn logical_not(&mut self, inner: &ast::Expr, expr: &ast::Expr) -> Expr {
        let value = self.expr(inner);
        if self.is_error(value.ty) {
            return value;
        }
        let before_1_2 = self.version() < Version::V1_2;
        if before_1_2 && self.lanes(value.ty).is_some_and(|(scalar, _)| scalar.is_float()) {
            return self.invalid_argument(&value, expr);
        }
        if let TypeKind::Vector(scalar, lanes) = *self.kind(value.ty) {
            let ty = self.mask_type(scalar, lanes);
            return self.make(ExprKind::Unary(tree::UnaryOp::LogicalNot, Box::new(value)), ty, expr.span);
        }
        if !self.kind(value.ty).has_truth() {
            return self.invalid_argument(&value, expr);
        }
        let value = self.truth(value);
        let (bool, int) = (self.bool(), self.int());
        let negated = self.make(ExprKind::Unary(tree::UnaryOp::LogicalNot, Box::new(value)), bool, expr.span);
        self.convert(negated, int)
    }

    fn dereference(&mut self, inner: &ast::Expr, expr: &ast::Expr) -> Operand {
        let value = self.expr(inner);
        if self.is_error(value.ty) {
            return Operand::Value(value);
        }
        let Some(to) = self.pointee(value.ty) else {
            if matches!(self.kind(value.ty), TypeKind::BlockPointer(_)) {
                return Operand::Value(self.invalid_argument(&value, expr));
            }
            let text = format!("indirection requires pointer operand ({} invalid)", self.shown(&value));
            self.report(Diagnostic::error(expr.caret, text).range(value.span));
            return Operand::Value(self.error_value(expr.span));
        };
        if matches!(self.kind(to.ty), TypeKind::BlockPointer(_)) {
            let text = format!("dereferencing pointer of type {} is not allowed in OpenCL", self.describe_ty(value.ty));
            self.error(expr.caret, text);
            return Operand::Value(self.error_value(expr.span));
        }
        if *self.kind(to.ty) == TypeKind::Void {
            let text = format!("ISO C does not allow indirection on operand of type {}", self.describe_ty(value.ty));
            self.warning(expr.caret, "void-ptr-dereference", text);
        }
        Operand::Place(self.deref_place(value, to, expr.span))
    }

    /// What a pointer points to. The address of a place is taken back.
    pub(super) fn deref_place(&self, pointer: Expr, to: QualTy, span: Span) -> Place {
        if matches!(&pointer.kind, ExprKind::AddressOf(place) if place.ty == to)
            && let ExprKind::AddressOf(place) = pointer.kind
        {
            return Place { span, ..*place };
        }
        Place { kind: PlaceKind::Deref(Box::new(pointer)), ty: to, span }
    }

    fn address_of(&mut self, inner: &ast::Expr, expr: &ast::Expr) -> Expr {
        let mut name = inner;
        while let ast::ExprKind::Paren(inner) = &name.kind {
            name = inner;
        }
        if let ast::ExprKind::Name(symbol) = name.kind
            && let Some(Entity::Captured(..)) = self.lookup(symbol)
        {
            self.report(Diagnostic::error(expr.caret, "taking address of a capture is not allowed").range(inner.span));
            return self.error_value(expr.span);
        }
        let place = match self.operand(inner) {
            Operand::Place(place) => place,
            Operand::Value(value) => {
                if self.is_error(value.ty) {
                    return value;
                }
                if let ExprKind::Swizzle(..) = value.kind {
                    self.error(expr.caret, "address of vector element requested");
                    return self.error_value(expr.span);
                }
                let text = format!("cannot take the address of an rvalue of type {}", self.describe_ty(value.ty));
                self.report(Diagnostic::error(expr.caret, text).range(inner.span));
                return self.error_value(expr.span);
            }
            Operand::Functions(_) | Operand::Builtin(_) => {
                self.error(expr.caret, "taking address of function is not allowed");
                return self.error_value(expr.span);
            }
        };
        self.address(place, expr.caret, expr.span)
    }

    /// The address of a place.
    pub(super) fn address(&mut self, place: Place, caret: Span, span: Span) -> Expr {
        if matches!(place.kind, PlaceKind::Lanes(..) | PlaceKind::Lane(..)) {
            self.report(Diagnostic::error(caret, "address of vector element requested").range(place.span));
            return self.error_value(span);
        }
        let kind = self.kind(place.ty.ty);
        if *kind == TypeKind::Error {
            return self.error_value(span);
        }
        if kind.forbids(Uses::ADDRESS_OF) {
            let text = format!("invalid argument type {} to unary expression", self.describe(place.ty));
            self.report(Diagnostic::error(caret, text).range(place.span));
            return self.error_value(span);
        }
        if matches!(kind, TypeKind::Function(_)) {
            self.error(caret, "taking address of function is not allowed");
            return self.error_value(span);
        }
        let ty = self.module.types.pointer(place.ty);
        if self.is_too_deep(ty, span) {
            return self.error_value(span);
        }
        if let PlaceKind::Deref(pointer) = place.kind {
            // `&*p` is `p`.
            return if pointer.ty == ty { Expr { span, ..*pointer } } else { self.convert(*pointer, ty) };
        }
        self.make(ExprKind::AddressOf(Box::new(place)), ty, span)
    }

    fn increment(&mut self, inner: &ast::Expr, expr: &ast::Expr, post: bool, decrement: bool) -> Expr {
        let operand = self.operand(inner);
        let Some(place) = self.modifiable(operand, expr.caret, inner.span) else {
            return self.error_value(expr.span);
        };
        let ty = place.ty.ty;
        match self.kind(ty) {
            TypeKind::Scalar(scalar) if *scalar != Scalar::Bool || !decrement => {}
            TypeKind::Scalar(_) | TypeKind::Enum(_) => {}
            TypeKind::Vector(scalar, _) if scalar.is_integer() => {}
            TypeKind::Pointer(to) => {
                let to = *to;
                if !self.is_countable(to, expr.caret, place.span) {
                    return self.error_value(expr.span);
                }
            }
            TypeKind::Atomic(_) | TypeKind::Image(..) | TypeKind::Sampler | TypeKind::Pipe(..) => {
                let text = format!("invalid argument type {} to unary expression", self.describe(place.ty));
                self.report(Diagnostic::error(expr.caret, text).range(place.span));
                return self.error_value(expr.span);
            }
            TypeKind::Error
            | TypeKind::Void
            | TypeKind::Vector(..)
            | TypeKind::FunctionPointer(_)
            | TypeKind::BlockPointer(_)
            | TypeKind::Array(..)
            | TypeKind::Function(_)
            | TypeKind::Record(_)
            | TypeKind::Event
            | TypeKind::ClkEvent
            | TypeKind::Queue
            | TypeKind::NdRange
            | TypeKind::ReserveId
            | TypeKind::NamedBarrier => {
                let word = if decrement { "decrement" } else { "increment" };
                let text = format!("cannot {word} value of type {}", self.describe(place.ty));
                self.report(Diagnostic::error(expr.caret, text).range(place.span));
                return self.error_value(expr.span);
            }
        }
        if *self.kind(ty) == TypeKind::Scalar(Scalar::Half) && !self.has_half() {
            return self.load(place);
        }
        Expr { kind: ExprKind::Increment { place: Box::new(place), post, decrement }, ty, span: expr.span }
    }

    /// The place of an operand, if it can be stored to. Otherwise an error is reported.
    pub(super) fn modifiable(&mut self, operand: Operand, caret: Span, range: Span) -> Option<Place> {
        let place = match operand {
            Operand::Place(place) => place,
            Operand::Value(value) => {
                if !self.is_error(value.ty) {
                    self.report(Diagnostic::error(caret, "expression is not assignable").range(range));
                }
                return None;
            }
            Operand::Functions(_) | Operand::Builtin(_) => {
                self.error(range, "taking address of function is not allowed");
                return None;
            }
        };
        if self.is_error(place.ty.ty) {
            return None;
        }
        if let TypeKind::Array(..) = self.kind(place.ty.ty) {
            let text = format!("array type {} is not assignable", self.describe(place.ty));
            self.report(Diagnostic::error(caret, text).range(range));
            return None;
        }
        if let PlaceKind::Lanes(_, lanes) = &place.kind {
            let repeats = lanes.iter().enumerate().any(|(at, lane)| lanes.iter().take(at).any(|other| other == lane));
            if repeats {
                let text = "vector is not assignable (contains duplicate components)";
                self.report(Diagnostic::error(caret, text).range(range));
                return None;
            }
        }
        if place.ty.quals.is_const || place.ty.quals.space == crate::types::AddressSpace::Constant {
            self.report_const(&place, caret, range);
            return None;
        }
        if let TypeKind::Record(id) = *self.kind(place.ty.ty)
            && self.has_const_member(id, &mut FxHashSet::default())
        {
            let text = format!(
                "cannot assign to lvalue with nested const-qualified data member of type {}",
                self.describe(place.ty)
            );
            self.report(Diagnostic::error(caret, text).range(range));
            return None;
        }
        Some(place)
    }

    /// Whether a record, or one in it, has a `const` member. Each is looked at once.
    fn has_const_member(&self, id: RecordId, seen: &mut FxHashSet<RecordId>) -> bool {
        seen.insert(id)
            && self.module.types.record(id).fields.iter().any(|field| {
                let mut ty = field.ty;
                while let TypeKind::Array(element, _) = self.kind(ty.ty) {
                    ty = QualTy { quals: merged(*element, ty), ..*element };
                }
                if let TypeKind::Record(inner) = self.kind(ty.ty) {
                    return ty.quals.is_const || self.has_const_member(*inner, seen);
                }
                ty.quals.is_const
            })
    }

    /// Whether a place is a captured variable: a member of the parameter of a block's function.
    fn is_capture(&self, place: &Place) -> bool {
        let PlaceKind::Field(record, _) = &place.kind else { return false };
        let Some(block) = self.states.last().and_then(|state| state.block.as_ref()) else { return false };
        matches!(*self.kind(record.ty.ty), TypeKind::Record(id) if id == block.record)
    }

    fn report_const(&mut self, place: &Place, caret: Span, range: Span) {
        if self.is_capture(place) {
            let text = "variable is not assignable (missing __block type specifier)";
            self.report(Diagnostic::error(caret, text).range(range));
            return;
        }
        let mut base = place;
        while let PlaceKind::Lanes(inner, _) | PlaceKind::Lane(inner, _) | PlaceKind::Index(inner, _) = &base.kind {
            base = inner;
        }
        let shown = self.describe(base.ty);
        let diagnostic = match self.declared_const(base) {
            Some((what, name, span)) => {
                let text = format!("cannot assign to {what} '{name}' with const-qualified type {shown}");
                Diagnostic::error(caret, text).note(span, format!("{what} '{name}' declared const here"))
            }
            None => Diagnostic::error(caret, "read-only variable is not assignable"),
        };
        self.report(diagnostic.range(range));
    }

    /// What is declared `const` of a place: its kind, its name, and where.
    fn declared_const(&self, place: &Place) -> Option<(&'static str, String, Span)> {
        let text = |name: Option<Symbol>| name.map_or("", |name| self.text(name)).to_owned();
        if let PlaceKind::Field(record, index) = &place.kind {
            let TypeKind::Record(id) = *self.kind(record.ty.ty) else { return None };
            let field = self.module.types.record(id).fields.get(*index as usize)?;
            return field.ty.quals.is_const.then(|| ("non-static data member", text(field.name), field.span));
        }
        if !place.ty.quals.is_const {
            return None;
        }
        if let PlaceKind::Local(local) = place.kind {
            let found = self.states.last()?.locals.get(local.0 as usize)?;
            return Some(("variable", text(found.name), found.span));
        }
        let PlaceKind::Global(global) = place.kind else { return None };
        let found = self.module.globals.get(global.0 as usize)?;
        Some(("variable", found.name.clone(), found.span))
    }

    /// Whether pointers to a type can be moved. If not, an error is reported.
    pub(super) fn is_countable(&mut self, to: QualTy, caret: Span, range: Span) -> bool {
        let kind = self.kind(to.ty);
        if *kind == TypeKind::Error {
            return false;
        }
        // A byte, as GNU C has it.
        if *kind == TypeKind::Void {
            return true;
        }
        if matches!(kind, TypeKind::Function(_)) {
            self.report(Diagnostic::error(caret, "arithmetic on a pointer to a function type").range(range));
            return false;
        }
        if self.module.types.layout(to.ty).is_none() {
            let text = format!("arithmetic on a pointer to an incomplete type {}", self.describe(to));
            self.report(Diagnostic::error(caret, text).range(range));
            return false;
        }
        true
    }
}
