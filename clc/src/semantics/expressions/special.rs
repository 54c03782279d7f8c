//! `sizeof` and similar operators, `_Generic`, and the operators of GNU C that look like functions.

use crate::diagnostics::Diagnostic;
use crate::semantics::{Checker, Operand};
use crate::source::Span;
use crate::syntax::ast::{self, Designator, TypeOrExpr};
use crate::tree::{Constant, Conversion, Expr, ExprKind};
use crate::types::{QualTy, Ty, TypeKind};

impl Checker<'_, '_> {
    /// The type of a type name or of an expression that is not evaluated.
    pub(crate) fn type_or_expr(&mut self, what: &TypeOrExpr) -> QualTy {
        match what {
            TypeOrExpr::Type(name) => self.type_name(name),
            TypeOrExpr::Expr(inner) => self.unevaluated_type(inner),
        }
    }

    /// `sizeof`
    pub(super) fn size_of(&mut self, what: &TypeOrExpr, expr: &ast::Expr) -> Expr {
        self.size_or_align(what, "sizeof", expr)
    }

    /// `_Alignof`
    pub(super) fn align_of(&mut self, what: &TypeOrExpr, expr: &ast::Expr) -> Expr {
        self.size_or_align(what, "alignof", expr)
    }

    fn size_or_align(&mut self, what: &TypeOrExpr, name: &str, expr: &ast::Expr) -> Expr {
        let ty = self.type_or_expr(what);
        if self.is_error(ty.ty) {
            return self.error_value(expr.span);
        }
        if matches!(self.kind(ty.ty), TypeKind::Void | TypeKind::Function(_)) {
            let what = if ty.ty == self.module.types.void() { "void" } else { "function" };
            self.error(expr.span, format!("invalid application of '{name}' to a {what} type"));
            return self.error_value(expr.span);
        }
        let layout = self.module.types.layout(ty.ty);
        let Some(layout) = layout else {
            let text = format!("invalid application of '{name}' to an incomplete type {}", self.describe(ty));
            self.error(expr.span, text);
            return self.error_value(expr.span);
        };
        let value = if name == "sizeof" { layout.size } else { u64::from(ty.alignment(layout.align)) };
        self.size_constant(value, expr.span)
    }

    /// `vec_step`
    pub(super) fn vec_step(&mut self, what: &TypeOrExpr, expr: &ast::Expr) -> Expr {
        let ty = self.type_or_expr(what);
        let kind = self.kind(ty.ty);
        let steps = if let TypeKind::Vector(_, lanes) = kind {
            if *lanes == 3 { 4 } else { u64::from(*lanes) }
        } else if matches!(kind, TypeKind::Scalar(_) | TypeKind::Void) {
            1
        } else {
            if !self.is_error(ty.ty) {
                let text = format!("'vec_step' requires built-in scalar or vector type, {} invalid", self.describe(ty));
                self.error(expr.span, text);
            }
            return self.error_value(expr.span);
        };
        self.size_constant(steps, expr.span)
    }

    /// `_Generic`
    pub(super) fn generic(
        &mut self,
        control: &ast::Expr,
        choices: &[(Option<ast::TypeName>, ast::Expr)],
        expr: &ast::Expr,
    ) -> Operand {
        let control = self.unevaluated(|checker| checker.expr(control));
        if self.is_error(control.ty) {
            return Operand::Value(control);
        }
        let mut chosen = None;
        let mut default = None;
        for (name, value) in choices {
            match name {
                None => default = Some(value),
                Some(name) => {
                    let ty = self.type_name(name);
                    let plain = QualTy::plain(ty.ty);
                    if chosen.is_none() && ty == plain && self.is_compatible(ty.ty, control.ty) {
                        chosen = Some(value);
                    }
                }
            }
        }
        match chosen.or(default) {
            Some(value) => self.operand(value),
            None => {
                let text = format!(
                    "controlling expression type {} not compatible with any generic association type",
                    self.describe_ty(control.ty)
                );
                self.error(control.span, text);
                Operand::Value(self.error_value(expr.span))
            }
        }
    }

    /// `__builtin_choose_expr`
    pub(super) fn choose(&mut self, condition: &ast::Expr, a: &ast::Expr, b: &ast::Expr, expr: &ast::Expr) -> Operand {
        match self.integer_constant(condition, "'__builtin_choose_expr'") {
            None => Operand::Value(self.error_value(expr.span)),
            Some((0, _)) => self.operand(b),
            Some(_) => self.operand(a),
        }
    }

    /// `__builtin_types_compatible_p`
    pub(super) fn types_compatible(&mut self, a: &ast::TypeName, b: &ast::TypeName, expr: &ast::Expr) -> Expr {
        let (a, b) = (self.type_name(a), self.type_name(b));
        let same = self.is_compatible(a.ty, b.ty);
        self.int_constant(i32::from(same), expr.span)
    }

    /// `__builtin_astype`
    pub(super) fn astype(&mut self, inner: &ast::Expr, name: &ast::TypeName, expr: &ast::Expr) -> Expr {
        let value = self.expr(inner);
        let to = self.type_name(name);
        self.reinterpret(value, to.ty, expr.caret, expr.span)
    }

    /// The same bits as another type: `as_type`.
    pub(super) fn reinterpret(&mut self, value: Expr, to: Ty, caret: Span, span: Span) -> Expr {
        if self.is_error(value.ty) || self.is_error(to) {
            return self.error_value(span);
        }
        let (from, types) = (value.ty, &self.module.types);
        if types.layout(from).map(|layout| layout.size) != types.layout(to).map(|layout| layout.size) {
            let text = format!(
                "invalid reinterpretation: sizes of {} and {} must match",
                self.describe_ty(to),
                self.shown(&value)
            );
            self.report(Diagnostic::error(caret, text).range(value.span));
            return self.error_value(span);
        }
        if from == to {
            return Expr { span, ..value };
        }
        if self.pointee(from).is_some() && self.pointee(to).is_some() {
            return self.convert(value, to);
        }
        self.make(ExprKind::Convert(Conversion::Bits, Box::new(value)), to, span)
    }

    /// `__builtin_convertvector`
    pub(super) fn convert_vector(&mut self, inner: &ast::Expr, name: &ast::TypeName, expr: &ast::Expr) -> Expr {
        let value = self.expr(inner);
        let to = self.type_name(name);
        if self.is_error(value.ty) || self.is_error(to.ty) {
            return self.error_value(expr.span);
        }
        let text = match (self.kind(value.ty), self.kind(to.ty)) {
            (TypeKind::Vector(_, m), TypeKind::Vector(_, n)) if m == n => return self.convert(value, to.ty),
            (TypeKind::Vector(..), TypeKind::Vector(..)) => {
                "first two arguments to '__builtin_convertvector' must have the same number of elements".to_owned()
            }
            (TypeKind::Vector(..), _) => "second argument to __builtin_convertvector must be a vector type".to_owned(),
            _ => {
                format!("first argument to __builtin_convertvector must be of vector type, not {}", self.shown(&value))
            }
        };
        self.report(Diagnostic::error(expr.caret, text).range(value.span));
        self.error_value(expr.span)
    }

    /// `__builtin_shufflevector`
    pub(super) fn shuffle_vector(&mut self, items: &[ast::Expr], expr: &ast::Expr) -> Expr {
        let [first, second, indices @ ..] = items else {
            self.error(expr.span, "too few arguments to function call, expected at least 2");
            return self.error_value(expr.span);
        };
        let (a, b) = (self.expr(first), self.expr(second));
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return self.error_value(expr.span);
        }
        let TypeKind::Vector(scalar, lanes) = *self.kind(a.ty) else {
            self.error(expr.caret, "first two arguments to '__builtin_shufflevector' must be vectors");
            return self.error_value(expr.span);
        };
        if a.ty != b.ty {
            let text = "first two arguments to '__builtin_shufflevector' must have the same type";
            self.report(Diagnostic::error(expr.caret, text).range(a.span).range(b.span));
            return self.error_value(expr.span);
        }
        let mut chosen = Vec::with_capacity(indices.len());
        for index in indices {
            let Some((number, _)) = self.integer_constant(index, "'__builtin_shufflevector'") else {
                return self.error_value(expr.span);
            };
            if number == -1 {
                chosen.push(None);
                continue;
            }
            match u8::try_from(number).ok().filter(|number| *number < lanes * 2) {
                Some(number) => chosen.push(Some(number)),
                None => {
                    let text = "index for __builtin_shufflevector must be within the bounds of the input vectors";
                    self.error(index.span, text);
                    return self.error_value(expr.span);
                }
            }
        }
        if chosen.is_empty() || chosen.len() > 64 {
            self.error(expr.span, "'__builtin_shufflevector' needs 1 to 64 indices");
            return self.error_value(expr.span);
        }
        let ty = self.module.types.vector(scalar, chosen.len() as u8);
        Expr { kind: ExprKind::Shuffle(Box::new(a), Box::new(b), chosen), ty, span: expr.span }
    }

    /// `__builtin_offsetof`
    pub(super) fn offset_of(&mut self, name: &ast::TypeName, way: &[Designator], expr: &ast::Expr) -> Expr {
        let mut ty = self.type_name(name).ty;
        let mut offset = 0_u64;
        for part in way {
            if self.is_error(ty) {
                return self.error_value(expr.span);
            }
            match part {
                Designator::Field(name) => {
                    if !matches!(self.kind(ty), TypeKind::Record(_)) {
                        let text =
                            format!("offsetof requires struct, union, or class type, {} invalid", self.describe_ty(ty));
                        self.error(expr.span, text);
                        return self.error_value(expr.span);
                    }
                    let Some(path) = self.field_path(ty, *name, expr.span) else {
                        return self.error_value(expr.span);
                    };
                    for index in path {
                        let TypeKind::Record(id) = *self.kind(ty) else { break };
                        let Some(field) = self.module.types.record(id).fields.get(index as usize) else { break };
                        offset = offset.wrapping_add(field.offset);
                        ty = field.ty.ty;
                    }
                }
                Designator::Index(index, _) => {
                    let TypeKind::Array(element, _) = *self.kind(ty) else {
                        let text = format!("offsetof requires array type, {} invalid", self.describe_ty(ty));
                        self.error(index.span, text);
                        return self.error_value(expr.span);
                    };
                    let Some((number, _)) = self.integer_constant(index, "'__builtin_offsetof'") else {
                        return self.error_value(expr.span);
                    };
                    let size = self.module.types.layout(element.ty).map_or(0, |layout| layout.size);
                    offset = offset.wrapping_add((number as u64).wrapping_mul(size));
                    ty = element.ty;
                }
            }
        }
        self.size_constant(offset, expr.span)
    }

    /// `__func__`
    pub(super) fn function_name(&mut self, span: Span) -> Operand {
        let name = self.states.last().and_then(|state| self.module.functions.get(state.id.0 as usize));
        let bytes = match name.map(|function| function.name) {
            Some(name) => self.text(name).as_bytes().to_vec(),
            None => {
                self.warning(
                    span,
                    "predefined-identifier-outside-function",
                    "predefined identifier is only valid inside function",
                );
                Vec::new()
            }
        };
        self.string_place(bytes, span)
    }

    /// The integer of a constant, as signed or unsigned as its type is.
    pub(super) fn constant_integer(&self, value: &Expr) -> Option<i128> {
        match (&value.kind, self.scalar_of(value.ty)) {
            (ExprKind::Constant(Constant::Scalar(bits)), Some(scalar)) if scalar.is_integer() => {
                Some(super::assign::integer_value(*bits, scalar))
            }
            (ExprKind::Constant(Constant::Zero), Some(scalar)) if scalar.is_integer() => Some(0),
            _ => None,
        }
    }
}
