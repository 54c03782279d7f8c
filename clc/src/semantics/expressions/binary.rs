//! Operators of two operands: arithmetic, shifts, bits, and the moves of pointers.

use crate::diagnostics::Diagnostic;
use crate::semantics::Checker;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::tree::{self, Constant, Expr, ExprKind};
use crate::types::{QualTy, Scalar, Ty, TypeKind};

/// The operator of the tree for an arithmetic operator of the source.
pub(super) fn tree_op(op: BinaryOp) -> Option<tree::BinaryOp> {
    Some(match op {
        BinaryOp::Mul => tree::BinaryOp::Mul,
        BinaryOp::Div => tree::BinaryOp::Div,
        BinaryOp::Rem => tree::BinaryOp::Rem,
        BinaryOp::Add => tree::BinaryOp::Add,
        BinaryOp::Sub => tree::BinaryOp::Sub,
        BinaryOp::Shl => tree::BinaryOp::Shl,
        BinaryOp::Shr => tree::BinaryOp::Shr,
        BinaryOp::And => tree::BinaryOp::And,
        BinaryOp::Xor => tree::BinaryOp::Xor,
        BinaryOp::Or => tree::BinaryOp::Or,
        BinaryOp::Less
        | BinaryOp::Greater
        | BinaryOp::LessEqual
        | BinaryOp::GreaterEqual
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr => return None,
    })
}

/// Whether two expressions name the same object.
fn is_same_object(a: &ast::Expr, b: &ast::Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ast::ExprKind::Name(x), ast::ExprKind::Name(y)) => x == y,
        (ast::ExprKind::Paren(inner), _) => is_same_object(inner, b),
        (_, ast::ExprKind::Paren(inner)) => is_same_object(a, inner),
        (ast::ExprKind::Member(x, m, _), ast::ExprKind::Member(y, n, _)) => {
            m.symbol == n.symbol && is_same_object(x, y)
        }
        _ => false,
    }
}

impl Checker<'_, '_> {
    /// A binary operator.
    pub(super) fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, expr: &ast::Expr) -> Expr {
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            return self.logical(op, left, right, expr);
        }
        let a = self.expr(left);
        let b = self.expr(right);
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return self.error_value(expr.span);
        }
        match tree_op(op) {
            Some(op) => self.arithmetic(op, a, b, expr.caret, expr.span),
            None => {
                self.warn_self_comparison(op, left, right, &a, expr.caret);
                self.compare(op, a, b, expr.caret, expr.span)
            }
        }
    }

    /// Warns of `x == x`.
    fn warn_self_comparison(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, value: &Expr, caret: Span) {
        let is_float = self.lanes(value.ty).is_some_and(|(scalar, _)| scalar.is_float());
        if !is_float && caret.expansion.0 == 0 && is_same_object(left, right) {
            let is_true = matches!(op, BinaryOp::Equal | BinaryOp::LessEqual | BinaryOp::GreaterEqual);
            let text = format!("self-comparison always evaluates to {is_true}");
            self.report(Diagnostic::warning(caret, "tautological-compare", text).range(left.span).range(right.span));
        }
    }

    /// Whether values of a type are only for built-in functions: no operator takes them.
    pub(super) fn is_opaque(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TypeKind::Image(..)
            | TypeKind::Sampler
            | TypeKind::Pipe(..)
            | TypeKind::BlockPointer(_)
            | TypeKind::Atomic(_) => true,
            TypeKind::Error
            | TypeKind::Void
            | TypeKind::Scalar(_)
            | TypeKind::Vector(..)
            | TypeKind::Pointer(_)
            | TypeKind::FunctionPointer(_)
            | TypeKind::Array(..)
            | TypeKind::Function(_)
            | TypeKind::Record(_)
            | TypeKind::Enum(_)
            | TypeKind::Event
            | TypeKind::ClkEvent
            | TypeKind::Queue
            | TypeKind::NdRange
            | TypeKind::ReserveId
            | TypeKind::NamedBarrier => false,
        }
    }

    /// An arithmetic operator on values.
    pub(super) fn arithmetic(&mut self, op: tree::BinaryOp, a: Expr, b: Expr, caret: Span, span: Span) -> Expr {
        match op {
            tree::BinaryOp::Add | tree::BinaryOp::Sub => {
                if self.pointee(a.ty).is_some() || self.pointee(b.ty).is_some() {
                    return self.pointer_arithmetic(op, a, b, caret, span);
                }
            }
            tree::BinaryOp::Shl | tree::BinaryOp::Shr => return self.shift(op, a, b, caret, span),
            tree::BinaryOp::Mul
            | tree::BinaryOp::Div
            | tree::BinaryOp::Rem
            | tree::BinaryOp::And
            | tree::BinaryOp::Or
            | tree::BinaryOp::Xor => {}
        }
        let integers_only =
            matches!(op, tree::BinaryOp::Rem | tree::BinaryOp::And | tree::BinaryOp::Or | tree::BinaryOp::Xor);
        if integers_only {
            let is_integer = |ty: Ty| self.lanes(ty).is_none_or(|(scalar, _)| scalar.is_integer());
            if !is_integer(a.ty) || !is_integer(b.ty) {
                self.invalid_operands(&a, &b, caret);
                return self.error_value(span);
            }
        }
        let Some((a, b)) = self.usual(a, b, caret) else {
            return self.error_value(span);
        };
        if matches!(op, tree::BinaryOp::Div | tree::BinaryOp::Rem) {
            self.warn_division(op, &b, caret);
        }
        let ty = a.ty;
        self.make(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    fn warn_division(&mut self, op: tree::BinaryOp, divisor: &Expr, caret: Span) {
        let is_integer = self.scalar_of(divisor.ty).is_some_and(Scalar::is_integer);
        if is_integer && matches!(divisor.kind, ExprKind::Constant(Constant::Scalar(0) | Constant::Zero)) {
            let what = if op == tree::BinaryOp::Div { "division" } else { "remainder" };
            let text = format!("{what} by zero is undefined");
            self.report(Diagnostic::warning(caret, "division-by-zero", text).range(divisor.span));
        }
    }

    fn shift(&mut self, op: tree::BinaryOp, a: Expr, b: Expr, caret: Span, span: Span) -> Expr {
        let (Some((first, m)), Some((second, n))) = (self.lanes(a.ty), self.lanes(b.ty)) else {
            self.invalid_operands(&a, &b, caret);
            return self.error_value(span);
        };
        if first.is_float() || second.is_float() {
            if m == 1 && n == 1 {
                self.invalid_operands(&a, &b, caret);
            } else {
                let wrong = if first.is_float() { &a } else { &b };
                let text =
                    format!("used type {} where integer or vector of integers is required", self.describe_ty(wrong.ty));
                self.error_between(caret, text, &a, &b);
            }
            return self.error_value(span);
        }
        let (a, b) = match (m, n) {
            (1, 1) => {
                // Counts are taken modulo the width, so none is too large.
                (self.promote(a), self.promote(b))
            }
            (1, _) => {
                let text = format!(
                    "requested shift is a vector of type {} but the first operand is not a vector ({})",
                    self.shown(&b),
                    self.describe_ty(a.ty)
                );
                self.error_between(caret, text, &a, &b);
                return self.error_value(span);
            }
            (_, 1) => {
                let ty = a.ty;
                let b = self.convert(b, ty);
                (a, b)
            }
            _ if m != n => {
                let text = format!(
                    "vector operands do not have the same number of elements ({} and {})",
                    self.shown(&a),
                    self.shown(&b)
                );
                self.error_between(caret, text, &a, &b);
                return self.error_value(span);
            }
            _ => (a, b),
        };
        let ty = a.ty;
        self.make(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    /// `p + n`, `n + p`, `p - n`, `p - q`.
    fn pointer_arithmetic(&mut self, op: tree::BinaryOp, a: Expr, b: Expr, caret: Span, span: Span) -> Expr {
        if let (Some(x), Some(y)) = (self.pointee(a.ty), self.pointee(b.ty)) {
            if op == tree::BinaryOp::Add {
                self.invalid_operands(&a, &b, caret);
                return self.error_value(span);
            }
            return self.pointer_difference((a, x), (b, y), caret, span);
        }
        let (pointer, index) = match self.pointee(a.ty) {
            Some(_) => (a, b),
            None if op == tree::BinaryOp::Add => (b, a),
            None => {
                self.invalid_operands(&a, &b, caret);
                return self.error_value(span);
            }
        };
        if !self.scalar_of(index.ty).is_some_and(Scalar::is_integer) {
            self.invalid_operands(&pointer, &index, caret);
            return self.error_value(span);
        }
        let to = self.pointee(pointer.ty).unwrap_or(QualTy::plain(self.module.types.error()));
        if !self.is_countable(to, caret, pointer.span) {
            return self.error_value(span);
        }
        self.move_pointer(pointer, to, index, op == tree::BinaryOp::Sub, span)
    }

    /// A pointer moved by an integer, in elements.
    pub(super) fn move_pointer(&mut self, pointer: Expr, to: QualTy, index: Expr, back: bool, span: Span) -> Expr {
        let index = self.offset(index, back);
        let ty = pointer.ty;
        if *self.kind(to.ty) == TypeKind::Void {
            let byte = QualTy { ty: self.scalar_ty(Scalar::Char), ..to };
            let bytes = self.module.types.pointer(byte);
            let pointer = self.convert(pointer, bytes);
            let sum = self.make(ExprKind::PointerAdd(Box::new(pointer), Box::new(index)), bytes, span);
            return self.convert(sum, ty);
        }
        self.make(ExprKind::PointerAdd(Box::new(pointer), Box::new(index)), ty, span)
    }

    /// An integer as an offset of pointers: of their width, and negated if the pointer goes back.
    pub(super) fn offset(&mut self, index: Expr, back: bool) -> Expr {
        let index = self.index_width(index);
        if !back {
            return index;
        }
        let (ty, span) = (index.ty, index.span);
        self.make(ExprKind::Unary(tree::UnaryOp::Negate, Box::new(index)), ty, span)
    }

    fn pointer_difference(&mut self, a: (Expr, QualTy), b: (Expr, QualTy), caret: Span, span: Span) -> Expr {
        let ((a, x), (b, y)) = (a, b);
        if !self.is_compatible(x.ty, y.ty) {
            let text = format!("{} and {} are not pointers to compatible types", self.shown(&a), self.shown(&b));
            self.error_between(caret, text, &a, &b);
            return self.error_value(span);
        }
        let spaces = (x.quals.space, y.quals.space);
        if !super::convert::space_contains(spaces.0, spaces.1) && !super::convert::space_contains(spaces.1, spaces.0) {
            let text = format!(
                "arithmetic operation with operands of type  ({} and {}) which are pointers to non-overlapping address spaces",
                self.shown(&a),
                self.shown(&b)
            );
            self.error_between(caret, text, &a, &b);
            return self.error_value(span);
        }
        if !self.is_countable(x, caret, a.span) {
            return self.error_value(span);
        }
        let size = match self.module.types.layout(x.ty) {
            Some(layout) if layout.size > 0 => layout.size,
            _ => 1,
        };
        let (a, b) = self.common_pointers(a, b);
        let ty = self.module.types.ptrdiff_t();
        self.make(ExprKind::PointerDiff(Box::new(a), Box::new(b), size), ty, span)
    }

    /// Two pointers of which one can be converted to the other's address space: both get the same type.
    pub(super) fn common_pointers(&mut self, a: Expr, b: Expr) -> (Expr, Expr) {
        let (Some(x), Some(y)) = (self.pointee(a.ty), self.pointee(b.ty)) else { return (a, b) };
        let is_void = |ty: Ty| *self.kind(ty) == TypeKind::Void;
        let takes_second = if x.quals.space == y.quals.space {
            is_void(y.ty) && !is_void(x.ty)
        } else {
            super::convert::space_contains(y.quals.space, x.quals.space)
        };
        let ty = if takes_second { b.ty } else { a.ty };
        let a = self.convert(a, ty);
        (a, self.convert(b, ty))
    }
}
