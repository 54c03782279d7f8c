//! Casts and vector literals.

use crate::diagnostics::Diagnostic;
use crate::semantics::{Assigning, Checker};
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{self, Expr, ExprKind};
use crate::types::{QualTy, Scalar, Ty, TypeKind};

impl Checker<'_, '_> {
    /// `(type)x`
    pub(super) fn cast(&mut self, name: &ast::TypeName, inner: &ast::Expr, expr: &ast::Expr) -> Expr {
        let to = self.type_name(name);
        let value = self.expr(inner);
        if self.is_error(value.ty) || self.is_error(to.ty) {
            return self.error_value(expr.span);
        }
        let mut value = value;
        // A vector literal of one pointer: its address in all lanes, as clang has it.
        if let (ast::ExprKind::Paren(_), TypeKind::Pointer(_), &TypeKind::Vector(scalar, _)) =
            (&inner.kind, self.kind(value.ty), self.kind(to.ty))
            && !scalar.is_float()
        {
            let element = self.scalar_ty(scalar);
            value = self.cast_to(value, element, expr.span);
        }
        let value = self.cast_to(value, to.ty, expr.span);
        Expr { span: expr.span, ..value }
    }

    /// An explicit conversion, checked.
    fn cast_to(&mut self, value: Expr, to: Ty, span: Span) -> Expr {
        let from = value.ty;
        let range = value.span;
        let fail = |checker: &mut Self, at: Span, text: String| {
            checker.report(Diagnostic::error(at, text).range(range));
            checker.error_value(span)
        };
        match (self.kind(from).clone(), self.kind(to).clone()) {
            (_, TypeKind::Void) => self.convert(value, to),
            _ if from == to => value,
            (TypeKind::Vector(..), TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_)) => {
                let text = format!(
                    "invalid conversion between vector type {} and scalar type {}",
                    self.describe_ty(from),
                    self.describe_ty(to)
                );
                fail(self, span, text)
            }
            (TypeKind::Vector(..), TypeKind::Vector(..)) => {
                let text = format!(
                    "invalid conversion between ext-vector type {} and {}",
                    self.describe_ty(to),
                    self.describe_ty(from)
                );
                fail(self, span, text)
            }
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Vector(..)) => self.splat(value, to),
            (_, TypeKind::Vector(..)) => {
                let text = format!(
                    "invalid conversion between vector type {} and scalar type {}",
                    self.describe_ty(to),
                    self.shown(&value)
                );
                fail(self, span, text)
            }
            (_, TypeKind::Scalar(Scalar::Half)) if !self.has_half() => {
                fail(self, span, "casting to type 'half' is not allowed".to_owned())
            }
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Scalar(_) | TypeKind::Enum(_)) => {
                self.convert(value, to)
            }
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => {
                let (x, y) = (a.quals.space, b.quals.space);
                let overlap = super::convert::space_contains(x, y) || super::convert::space_contains(y, x);
                if !overlap && !self.is_null(&value) {
                    let text = format!(
                        "casting {} to type {} changes address space of pointer",
                        self.shown(&value),
                        self.describe_ty(to)
                    );
                    return fail(self, span, text);
                }
                if let (TypeKind::Pointer(m), TypeKind::Pointer(n)) = (self.kind(a.ty), self.kind(b.ty))
                    && m.quals.space != n.quals.space
                {
                    let text = format!(
                        "casting {} to type {} discards qualifiers in nested pointer types",
                        self.describe_ty(from),
                        self.describe_ty(to)
                    );
                    let group = "incompatible-pointer-types-discards-qualifiers";
                    self.report(Diagnostic::warning(span, group, text).range(range));
                }
                self.convert(value, to)
            }
            (TypeKind::Pointer(_), TypeKind::Scalar(scalar)) if scalar.is_float() => {
                let text = format!("pointer cannot be cast to type {}", self.describe_ty(to));
                fail(self, range, text)
            }
            (TypeKind::Pointer(pointee), TypeKind::Scalar(_) | TypeKind::Enum(_)) => {
                let scalar = self.scalar_of(to).unwrap_or(Scalar::Int);
                if scalar != Scalar::Bool && scalar.bytes() < self.module.types.pointer_bytes {
                    let is_void = *self.kind(pointee.ty) == TypeKind::Void;
                    let group = if is_void { "void-pointer-to-int-cast" } else { "pointer-to-int-cast" };
                    let text = format!(
                        "cast to smaller integer type {} from {}",
                        self.describe_ty(to),
                        self.describe_ty(from)
                    );
                    self.report(Diagnostic::warning(span, group, text).range(range));
                }
                self.convert(value, to)
            }
            (TypeKind::Scalar(scalar), TypeKind::Pointer(_)) if scalar.is_float() => {
                let text = format!("operand of type {} cannot be cast to a pointer type", self.describe_ty(from));
                fail(self, range, text)
            }
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Pointer(_)) => {
                let scalar = self.scalar_of(from).unwrap_or(Scalar::Int);
                let is_constant = matches!(value.kind, ExprKind::Constant(_));
                if scalar.bytes() < self.module.types.pointer_bytes && !is_constant && scalar != Scalar::Bool {
                    let text = format!(
                        "cast to {} from smaller integer type {}",
                        self.describe_ty(to),
                        self.describe_ty(from)
                    );
                    let group = match self.pointee(to) {
                        Some(to) if *self.kind(to.ty) == TypeKind::Void => "int-to-void-pointer-cast",
                        _ => "int-to-pointer-cast",
                    };
                    self.report(Diagnostic::warning(span, group, text).range(range));
                }
                self.convert(value, to)
            }
            (TypeKind::Scalar(_), TypeKind::Event) => {
                if self.is_null(&value) {
                    return self.convert(value, to);
                }
                let text = "cannot cast non-zero value to 'event_t'".to_owned();
                fail(self, span, text)
            }
            (TypeKind::Scalar(_), TypeKind::Queue) if matches!(value.kind, ExprKind::Constant(_)) => {
                self.convert(value, to)
            }
            (TypeKind::BlockPointer(_), TypeKind::BlockPointer(_)) => self.convert(value, to),
            (
                TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_) | TypeKind::BlockPointer(_),
                TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_) | TypeKind::BlockPointer(_),
            ) => {
                let text =
                    format!("operand of type {} cannot be cast to {}", self.describe_ty(from), self.describe_ty(to));
                fail(self, span, text)
            }
            (_, TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_)) => {
                let text =
                    format!("operand of type {} where arithmetic or pointer type is required", self.shown(&value));
                fail(self, range, text)
            }
            _ => {
                if self.is_compatible(from, to) {
                    return value;
                }
                let text = format!("used type {} where arithmetic or pointer type is required", self.describe_ty(to));
                fail(self, span, text)
            }
        }
    }

    /// A scalar in all lanes of a vector, where a `bool` that is true is -1.
    pub(super) fn splat(&mut self, value: Expr, to: Ty) -> Expr {
        if value.ty != self.bool() {
            return self.convert(value, to);
        }
        let (int, span) = (self.int(), value.span);
        let value = self.convert(value, int);
        let value = self.make(ExprKind::Unary(tree::UnaryOp::Negate, Box::new(value)), int, span);
        self.convert(value, to)
    }

    /// `(type)(a, b, ...)`: a vector literal, or a cast of a comma expression.
    pub(super) fn cast_list(&mut self, name: &ast::TypeName, items: &[ast::Expr], expr: &ast::Expr) -> Expr {
        let to = self.type_name(name);
        let TypeKind::Vector(scalar, lanes) = *self.kind(to.ty) else {
            return self.cast_comma(to, items, expr);
        };
        let element = self.scalar_ty(scalar);
        let mut values = Vec::with_capacity(items.len());
        let mut count = 0_u32;
        let mut failed = self.is_error(to.ty);
        for item in items {
            let value = self.expr(item);
            if self.is_error(value.ty) {
                failed = true;
                continue;
            }
            if count >= u32::from(lanes) {
                if !failed {
                    self.error(item.span, "excess elements in vector initializer");
                }
                failed = true;
                continue;
            }
            if let TypeKind::Vector(other, parts) = *self.kind(value.ty)
                && other == scalar
            {
                count += u32::from(parts);
                if count > u32::from(lanes) && !failed {
                    self.error(item.span, "excess elements in vector initializer");
                    failed = true;
                }
                values.push(value);
            } else {
                count += 1;
                let value = self.convert_assign(value, element, Assigning::Initialization);
                failed |= self.is_error(value.ty);
                values.push(value);
            }
        }
        if failed {
            return self.error_value(expr.span);
        }
        if count < u32::from(lanes) {
            let text = format!("too few elements in vector initialization (expected {lanes} elements, have {count})");
            self.error(expr.caret, text);
            return self.error_value(expr.span);
        }
        self.make(ExprKind::Vector(values), to.ty, expr.span)
    }

    fn cast_comma(&mut self, to: QualTy, items: &[ast::Expr], expr: &ast::Expr) -> Expr {
        let void = self.module.types.void();
        let mut effects: Option<Expr> = None;
        let mut last: Option<Expr> = None;
        for item in items {
            let value = self.expr(item);
            if let Some(before) = last.take() {
                let before = self.convert(before, void);
                effects = Some(match effects {
                    None => before,
                    Some(all) => {
                        let span = all.span.to(before.span);
                        Expr { kind: ExprKind::Comma(Box::new(all), Box::new(before)), ty: void, span }
                    }
                });
            }
            last = Some(value);
        }
        let Some(value) = last else { return self.error_value(expr.span) };
        if self.is_error(value.ty) || self.is_error(to.ty) {
            return self.error_value(expr.span);
        }
        let value = self.cast_to(value, to.ty, expr.span);
        match effects {
            None => value,
            Some(effects) => {
                let ty = value.ty;
                Expr { kind: ExprKind::Comma(Box::new(effects), Box::new(value)), ty, span: expr.span }
            }
        }
    }
}
