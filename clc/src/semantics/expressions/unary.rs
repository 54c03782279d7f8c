//! Operators of one operand.

use rustc_hash::FxHashSet;

use super::convert::merged;
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::semantics::{Checker, Entity, Operand};
use crate::source::Span;
use crate::syntax::ast::{self, UnaryOp};
use crate::tree::{self, Expr, ExprKind, Place, PlaceKind};
use crate::types::{QualTy, RecordId, Scalar, TypeKind};

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
        let op = match op {
            UnaryOp::Plus => return Expr { span: expr.span, ..value },
            UnaryOp::Minus => tree::UnaryOp::Negate,
            _ => tree::UnaryOp::Not,
        };
        let ty = value.ty;
        self.make(ExprKind::Unary(op, Box::new(value)), ty, expr.span)
    }

    fn logical_not(&mut self, inner: &ast::Expr, expr: &ast::Expr) -> Expr {
        let value = self.expr(inner);
        if self.is_error(value.ty) {
            return value;
        }
        let before_1_2 = self.version() < Version::V1_2;
        match *self.kind(value.ty) {
            TypeKind::Vector(scalar, lanes) => {
                if scalar.is_float() && before_1_2 {
                    return self.invalid_argument(&value, expr);
                }
                let ty = self.mask_type(scalar, lanes);
                self.make(ExprKind::Unary(tree::UnaryOp::LogicalNot, Box::new(value)), ty, expr.span)
            }
            TypeKind::Scalar(scalar) if scalar.is_float() && before_1_2 => self.invalid_argument(&value, expr),
            TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_) => {
                let value = self.truth(value);
                let (bool, int) = (self.bool(), self.int());
                let negated = self.make(ExprKind::Unary(tree::UnaryOp::LogicalNot, Box::new(value)), bool, expr.span);
                self.convert(negated, int)
            }
            _ => self.invalid_argument(&value, expr),
        }
    }

    fn dereference(&mut self, inner: &ast::Expr, expr: &ast::Expr) -> Operand {
        let value = self.expr(inner);
        if self.is_error(value.ty) {
            return Operand::Value(value);
        }
        let Some(to) = self.pointee(value.ty) else {
            let text = match self.kind(value.ty) {
                TypeKind::BlockPointer(_) => return Operand::Value(self.invalid_argument(&value, expr)),
                _ => format!("indirection requires pointer operand ({} invalid)", self.shown(&value)),
            };
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
        match pointer.kind {
            ExprKind::AddressOf(place) if place.ty == to => Place { span, ..*place },
            kind => Place { kind: PlaceKind::Deref(Box::new(Expr { kind, ..pointer })), ty: to, span },
        }
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
        match self.kind(place.ty.ty) {
            TypeKind::Error => return self.error_value(span),
            TypeKind::Image(..) | TypeKind::Sampler | TypeKind::Pipe(..) | TypeKind::BlockPointer(_) => {
                let text = format!("invalid argument type {} to unary expression", self.describe(place.ty));
                self.report(Diagnostic::error(caret, text).range(place.span));
                return self.error_value(span);
            }
            TypeKind::Function(_) => {
                self.error(caret, "taking address of function is not allowed");
                return self.error_value(span);
            }
            _ => {}
        }
        let ty = self.module.types.pointer(place.ty);
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
            _ => {
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
                if let ExprKind::Swizzle(..) = value.kind {
                    self.report(Diagnostic::error(caret, "expression is not assignable").range(range));
                } else if !self.is_error(value.ty) {
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
                match self.kind(ty.ty) {
                    _ if ty.quals.is_const => true,
                    TypeKind::Record(inner) => self.has_const_member(*inner, seen),
                    _ => false,
                }
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
        let diagnostic = match &base.kind {
            PlaceKind::Local(local) if base.ty.quals.is_const => {
                let found = self.states.last().and_then(|state| state.locals.get(local.0 as usize));
                found.map(|found| (found.name, found.span)).map(|(name, span)| {
                    let name = name.map_or("", |name| self.text(name)).to_owned();
                    Diagnostic::error(
                        caret,
                        format!("cannot assign to variable '{name}' with const-qualified type {shown}"),
                    )
                    .note(span, format!("variable '{name}' declared const here"))
                })
            }
            PlaceKind::Global(global) if base.ty.quals.is_const => {
                self.module.globals.get(global.0 as usize).map(|global| {
                    let name = &global.name;
                    Diagnostic::error(
                        caret,
                        format!("cannot assign to variable '{name}' with const-qualified type {shown}"),
                    )
                    .note(global.span, format!("variable '{name}' declared const here"))
                })
            }
            PlaceKind::Field(record, index) => match *self.kind(record.ty.ty) {
                TypeKind::Record(id) => {
                    let field = self.module.types.record(id).fields.get(*index as usize);
                    field.filter(|field| field.ty.quals.is_const).map(|field| (field.name, field.span)).map(
                        |(name, span)| {
                            let name = name.map_or("", |name| self.text(name)).to_owned();
                            let text = format!(
                                "cannot assign to non-static data member '{name}' with const-qualified type {shown}"
                            );
                            Diagnostic::error(caret, text)
                                .note(span, format!("non-static data member '{name}' declared const here"))
                        },
                    )
                }
                _ => None,
            },
            _ => None,
        };
        let diagnostic = diagnostic.unwrap_or_else(|| Diagnostic::error(caret, "read-only variable is not assignable"));
        self.report(diagnostic.range(range));
    }

    /// Whether pointers to a type can be moved. If not, an error is reported.
    pub(super) fn is_countable(&mut self, to: QualTy, caret: Span, range: Span) -> bool {
        match self.kind(to.ty) {
            TypeKind::Error => return false,
            // A byte, as GNU C has it.
            TypeKind::Void => return true,
            TypeKind::Function(_) => {
                self.report(Diagnostic::error(caret, "arithmetic on a pointer to a function type").range(range));
                return false;
            }
            _ => {}
        }
        if self.module.types.layout(to.ty).is_none() {
            let text = format!("arithmetic on a pointer to an incomplete type {}", self.describe(to));
            self.report(Diagnostic::error(caret, text).range(range));
            return false;
        }
        true
    }
}
