//! Comparisons, and the logical operators.

use super::convert::space_contains;
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::semantics::Checker;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::tree::{self, CompareOp, Constant, Expr, ExprKind};
use crate::types::{Ty, TypeKind};

/// The operator of the tree.
fn compare_op(op: BinaryOp) -> CompareOp {
    match op {
        BinaryOp::Less => CompareOp::Less,
        BinaryOp::Greater => CompareOp::Greater,
        BinaryOp::LessEqual => CompareOp::LessEqual,
        BinaryOp::GreaterEqual => CompareOp::GreaterEqual,
        BinaryOp::NotEqual => CompareOp::NotEqual,
        BinaryOp::Equal
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Xor
        | BinaryOp::Or
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr => CompareOp::Equal,
    }
}

impl Checker<'_, '_> {
    /// A comparison of values.
    pub(super) fn compare(&mut self, op: BinaryOp, a: Expr, b: Expr, caret: Span, span: Span) -> Expr {
        let is_equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
        let op = compare_op(op);
        if self.lanes(a.ty).is_some() && self.lanes(b.ty).is_some() {
            let Some((a, b)) = self.usual(a, b, caret) else {
                return self.error_value(span);
            };
            let ty = if let TypeKind::Vector(scalar, lanes) = *self.kind(a.ty) {
                self.mask_type(scalar, lanes)
            } else {
                self.int()
            };
            return self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), ty, span);
        }
        let int = self.int();
        if self.is_opaque(a.ty) || self.is_opaque(b.ty) {
            self.invalid_operands(&a, &b, caret);
            return self.error_value(span);
        }
        let comparable = match (self.kind(a.ty), self.kind(b.ty)) {
            (TypeKind::Pointer(_), TypeKind::Pointer(_)) => return self.compare_pointers(op, a, b, caret, span),
            (TypeKind::Pointer(_), TypeKind::Scalar(scalar)) | (TypeKind::Scalar(scalar), TypeKind::Pointer(_)) => {
                scalar.is_integer()
            }
            (TypeKind::Pointer(_), TypeKind::Enum(_)) | (TypeKind::Enum(_), TypeKind::Pointer(_)) => true,
            (TypeKind::ClkEvent, TypeKind::ClkEvent) | (TypeKind::Queue, TypeKind::Queue) if is_equality => {
                return self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span);
            }
            (TypeKind::Queue, TypeKind::Scalar(_)) if is_equality && self.is_null(&b) => {
                let ty = a.ty;
                let b = self.convert(b, ty);
                return self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span);
            }
            _ => false,
        };
        if !comparable {
            self.invalid_operands(&a, &b, caret);
            return self.error_value(span);
        }
        // A pointer and an integer.
        let (pointer, integer) = if self.pointee(a.ty).is_some() { (&a, &b) } else { (&b, &a) };
        let ty = pointer.ty;
        if !self.is_null(integer) {
            let text = format!("comparison between pointer and integer ({} and {})", self.shown(&a), self.shown(&b));
            self.report(Diagnostic::warning(caret, "pointer-integer-compare", text).range(a.span).range(b.span));
        }
        let a = self.convert(a, ty);
        let b = self.convert(b, ty);
        self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span)
    }

    fn compare_pointers(&mut self, op: CompareOp, a: Expr, b: Expr, caret: Span, span: Span) -> Expr {
        let (Some(x), Some(y)) = (self.pointee(a.ty), self.pointee(b.ty)) else {
            return self.error_value(span);
        };
        let int = self.int();
        let nulls = (self.is_null(&a), self.is_null(&b));
        if nulls.1 {
            let ty = a.ty;
            let b = self.convert(b, ty);
            return self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span);
        }
        if nulls.0 {
            let ty = b.ty;
            let a = self.convert(a, ty);
            return self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span);
        }
        let is_void = |ty: Ty| *self.kind(ty) == TypeKind::Void;
        if !is_void(x.ty) && !is_void(y.ty) && !self.is_compatible(x.ty, y.ty) {
            let text = format!("comparison of distinct pointer types ({} and {})", self.shown(&a), self.shown(&b));
            self.report(Diagnostic::warning(caret, "compare-distinct-pointer-types", text).range(a.span).range(b.span));
        }
        if !space_contains(x.quals.space, y.quals.space) && !space_contains(y.quals.space, x.quals.space) {
            let text = format!(
                "comparison between  ({} and {}) which are pointers to non-overlapping address spaces",
                self.shown(&a),
                self.shown(&b)
            );
            self.error_between(caret, text, &a, &b);
            return self.error_value(span);
        }
        let (a, b) = self.common_pointers(a, b);
        self.make(ExprKind::Compare(op, Box::new(a), Box::new(b)), int, span)
    }

    /// `&&` and `||`
    pub(super) fn logical(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, expr: &ast::Expr) -> Expr {
        let a = self.expr(left);
        let b = self.expr(right);
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return self.error_value(expr.span);
        }
        if self.is_vector(a.ty) || self.is_vector(b.ty) {
            return self.logical_vector(op, a, b, expr);
        }
        let before_1_2 = self.version() < Version::V1_2;
        let is_condition = |ty: Ty| {
            let is_float = matches!(self.kind(ty), TypeKind::Scalar(scalar) if scalar.is_float());
            self.kind(ty).has_truth() && !(before_1_2 && is_float)
        };
        if !is_condition(a.ty) || !is_condition(b.ty) {
            self.invalid_operands(&a, &b, expr.caret);
            return self.error_value(expr.span);
        }
        let (a, b) = (self.truth(a), self.truth(b));
        let (bool, int) = (self.bool(), self.int());
        let (a, b) = (Box::new(a), Box::new(b));
        let is_and = op == BinaryOp::LogicalAnd;
        let kind = if is_and { ExprKind::LogicalAnd(a, b) } else { ExprKind::LogicalOr(a, b) };
        let value = self.make(kind, bool, expr.span);
        self.convert(value, int)
    }

    /// Of vectors both operands are evaluated, and the lanes are combined.
    fn logical_vector(&mut self, op: BinaryOp, a: Expr, b: Expr, expr: &ast::Expr) -> Expr {
        if let (Some((x, m)), Some((y, n))) = (self.lanes(a.ty), self.lanes(b.ty))
            && m != 1
            && n != 1
            && a.ty != b.ty
        {
            let _ = (x, y);
            let (x, y) = (self.describe_ty(a.ty), self.describe_ty(b.ty));
            let text = format!("implicit conversions between vector types ({x} and {y}) are not permitted");
            self.error_between(expr.caret, text, &a, &b);
            return self.error_value(expr.span);
        }
        let Some((a, b)) = self.common_vector(a, b, expr.caret) else {
            return self.error_value(expr.span);
        };
        let Some((scalar, lanes)) = self.lanes(a.ty) else { return self.error_value(expr.span) };
        if scalar.is_float() && self.version() < Version::V1_2 {
            self.invalid_operands(&a, &b, expr.caret);
            return self.error_value(expr.span);
        }
        let mask = self.mask_type(scalar, lanes);
        let (a, b) = (self.is_not_zero(a, mask), self.is_not_zero(b, mask));
        let op = if op == BinaryOp::LogicalAnd { tree::BinaryOp::And } else { tree::BinaryOp::Or };
        self.make(ExprKind::Binary(op, Box::new(a), Box::new(b)), mask, expr.span)
    }

    fn is_not_zero(&mut self, value: Expr, mask: Ty) -> Expr {
        let span = value.span;
        let zero = Expr { kind: ExprKind::Constant(Constant::Zero), ty: value.ty, span };
        self.make(ExprKind::Compare(CompareOp::NotEqual, Box::new(value), Box::new(zero)), mask, span)
    }

    /// A condition, as a `bool`.
    pub(crate) fn condition(&mut self, expr: &ast::Expr) -> Expr {
        self.warn_condition(expr);
        let value = self.expr(expr);
        let kind = self.kind(value.ty);
        if *kind == TypeKind::Error {
            value
        } else if kind.has_truth() {
            self.truth(value)
        } else if matches!(kind, TypeKind::Queue | TypeKind::Event | TypeKind::ClkEvent | TypeKind::ReserveId) {
            let bool = self.bool();
            self.convert(value, bool)
        } else {
            let text = format!("statement requires expression of scalar type ({} invalid)", self.shown(&value));
            self.error(expr.span, text);
            self.error_value(expr.span)
        }
    }

    /// Warns of `if (a = b)`, and of superfluous parentheses in `if ((a == b))` that no macro has made.
    fn warn_condition(&mut self, expr: &ast::Expr) {
        if let ast::ExprKind::Assign(None, ..) = &expr.kind {
            let text = "using the result of an assignment as a condition without parentheses";
            let diagnostic = Diagnostic::warning(expr.caret, "parentheses", text)
                .range(expr.span)
                .note(expr.caret, "place parentheses around the assignment to silence this warning")
                .note(expr.caret, "use '==' to turn this assignment into an equality comparison");
            self.report(diagnostic);
        }
        if let ast::ExprKind::Paren(inner) = &expr.kind
            && expr.span.expansion.0 == 0
            && let ast::ExprKind::Binary(BinaryOp::Equal, left, _) = &inner.kind
            && matches!(left.kind, ast::ExprKind::Name(_) | ast::ExprKind::Index(..) | ast::ExprKind::Member(..))
        {
            let text = "equality comparison with extraneous parentheses";
            let diagnostic = Diagnostic::warning(inner.caret, "parentheses-equality", text)
                .range(inner.span)
                .note(inner.caret, "remove extraneous parentheses around the comparison to silence this warning")
                .note(inner.caret, "use '=' to turn this equality comparison into an assignment");
            self.report(diagnostic);
        }
    }
}
