//! Conversions as nodes of the tree, and the promotions and common types of arithmetic.

use crate::semantics::Checker;
use crate::source::Span;
use crate::tree::{Constant, Conversion, Expr, ExprKind, Place, PlaceKind};
use crate::types::{AddressSpace, QualTy, Scalar, Ty, TypeKind};

impl Checker<'_, '_> {
    /// What a type is.
    pub(super) fn kind(&self, ty: Ty) -> &TypeKind {
        self.module.types.kind(ty)
    }

    /// Element and lanes of a scalar, an enumeration or a vector.
    pub(super) fn lanes(&self, ty: Ty) -> Option<(Scalar, u8)> {
        self.module.types.lanes(ty)
    }

    /// The scalar type of a scalar or an enumeration.
    pub(super) fn scalar_of(&self, ty: Ty) -> Option<Scalar> {
        self.lanes(ty).filter(|(_, lanes)| *lanes == 1).map(|(scalar, _)| scalar)
    }

    /// A scalar as a type.
    pub(super) fn scalar_ty(&self, scalar: Scalar) -> Ty {
        self.module.types.scalar(scalar)
    }

    /// `int`
    pub(super) fn int(&self) -> Ty {
        self.scalar_ty(Scalar::Int)
    }

    /// `bool`
    pub(super) fn bool(&self) -> Ty {
        self.scalar_ty(Scalar::Bool)
    }

    /// Whether it is the type of an expression with an error.
    pub(super) fn is_error(&self, ty: Ty) -> bool {
        ty == self.module.types.error()
    }

    /// Whether it is a vector.
    pub(super) fn is_vector(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TypeKind::Vector(..))
    }

    /// What a pointer points to.
    pub(super) fn pointee(&self, ty: Ty) -> Option<QualTy> {
        self.kind(ty).pointee()
    }

    /// The signed integer vector (or scalar) that a comparison of operands of this shape gives.
    pub(super) fn mask_type(&mut self, scalar: Scalar, lanes: u8) -> Ty {
        let element = Scalar::integer(scalar.bytes(), true).unwrap_or(Scalar::Int);
        self.module.types.vector(element, lanes)
    }

    /// The type of a value as diagnostics print it: that of the object, if it has just been read.
    pub(super) fn shown(&self, value: &Expr) -> String {
        if let ExprKind::Load(place) = &value.kind { self.describe(place.ty) } else { self.describe_ty(value.ty) }
    }

    /// A node, folded if it is constant.
    pub(super) fn make(&self, kind: ExprKind, ty: Ty, span: Span) -> Expr {
        self.fold(Expr { kind, ty, span })
    }

    /// A conversion node.
    fn conversion(&self, conversion: Conversion, value: Expr, ty: Ty) -> Expr {
        let span = value.span;
        let is_constant = matches!(value.kind, ExprKind::Constant(_));
        let expr = Expr { kind: ExprKind::Convert(conversion, Box::new(value)), ty, span };
        if is_constant { self.fold(expr) } else { expr }
    }

    /// Converts a value to a type, without any check: the caller knows that the conversion exists.
    pub(crate) fn convert(&mut self, value: Expr, to: Ty) -> Expr {
        let from = value.ty;
        if from == to || self.is_error(from) {
            return value;
        }
        if self.is_error(to) {
            return Expr { ty: to, ..value };
        }
        if let (Some((_, from_lanes)), Some((element, lanes))) = (self.lanes(from), self.lanes(to)) {
            if lanes != 1 && from_lanes == 1 {
                let element = self.scalar_ty(element);
                let value = self.convert(value, element);
                return self.conversion(Conversion::Splat, value, to);
            }
            return self.conversion(Conversion::Arithmetic, value, to);
        }
        let is_null = matches!(value.kind, ExprKind::Constant(Constant::Zero | Constant::Scalar(0)));
        match (self.kind(from), self.kind(to)) {
            (_, TypeKind::Void) => self.conversion(Conversion::Discard, value, to),
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => {
                let conversion =
                    if a.quals.space == b.quals.space { Conversion::Pointer } else { Conversion::AddressSpace };
                if is_null {
                    return Expr { kind: ExprKind::Constant(Constant::Zero), ty: to, span: value.span };
                }
                self.conversion(conversion, value, to)
            }
            (_, TypeKind::Scalar(Scalar::Bool)) => {
                if is_null {
                    return self.scalar_constant(Scalar::Bool, 0, value.span);
                }
                self.conversion(Conversion::PointerToBool, value, to)
            }
            (TypeKind::Pointer(_), TypeKind::Scalar(_) | TypeKind::Enum(_)) => {
                let size = self.module.types.size_t();
                let value = self.conversion(Conversion::PointerToInteger, value, size);
                self.convert(value, to)
            }
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Pointer(_)) => {
                if is_null {
                    return Expr { kind: ExprKind::Constant(Constant::Zero), ty: to, span: value.span };
                }
                let value = self.index_width(value);
                let size = self.module.types.size_t();
                let value = self.convert(value, size);
                self.conversion(Conversion::IntegerToPointer, value, to)
            }
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Sampler) => {
                let uint = self.scalar_ty(Scalar::UInt);
                let value = self.convert(value, uint);
                self.conversion(Conversion::Sampler, value, to)
            }
            _ if is_null => Expr { kind: ExprKind::Constant(Constant::Zero), ty: to, span: value.span },
            _ => self.conversion(Conversion::Pointer, value, to),
        }
    }

    /// An integer as an index: of the width of a pointer.
    pub(super) fn index_width(&mut self, value: Expr) -> Expr {
        let signed = self.scalar_of(value.ty).is_some_and(|scalar| scalar.is_signed());
        let to = if signed { self.module.types.ptrdiff_t() } else { self.module.types.size_t() };
        self.convert(value, to)
    }

    /// The integer promotions.
    pub(super) fn promote(&mut self, value: Expr) -> Expr {
        let Some(scalar) = self.module.types.scalar_of(value.ty) else { return value };
        let to = self.promoted(scalar);
        let to = self.scalar_ty(to);
        self.convert(value, to)
    }

    /// The type to which a scalar is promoted.
    pub(super) fn promoted(&self, scalar: Scalar) -> Scalar {
        match scalar {
            Scalar::Bool | Scalar::Char | Scalar::UChar | Scalar::Short | Scalar::UShort => Scalar::Int,
            Scalar::Int
            | Scalar::UInt
            | Scalar::Long
            | Scalar::ULong
            | Scalar::Half
            | Scalar::Float
            | Scalar::Double => scalar,
        }
    }

    /// The common type of two promoted scalars.
    pub(super) fn common_scalar(a: Scalar, b: Scalar) -> Scalar {
        if a.is_float() || b.is_float() {
            let rank = |scalar: Scalar| if scalar.is_float() { scalar.bytes() } else { 0 };
            return if rank(a) >= rank(b) { a } else { b };
        }
        match a.bytes().cmp(&b.bytes()) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal if a.is_signed() => b,
            std::cmp::Ordering::Equal => a,
        }
    }

    /// The usual arithmetic conversions of two values: both get the common type. `None` if they have none; it was reported.
    pub(super) fn usual(&mut self, a: Expr, b: Expr, operator: Span) -> Option<(Expr, Expr)> {
        let (Some((first, m)), Some((second, n))) = (self.lanes(a.ty), self.lanes(b.ty)) else {
            self.invalid_operands(&a, &b, operator);
            return None;
        };
        if m == 1 && n == 1 {
            let (first, second) = (self.promoted(first), self.promoted(second));
            let common = self.scalar_ty(Self::common_scalar(first, second));
            let a = self.convert(a, common);
            return Some((a, self.convert(b, common)));
        }
        self.common_vector(a, b, operator)
    }

    /// Two operands of which one at least is a vector, with the vector's type.
    pub(super) fn common_vector(&mut self, a: Expr, b: Expr, operator: Span) -> Option<(Expr, Expr)> {
        if a.ty == b.ty {
            return Some((a, b));
        }
        match (self.is_vector(a.ty), self.is_vector(b.ty)) {
            (true, true) => {
                let (x, y) = (self.describe_ty(a.ty), self.describe_ty(b.ty));
                let text = format!("implicit conversions between vector types ({x} and {y}) are not permitted");
                self.error_between(operator, text, &a, &b);
                None
            }
            (true, false) => {
                let ty = a.ty;
                if !self.widens(&b, ty) {
                    self.rank_error(&a, &b, operator);
                    return None;
                }
                let b = self.convert(b, ty);
                Some((a, b))
            }
            (false, true) => {
                let ty = b.ty;
                if !self.widens(&a, ty) {
                    self.rank_error(&b, &a, operator);
                    return None;
                }
                let a = self.convert(a, ty);
                Some((a, b))
            }
            (false, false) => {
                self.invalid_operands(&a, &b, operator);
                None
            }
        }
    }

    /// Whether a scalar becomes a vector's element in an operation with the vector: its type must not have a greater rank.
    fn widens(&self, value: &Expr, vector: Ty) -> bool {
        let (Some(scalar), Some((element, _))) = (self.scalar_of(value.ty), self.lanes(vector)) else {
            return false;
        };
        match (scalar.is_float(), element.is_float()) {
            (false, true) => true,
            (true, false) => false,
            _ => scalar.bytes() <= element.bytes(),
        }
    }

    fn rank_error(&mut self, vector: &Expr, scalar: &Expr, operator: Span) {
        if self.scalar_of(scalar.ty).is_none() {
            self.invalid_operands(vector, scalar, operator);
            return;
        }
        let (x, y) = (self.describe_ty(vector.ty), self.describe_ty(scalar.ty));
        let text = format!("scalar operand type has greater rank than the type of the vector element. ({x} and {y})");
        self.error_between(operator, text, vector, scalar);
    }

    /// "invalid operands to binary expression"
    pub(super) fn invalid_operands(&mut self, a: &Expr, b: &Expr, operator: Span) {
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return;
        }
        let text = format!("invalid operands to binary expression ({} and {})", self.shown(a), self.shown(b));
        self.error_between(operator, text, a, b);
    }

    /// An error at an operator, with its operands underlined.
    pub(super) fn error_between(&mut self, operator: Span, text: impl Into<String>, a: &Expr, b: &Expr) {
        let diagnostic = crate::diagnostics::Diagnostic::error(operator, text).range(a.span).range(b.span);
        self.report(diagnostic);
    }

    /// Whether a value is a null pointer constant: an integer constant 0, or that converted to `void *`.
    pub(super) fn is_null(&self, value: &Expr) -> bool {
        let ExprKind::Constant(constant) = &value.kind else { return false };
        match (self.kind(value.ty), constant) {
            (TypeKind::Scalar(scalar), Constant::Scalar(0) | Constant::Zero) => scalar.is_integer(),
            (TypeKind::Enum(_), Constant::Scalar(0)) => true,
            (TypeKind::Pointer(to), Constant::Zero) => {
                let is_plain = !to.quals.is_const && !to.quals.is_volatile;
                *self.kind(to.ty) == TypeKind::Void && is_plain && to.quals.space == self.default_pointee_space()
            }
            _ => false,
        }
    }

    /// Converts what has been read to a condition: a `bool`.
    pub(super) fn truth(&mut self, value: Expr) -> Expr {
        let bool = self.bool();
        // A comparison, or a logical operator, that had become an `int`.
        if value.ty == self.int()
            && matches!(&value.kind, ExprKind::Convert(Conversion::Arithmetic, inner) if inner.ty == bool)
            && let ExprKind::Convert(_, inner) = value.kind
        {
            return *inner;
        }
        self.convert(value, bool)
    }

    /// A local variable that has a value as soon as it is evaluated.
    pub(super) fn temporary(&mut self, value: Expr) -> Place {
        let (ty, span) = (QualTy::plain(value.ty), value.span);
        if self.states.is_empty() {
            self.error(span, "expression is not a compile-time constant");
            return Place { kind: PlaceKind::Deref(Box::new(self.error_value(span))), ty, span };
        }
        let local = self.new_local(None, ty, span);
        Place { kind: PlaceKind::Temporary(local, Box::new(value)), ty, span }
    }

    /// Reads a place: arrays become a pointer to their first element.
    pub(crate) fn load(&mut self, place: Place) -> Expr {
        let span = place.span;
        if let TypeKind::Array(element, _) = *self.kind(place.ty.ty) {
            let to = element.in_space(place.ty.quals.space);
            let to = QualTy { quals: merged(to, place.ty), ..to };
            let ty = self.module.types.pointer(to);
            return self.make(ExprKind::AddressOf(Box::new(place)), ty, span);
        }
        if self.is_missing_half(place.ty.ty) {
            let ty = self.describe(place.ty);
            let text = format!(
                "loading directly from pointer to type {ty} requires cl_khr_fp16. Use vector data load builtin functions instead"
            );
            self.error(span, text);
            return self.error_value(span);
        }
        if matches!(self.kind(place.ty.ty), TypeKind::Function(_)) {
            self.error(span, "taking address of function is not allowed");
            return self.error_value(span);
        }
        let ty = place.ty.ty;
        Expr { kind: ExprKind::Load(Box::new(place)), ty, span }
    }
}

/// The qualifiers of an element of an array, of which the array may have some.
pub(super) fn merged(element: QualTy, array: QualTy) -> crate::types::Quals {
    crate::types::Quals {
        is_const: element.quals.is_const || array.quals.is_const,
        is_volatile: element.quals.is_volatile || array.quals.is_volatile,
        is_restrict: element.quals.is_restrict,
        space: array.quals.space,
        align: element.quals.align,
    }
}

/// Whether a pointer to one address space is implicitly a pointer to another.
pub(super) fn space_contains(to: AddressSpace, from: AddressSpace) -> bool {
    to == from || to == AddressSpace::Generic && from != AddressSpace::Constant
}
