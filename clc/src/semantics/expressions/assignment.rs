//! Assignments, the comma, and the conditional operator.

use super::assign::{Relation, Target};
use super::binary::tree_op;
use super::convert::space_contains;
use crate::diagnostics::Diagnostic;
use crate::semantics::{Assigning, Checker, Operand};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::tree::{self, Expr, ExprKind, Place};
use crate::types::{QualTy, Scalar, Ty, TypeKind};

impl Checker<'_, '_> {
    /// `a = b`, `a op= b`
    pub(super) fn assignment(
        &mut self,
        op: Option<BinaryOp>,
        left: &ast::Expr,
        right: &ast::Expr,
        expr: &ast::Expr,
    ) -> Expr {
        let target = self.operand(left);
        let value = self.expr(right);
        if let Operand::Place(place) = &target {
            let opaque = self.is_opaque(place.ty.ty) || self.is_opaque(value.ty);
            if opaque && !self.is_error(value.ty) {
                if op.is_none() && matches!(self.kind(place.ty.ty), TypeKind::Atomic(_)) {
                    let text = "atomic variable can be assigned to a variable only in global address space";
                    self.report(Diagnostic::error(expr.caret, text).range(expr.span));
                } else if !matches!(self.kind(value.ty), TypeKind::BlockPointer(_)) || op.is_some() {
                    let text = format!(
                        "invalid operands to binary expression ({} and {})",
                        self.describe(place.ty),
                        self.shown(&value)
                    );
                    self.report(Diagnostic::error(expr.caret, text).range(left.span).range(right.span));
                } else {
                    let text = format!(
                        "invalid operands to binary expression ({} and {})",
                        self.describe(place.ty),
                        self.describe_ty(value.ty)
                    );
                    self.report(Diagnostic::error(expr.caret, text).range(left.span).range(right.span));
                }
                return self.error_value(expr.span);
            }
        }
        let Some(place) = self.modifiable(target, expr.caret, left.span) else {
            return self.error_value(expr.span);
        };
        if *self.kind(place.ty.ty) == TypeKind::Scalar(Scalar::Half) && !self.has_half() {
            let ty = self.describe(place.ty);
            let text = format!(
                "assigning directly to pointer to type {ty} requires cl_khr_fp16. Use vector data store builtin functions instead"
            );
            self.report(Diagnostic::error(expr.caret, text).range(left.span));
            return self.error_value(expr.span);
        }
        if self.is_error(value.ty) {
            return self.error_value(expr.span);
        }
        match op {
            None => {
                let target = Target { ty: place.ty, context: Assigning::Assignment, at: expr.caret, parameter: None };
                let value = self.convert_to(value, target);
                if self.is_error(value.ty) {
                    return value;
                }
                let ty = place.ty.ty;
                Expr { kind: ExprKind::Assign(Box::new(place), Box::new(value)), ty, span: expr.span }
            }
            Some(op) => match tree_op(op) {
                Some(op) => self.compound(op, place, value, expr.caret, expr.span),
                None => self.error_value(expr.span),
            },
        }
    }

    fn compound(&mut self, op: tree::BinaryOp, place: Place, value: Expr, caret: Span, span: Span) -> Expr {
        let ty = place.ty.ty;
        if let Some(to) = self.pointee(ty) {
            let moves = matches!(op, tree::BinaryOp::Add | tree::BinaryOp::Sub);
            if !moves || !self.scalar_of(value.ty).is_some_and(Scalar::is_integer) {
                let text = format!(
                    "invalid operands to binary expression ({} and {})",
                    self.describe(place.ty),
                    self.shown(&value)
                );
                self.report(Diagnostic::error(caret, text).range(place.span).range(value.span));
                return self.error_value(span);
            }
            if !self.is_countable(to, caret, place.span) {
                return self.error_value(span);
            }
            let value = self.offset(value, op == tree::BinaryOp::Sub);
            return Expr { kind: ExprKind::PointerAssign(Box::new(place), Box::new(value)), ty, span };
        }
        // The operation is checked with a stand-in for the value of the place; what the operation is computed in, and its right
        // operand, are taken from the result.
        let stand_in = self.stand_in(place.ty, place.span);
        let checked = self.compound_operation(op, stand_in, value, caret, span);
        let Some((computed, value)) = checked else {
            return self.error_value(span);
        };
        let result = self.stand_in(QualTy::plain(computed), value.span);
        let relation = self.relation(&result, ty);
        if relation != Relation::Compatible {
            let target = Target { ty: place.ty, context: Assigning::Assignment, at: caret, parameter: None };
            self.convert_to(result, target);
            return self.error_value(span);
        }
        let kind = ExprKind::CompoundAssign { place: Box::new(place), op, computed, value: Box::new(value) };
        Expr { kind, ty, span }
    }

    /// A value of a type that is not known, for checks.
    fn stand_in(&self, ty: QualTy, span: Span) -> Expr {
        let kind = tree::PlaceKind::Deref(Box::new(self.error_value(span)));
        Expr { kind: ExprKind::Load(Box::new(Place { kind, ty, span })), ty: ty.ty, span }
    }

    /// The type in which `a op b` is computed, and the converted right operand.
    fn compound_operation(
        &mut self,
        op: tree::BinaryOp,
        a: Expr,
        b: Expr,
        caret: Span,
        span: Span,
    ) -> Option<(Ty, Expr)> {
        if self.pointee(b.ty).is_some() {
            self.invalid_operands(&a, &b, caret);
            return None;
        }
        let is_shift = matches!(op, tree::BinaryOp::Shl | tree::BinaryOp::Shr);
        if !is_shift && self.is_vector(b.ty) && self.scalar_of(a.ty).is_some() {
            let text =
                format!("assigning to {} from incompatible type {}", self.describe_ty(a.ty), self.describe_ty(b.ty));
            self.error_between(caret, text, &a, &b);
            return None;
        }
        let result = self.arithmetic(op, a, b, caret, span);
        let ExprKind::Binary(_, left, right) = result.kind else { return None };
        Some((left.ty, *right))
    }

    /// `a, b`
    pub(super) fn comma(&mut self, left: &ast::Expr, right: &ast::Expr, expr: &ast::Expr) -> Expr {
        let a = self.expr(left);
        let b = self.expr(right);
        if self.is_error(a.ty) {
            return Expr { ty: self.module.types.error(), ..b };
        }
        let void = self.module.types.void();
        self.warn_without_effect(left, &a, "left operand of comma operator has no effect");
        let a = self.convert(a, void);
        let ty = b.ty;
        Expr { kind: ExprKind::Comma(Box::new(a), Box::new(b)), ty, span: expr.span }
    }

    /// `a ? b : c`, `a ?: c`
    pub(super) fn conditional(
        &mut self,
        condition: &ast::Expr,
        then: Option<&ast::Expr>,
        otherwise: &ast::Expr,
        expr: &ast::Expr,
    ) -> Expr {
        let chosen = self.expr(condition);
        if self.is_error(chosen.ty) {
            if let Some(then) = then {
                self.expr(then);
            }
            self.expr(otherwise);
            return self.error_value(expr.span);
        }
        let Some(then) = then else {
            return self.conditional_gnu(chosen, otherwise, expr);
        };
        let a = self.expr(then);
        let b = self.expr(otherwise);
        self.conditional_of(chosen, a, b, expr)
    }

    /// `a ?: c`: the condition is evaluated once.
    fn conditional_gnu(&mut self, chosen: Expr, otherwise: &ast::Expr, expr: &ast::Expr) -> Expr {
        let b = self.expr(otherwise);
        if self.is_error(b.ty) {
            return b;
        }
        if let ExprKind::Constant(constant) = &chosen.kind {
            let same = Expr { kind: ExprKind::Constant(constant.clone()), ..chosen };
            return self.conditional_of(chosen, same, b, expr);
        }
        let place = self.temporary(chosen);
        let tree::PlaceKind::Temporary(local, value) = place.kind else { return self.error_value(expr.span) };
        let (ty, span) = (place.ty, place.span);
        let local = Place { kind: tree::PlaceKind::Local(local), ty, span };
        let read = |kind| Expr { kind: ExprKind::Load(Box::new(Place { kind, ty, span })), ty: ty.ty, span };
        let tree::PlaceKind::Local(id) = local.kind else { return self.error_value(expr.span) };
        let (first, second) = (read(tree::PlaceKind::Local(id)), read(tree::PlaceKind::Local(id)));
        let stored = ExprKind::Init(Box::new(local), value);
        let void = self.module.types.void();
        let stored = Expr { kind: stored, ty: ty.ty, span };
        let stored = self.convert(stored, void);
        let result = self.conditional_of(first, second, b, expr);
        let ty = result.ty;
        Expr { kind: ExprKind::Comma(Box::new(stored), Box::new(result)), ty, span: expr.span }
    }

    fn conditional_of(&mut self, chosen: Expr, a: Expr, b: Expr, expr: &ast::Expr) -> Expr {
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return self.error_value(expr.span);
        }
        for one in [&a, &b] {
            if matches!(self.kind(one.ty), TypeKind::BlockPointer(_)) {
                let text = "block type cannot be used as expression in ternary expression in OpenCL";
                self.report(Diagnostic::error(expr.caret, text).range(one.span));
                return self.error_value(expr.span);
            }
        }
        if let TypeKind::Vector(scalar, lanes) = *self.kind(chosen.ty) {
            return self.select(chosen, (scalar, lanes), a, b, expr);
        }
        let kind = self.kind(chosen.ty);
        if matches!(kind, TypeKind::Scalar(scalar) if scalar.is_float()) {
            let text = format!("used type {} where floating point type is not allowed", self.describe_ty(chosen.ty));
            self.report(Diagnostic::error(expr.caret, text).range(chosen.span));
            return self.error_value(expr.span);
        }
        let is_condition = kind.has_truth();
        if !is_condition {
            let text = format!("used type {} where arithmetic or pointer type is required", self.shown(&chosen));
            self.report(Diagnostic::error(chosen.span, text).range(chosen.span));
            return self.error_value(expr.span);
        }
        let chosen = self.truth(chosen);
        let Some((a, b)) = self.common_values(a, b, expr.caret) else {
            return self.error_value(expr.span);
        };
        let ty = a.ty;
        self.make(ExprKind::Conditional(Box::new(chosen), Box::new(a), Box::new(b)), ty, expr.span)
    }

    /// Two values with the type that a conditional operator gives them.
    fn common_values(&mut self, a: Expr, b: Expr, caret: Span) -> Option<(Expr, Expr)> {
        if self.lanes(a.ty).is_some() && self.lanes(b.ty).is_some() {
            if a.ty == b.ty && self.is_vector(a.ty) {
                return Some((a, b));
            }
            return self.usual(a, b, caret);
        }
        let (x, y) = (self.pointee(a.ty), self.pointee(b.ty));
        match (x, y) {
            (Some(x), Some(y)) => return self.common_pointees((a, x), (b, y), caret),
            (Some(_), None) | (None, Some(_)) => {
                let (ty, other) = if x.is_some() { (a.ty, &b) } else { (b.ty, &a) };
                if self.scalar_of(other.ty).is_some_and(Scalar::is_integer) {
                    if !self.is_null(other) {
                        let text = format!(
                            "pointer/integer type mismatch in conditional expression ({} and {})",
                            self.shown(&a),
                            self.shown(&b)
                        );
                        self.report(
                            Diagnostic::warning(caret, "conditional-type-mismatch", text).range(a.span).range(b.span),
                        );
                    }
                    let a = self.convert(a, ty);
                    return Some((a, self.convert(b, ty)));
                }
            }
            (None, None) => {
                let void = self.module.types.void();
                if a.ty == void || b.ty == void {
                    let a = self.convert(a, void);
                    return Some((a, self.convert(b, void)));
                }
                if self.is_compatible(a.ty, b.ty) {
                    return Some((a, b));
                }
            }
        }
        let text = format!("incompatible operand types ({} and {})", self.shown(&a), self.shown(&b));
        self.error_between(caret, text, &a, &b);
        None
    }

    fn common_pointees(&mut self, a: (Expr, QualTy), b: (Expr, QualTy), caret: Span) -> Option<(Expr, Expr)> {
        let ((a, x), (b, y)) = (a, b);
        if a.ty == b.ty {
            return Some((a, b));
        }
        if self.is_null(&b) {
            let ty = a.ty;
            return Some((a, self.convert(b, ty)));
        }
        if self.is_null(&a) {
            let ty = b.ty;
            return Some((self.convert(a, ty), b));
        }
        let space = if space_contains(x.quals.space, y.quals.space) {
            x.quals.space
        } else if space_contains(y.quals.space, x.quals.space) {
            y.quals.space
        } else {
            let text = format!(
                "conditional operator with the second and third operands of type  ({} and {}) which are pointers to non-overlapping address spaces",
                self.shown(&a),
                self.shown(&b)
            );
            self.error_between(caret, text, &a, &b);
            return None;
        };
        let is_void = |ty: Ty| *self.kind(ty) == TypeKind::Void;
        let pointee = if is_void(x.ty) || is_void(y.ty) {
            self.module.types.void()
        } else if self.is_compatible(x.ty, y.ty) {
            self.composite(x.ty, y.ty)
        } else {
            let text = format!("pointer type mismatch ({} and {})", self.shown(&a), self.shown(&b));
            self.report(Diagnostic::warning(caret, "pointer-type-mismatch", text).range(a.span).range(b.span));
            self.module.types.void()
        };
        let mut quals = x.quals;
        quals.is_const |= y.quals.is_const;
        quals.is_volatile |= y.quals.is_volatile;
        quals.space = space;
        let ty = self.module.types.pointer(QualTy { ty: pointee, quals });
        let a = self.convert(a, ty);
        Some((a, self.convert(b, ty)))
    }

    /// The conditional operator with a vector as its condition.
    fn select(&mut self, chosen: Expr, shape: (Scalar, u8), a: Expr, b: Expr, expr: &ast::Expr) -> Expr {
        let (element, lanes) = shape;
        if element.is_float() {
            let text = format!("used type {} where floating point type is not allowed", self.describe_ty(chosen.ty));
            self.report(Diagnostic::error(expr.caret, text).range(chosen.span));
            return self.error_value(expr.span);
        }
        if self.lanes(a.ty).is_none() || self.lanes(b.ty).is_none() {
            let wrong = if self.lanes(a.ty).is_none() { &a } else { &b };
            let text = format!("used type {} where arithmetic type is required", self.shown(wrong));
            self.report(Diagnostic::error(expr.caret, text).range(wrong.span));
            return self.error_value(expr.span);
        }
        let (a, b) = if let (Some((x, 1)), Some((y, 1))) = (self.lanes(a.ty), self.lanes(b.ty)) {
            // Narrow integers are not promoted here.
            let scalar = Self::common_scalar(x, y);
            let ty = self.module.types.vector(scalar, lanes);
            let a = self.convert(a, ty);
            (a, self.convert(b, ty))
        } else {
            let Some(both) = self.usual(a, b, expr.caret) else {
                return self.error_value(expr.span);
            };
            both
        };
        let Some((scalar, count)) = self.lanes(a.ty) else { return self.error_value(expr.span) };
        let text = if count != lanes {
            "vector operands do not have the same number of elements"
        } else if scalar.bytes() != element.bytes() {
            let text = format!(
                "vector condition type {} and result type {} do not have elements of the same size",
                self.describe_ty(chosen.ty),
                self.describe_ty(a.ty)
            );
            self.report(Diagnostic::error(expr.caret, text).range(chosen.span));
            return self.error_value(expr.span);
        } else {
            let ty = a.ty;
            return self.make(ExprKind::Select(Box::new(chosen), Box::new(a), Box::new(b)), ty, expr.span);
        };
        let text = format!("{text} ({} and {})", self.describe_ty(chosen.ty), self.describe_ty(a.ty));
        self.report(Diagnostic::error(expr.caret, text).range(chosen.span));
        self.error_value(expr.span)
    }
}
