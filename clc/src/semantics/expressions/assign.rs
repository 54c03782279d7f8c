//! Implicit conversion as if by assignment: assignments, initializers, arguments, `return`.

use super::convert::space_contains;
use crate::diagnostics::{Diagnostic, Group, Level};
use crate::semantics::{Assigning, Checker};
use crate::source::Span;
use crate::tree::{Constant, Expr, ExprKind};
use crate::types::{FloatFormat, QualTy, Scalar, Ty, TypeKind};

/// How two types are related in an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// No diagnostic.
    Compatible,
    /// The pointee loses qualifiers.
    DiscardsQualifiers,
    /// Pointees are integers that differ in sign.
    PointerSign,
    /// Pointees are not compatible.
    Pointers,
    /// The address space of the pointee is another one.
    AddressSpace,
    /// The address space of a pointer in the pointee is another one.
    NestedAddressSpace,
    /// A qualifier of a pointer in the pointee.
    NestedQualifiers,
    /// An integer to a pointer.
    IntegerToPointer,
    /// A pointer to an integer.
    PointerToInteger,
    /// A block pointer of another type.
    Blocks,
    /// Nothing converts them.
    Incompatible,
}

/// For what, where, and how it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The type, with qualifiers for diagnostics.
    pub ty: QualTy,
    /// What for.
    pub context: Assigning,
    /// The place of the caret.
    pub at: Span,
    /// The parameter's declaration.
    pub parameter: Option<(Option<crate::source::Symbol>, Span)>,
}

impl Checker<'_, '_> {
    /// The implicit conversion of a value to a type.
    pub(crate) fn convert_assign(&mut self, expr: Expr, to: Ty, context: Assigning) -> Expr {
        let at = expr.span;
        self.convert_assign_at(expr, to, context, at)
    }

    /// As [`Checker::convert_assign`], with the place of the caret (the operator, or the declared name).
    pub(crate) fn convert_assign_at(&mut self, expr: Expr, to: Ty, context: Assigning, at: Span) -> Expr {
        self.convert_to(expr, Target { ty: QualTy::plain(to), context, at, parameter: None })
    }

    /// The implicit conversion for a target.
    pub(super) fn convert_to(&mut self, value: Expr, target: Target) -> Expr {
        let to = target.ty.ty;
        if self.is_error(value.ty) || self.is_error(to) {
            return Expr { ty: to, ..value };
        }
        let relation = self.relation(&value, to);
        if relation != Relation::Compatible && !self.report_relation(relation, &value, target) {
            return self.error_value(value.span);
        }
        self.warn_constant(&value, to, target.at);
        self.convert(value, to)
    }

    /// How a value's type is related to the type to which it is assigned.
    pub(super) fn relation(&self, value: &Expr, to: Ty) -> Relation {
        let from = value.ty;
        if from == to {
            return Relation::Compatible;
        }
        let (from_kind, to_kind) = (self.kind(from), self.kind(to));
        match (from_kind, to_kind) {
            (TypeKind::Error, _) | (_, TypeKind::Error) => Relation::Compatible,
            (TypeKind::Vector(..), _) => Relation::Incompatible,
            (
                TypeKind::Scalar(_) | TypeKind::Enum(_),
                TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Vector(..),
            ) => Relation::Compatible,
            (_, TypeKind::Atomic(of)) => {
                if from == *of {
                    Relation::Compatible
                } else {
                    self.relation(value, *of)
                }
            }
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => {
                if self.is_null(value) {
                    return Relation::Compatible;
                }
                self.pointer_relation(*a, *b)
            }
            (TypeKind::Pointer(_) | TypeKind::BlockPointer(_), TypeKind::Scalar(Scalar::Bool)) => Relation::Compatible,
            (TypeKind::Pointer(_), TypeKind::Scalar(scalar)) if scalar.is_integer() => Relation::PointerToInteger,
            (TypeKind::Pointer(_), TypeKind::Enum(_)) => Relation::PointerToInteger,
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Pointer(_)) => {
                if self.is_null(value) {
                    Relation::Compatible
                } else if self.scalar_of(from).is_some_and(Scalar::is_integer) {
                    Relation::IntegerToPointer
                } else {
                    Relation::Incompatible
                }
            }
            (TypeKind::BlockPointer(a), TypeKind::BlockPointer(b)) if self.is_compatible(*a, *b) => {
                Relation::Compatible
            }
            (TypeKind::BlockPointer(_), TypeKind::BlockPointer(_)) => Relation::Blocks,
            (_, TypeKind::BlockPointer(_)) if self.is_null(value) => Relation::Compatible,
            (_, TypeKind::BlockPointer(_)) => Relation::Incompatible,
            (TypeKind::Scalar(scalar), TypeKind::Sampler) if scalar.is_integer() => {
                match self.constant_integer(value) {
                    Some(number) if number >> 32 == 0 => Relation::Compatible,
                    _ => Relation::Incompatible,
                }
            }
            (TypeKind::Scalar(_), TypeKind::Queue | TypeKind::Event | TypeKind::ClkEvent | TypeKind::ReserveId) => {
                if self.is_null(value) {
                    Relation::Compatible
                } else {
                    Relation::Incompatible
                }
            }
            _ if self.is_compatible(from, to) => Relation::Compatible,
            _ => Relation::Incompatible,
        }
    }

    /// How pointers to two types are related.
    fn pointer_relation(&self, from: QualTy, to: QualTy) -> Relation {
        if !space_contains(to.quals.space, from.quals.space) {
            return Relation::AddressSpace;
        }
        let discards = from.quals.is_const && !to.quals.is_const || from.quals.is_volatile && !to.quals.is_volatile;
        let same = if discards { Relation::DiscardsQualifiers } else { Relation::Compatible };
        let (a, b) = (self.kind(from.ty), self.kind(to.ty));
        if *a == TypeKind::Void || *b == TypeKind::Void || self.is_compatible(from.ty, to.ty) {
            return same;
        }
        let (mut below_from, mut below_to) = (from, to);
        while let (TypeKind::Pointer(x), TypeKind::Pointer(y)) = (self.kind(below_from.ty), self.kind(below_to.ty)) {
            (below_from, below_to) = (*x, *y);
            if x.quals.space != y.quals.space {
                return Relation::NestedAddressSpace;
            }
        }
        if self.pointee(from.ty).is_some() && self.is_compatible(below_from.ty, below_to.ty) {
            return Relation::NestedQualifiers;
        }
        if let (Some(x), Some(y)) = (self.lanes(from.ty), self.lanes(to.ty))
            && x.1 == y.1
            && x.0.is_integer()
            && y.0.is_integer()
            && x.0 != Scalar::Bool
            && y.0 != Scalar::Bool
            && x.0.bytes() == y.0.bytes()
        {
            return Relation::PointerSign;
        }
        Relation::Pointers
    }

    /// Reports what is wrong with an assignment. Whether it is compiled nevertheless: other pointers are a warning, as for most
    /// drivers.
    fn report_relation(&mut self, relation: Relation, value: &Expr, target: Target) -> bool {
        let from = self.shown(value);
        let to = self.describe(target.ty);
        if matches!(self.kind(target.ty.ty), TypeKind::Sampler) && target.context != Assigning::Return {
            let text = format!("sampler_t initialization requires 32-bit integer, not {from}");
            self.report(Diagnostic::error(target.at, text).range(value.span));
            return false;
        }
        let plain = match target.context {
            Assigning::Assignment => format!("assigning to {to} from {from}"),
            Assigning::Argument => format!("passing {from} to parameter of type {to}"),
            Assigning::Return => format!("returning {from} from a function with result type {to}"),
            Assigning::Initialization => format!("initializing {to} with an expression of type {from}"),
        };
        let (group, level, text) = match relation {
            Relation::Compatible => return true,
            Relation::DiscardsQualifiers => (
                Some("incompatible-pointer-types-discards-qualifiers"),
                Level::Warning,
                format!("{plain} discards qualifiers"),
            ),
            Relation::PointerSign => (
                Some("pointer-sign"),
                Level::Warning,
                format!("{plain} converts between pointers to integer types with different sign"),
            ),
            Relation::NestedQualifiers => (
                Some("incompatible-pointer-types-discards-qualifiers"),
                Level::Warning,
                format!("{plain} discards qualifiers in nested pointer types"),
            ),
            Relation::Pointers => {
                (Some("incompatible-pointer-types"), Level::Warning, format!("incompatible pointer types {plain}"))
            }
            Relation::Blocks => (None, Level::Error, format!("incompatible block pointer types {plain}")),
            Relation::AddressSpace | Relation::NestedAddressSpace => {
                let is_assignment = target.context == Assigning::Assignment;
                let plain = if is_assignment { format!("assigning {from} to {to}") } else { plain };
                let what = if relation == Relation::AddressSpace { "pointer" } else { "nested pointer" };
                (None, Level::Error, format!("{plain} changes address space of {what}"))
            }
            Relation::IntegerToPointer => {
                (Some("int-conversion"), Level::Warning, format!("incompatible integer to pointer conversion {plain}"))
            }
            Relation::PointerToInteger => {
                (Some("int-conversion"), Level::Warning, format!("incompatible pointer to integer conversion {plain}"))
            }
            Relation::Incompatible => {
                let text = match target.context {
                    Assigning::Assignment => format!("assigning to {to} from incompatible type {from}"),
                    Assigning::Argument => format!("passing {from} to parameter of incompatible type {to}"),
                    Assigning::Return => format!("returning {from} from a function with incompatible result type {to}"),
                    Assigning::Initialization => {
                        format!("initializing {to} with an expression of incompatible type {from}")
                    }
                };
                (None, Level::Error, text)
            }
        };
        let group = group.map(Group);
        let mut diagnostic = Diagnostic { level, group, ..Diagnostic::error(target.at, text) };
        if target.at != value.span {
            diagnostic = diagnostic.range(value.span);
        }
        if let Some((name, span)) = target.parameter {
            let text = match name {
                Some(name) => format!("passing argument to parameter '{}' here", self.text(name)),
                None => "passing argument to parameter here".to_owned(),
            };
            diagnostic = diagnostic.note(span, text);
        }
        self.report(diagnostic);
        level != Level::Error
    }

    /// Warns of constants whose value changes by an implicit conversion.
    pub(super) fn warn_constant(&mut self, value: &Expr, to: Ty, at: Span) {
        let ExprKind::Constant(Constant::Scalar(bits)) = &value.kind else { return };
        let (Some(from), Some((target, _))) = (self.scalar_of(value.ty), self.lanes(to)) else { return };
        if target == Scalar::Bool || from == target {
            return;
        }
        let (bits, width) = (*bits, target.bytes() * 8);
        if let Some(format) = target.float_format() {
            if from.is_integer() {
                self.warn_inexact(integer_value(bits, from), value, (format, to), at);
            }
            return;
        }
        let range = |target: Scalar| {
            if target.is_signed() {
                (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1)
            } else {
                (0, (1_i128 << width) - 1)
            }
        };
        let wrapped = |value: i128| {
            let low = (value as u128 & ((1_u128 << width) - 1)) as i128;
            if target.is_signed() && low >> (width - 1) != 0 { low - (1_i128 << width) } else { low }
        };
        if let Some(format) = from.float_format() {
            let number = format.value(bits);
            let (low, high) = range(target);
            let (a, b) = (self.describe_ty(value.ty), self.describe_ty(to));
            // `high` and its successor may be the same double, which is then the first that is out of range.
            if !(low as f64..high as f64 + 1.0).contains(&number.trunc()) {
                let text = format!("implicit conversion of out of range value from {a} to {b} is undefined");
                self.report(Diagnostic::warning(value.span, "literal-conversion", text).range(at));
            } else if number.trunc() != number {
                let text = format!(
                    "implicit conversion from {a} to {b} changes value from {} to {}",
                    float_text(number, from),
                    number.trunc() as i128
                );
                self.report(Diagnostic::warning(value.span, "literal-conversion", text).range(at));
            }
            return;
        }
        let number = integer_value(bits, from);
        // The loss of bits counts: -1 to an unsigned type is an idiom, and so is 0xff to a `char`.
        let significant = if number < 0 { 129 - (!number).leading_zeros() } else { 128 - number.leading_zeros() };
        let changes_sign = significant == width && number > 0 && target.is_signed() && from.is_signed();
        let fits = significant <= width && (!changes_sign || self.is_hexadecimal(value.span));
        if !fits {
            let (a, b) = (self.describe_ty(value.ty), self.describe_ty(to));
            let text =
                format!("implicit conversion from {a} to {b} changes value from {number} to {}", wrapped(number));
            self.report(Diagnostic::warning(value.span, "constant-conversion", text).range(at));
        }
    }

    /// Warns of integers that a floating-point type does not have.
    fn warn_inexact(&mut self, number: i128, value: &Expr, target: (FloatFormat, Ty), at: Span) {
        let precision = target.0.precision();
        let magnitude = number.unsigned_abs();
        let significant = 128 - magnitude.leading_zeros();
        if significant.saturating_sub(magnitude.trailing_zeros()) <= precision {
            return;
        }
        let is_single = target.0 == FloatFormat::Single;
        let nearest = if is_single { number as f32 as i128 } else { number as f64 as i128 };
        let (a, b) = (self.describe_ty(value.ty), self.describe_ty(target.1));
        let text = format!("implicit conversion from {a} to {b} changes value from {number} to {nearest}");
        self.report(Diagnostic::warning(value.span, "implicit-const-int-float-conversion", text).range(at));
    }

    /// Whether a hexadecimal number is written at a place.
    fn is_hexadecimal(&self, span: Span) -> bool {
        let sources = &self.session.sources;
        let text = sources.file_at(span.lo).and_then(|id| {
            let file = sources.file(id);
            let begin = span.lo.checked_sub(file.base)? as usize;
            file.text.get(begin..begin.checked_add(2)?)
        });
        matches!(text, Some(b"0x" | b"0X"))
    }
}

/// The value of an integer constant's bits.
pub(super) fn integer_value(bits: u64, scalar: Scalar) -> i128 {
    let width = scalar.bytes() * 8;
    if scalar.is_signed() { i128::from((bits << (64 - width)) as i64 >> (64 - width)) } else { i128::from(bits) }
}

/// A number as diagnostics print it.
fn float_text(number: f64, scalar: Scalar) -> String {
    if scalar == Scalar::Double { format!("{number}") } else { format!("{}", number as f32) }
}
