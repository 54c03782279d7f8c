//! Operations on the bits of scalars.

use super::float;
use crate::tree::{BinaryOp, CompareOp, UnaryOp};
use crate::types::{FloatFormat, Scalar};

/// The value of an integer's bits.
pub(super) fn integer(bits: u64, scalar: Scalar) -> i128 {
    let unused = 64 - width(scalar);
    if scalar.is_signed() {
        i128::from(((bits << unused) as i64) >> unused)
    } else {
        i128::from((bits << unused) >> unused)
    }
}

/// Bits of a type.
fn width(scalar: Scalar) -> u32 {
    if scalar == Scalar::Bool { 1 } else { scalar.bytes() * 8 }
}

/// The bits of a value in an integer type, modulo its range.
pub(super) fn wrap(value: i128, scalar: Scalar) -> u64 {
    if scalar == Scalar::Bool {
        return u64::from(value != 0);
    }
    let unused = 64 - width(scalar);
    ((value as u64) << unused) >> unused
}

/// `op a`
pub(super) fn unary(op: UnaryOp, scalar: Scalar, a: u64) -> Option<u64> {
    Some(match op {
        UnaryOp::Negate if scalar.is_float() => a ^ (1 << (width(scalar) - 1)),
        UnaryOp::Negate => wrap(integer(a, scalar).wrapping_neg(), scalar),
        UnaryOp::Not if scalar.is_float() => return None,
        UnaryOp::Not => wrap(!integer(a, scalar), scalar),
        UnaryOp::LogicalNot => u64::from(!truth(a, scalar)),
    })
}

/// Whether a scalar is not zero.
pub(super) fn truth(a: u64, scalar: Scalar) -> bool {
    scalar.float_format().map_or_else(|| integer(a, scalar) != 0, |format| format.value(a) != 0.0)
}

/// `a op b`. The right operand of a shift may have another type.
pub(super) fn binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64, right: Scalar) -> Option<u64> {
    if let Some(format) = scalar.float_format() {
        return Some(match op {
            BinaryOp::Add => float::operate(format, a, b, float::Add),
            BinaryOp::Sub => float::operate(format, a, b, float::Sub),
            BinaryOp::Mul => float::operate(format, a, b, float::Mul),
            BinaryOp::Div => float::operate(format, a, b, float::Div),
            BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                return None;
            }
        });
    }
    let (x, y) = (integer(a, scalar), integer(b, right));
    let count = (y & i128::from(width(scalar) - 1)) as u32;
    let value = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::Rem if y == 0 => return None,
        // The only quotient that is out of range.
        BinaryOp::Div | BinaryOp::Rem if y == -1 && x == -(1_i128 << (width(scalar) - 1)) => return None,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
        BinaryOp::Shl => x << count,
        BinaryOp::Shr => x >> count,
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
    };
    Some(wrap(value, scalar))
}

/// `a op b`
pub(super) fn compare(op: CompareOp, scalar: Scalar, a: u64, b: u64) -> bool {
    let order = if let Some(format) = scalar.float_format() {
        format.value(a).partial_cmp(&format.value(b))
    } else {
        Some(integer(a, scalar).cmp(&integer(b, scalar)))
    };
    match op {
        CompareOp::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
        CompareOp::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
        CompareOp::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        CompareOp::LessEqual => order.is_some_and(std::cmp::Ordering::is_le),
        CompareOp::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        CompareOp::GreaterEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

/// A scalar in another type.
pub(super) fn convert(bits: u64, from: Scalar, to: Scalar) -> u64 {
    if to == Scalar::Bool {
        return u64::from(truth(bits, from));
    }
    match (from.float_format(), to.float_format()) {
        (None, None) => wrap(integer(bits, from), to),
        (Some(from), Some(to)) => float::bits(from.value(bits), to),
        (None, Some(FloatFormat::Single)) => u64::from((integer(bits, from) as f32).to_bits()),
        // What a double cannot hold is out of the range of a half.
        (None, Some(to)) => float::bits(integer(bits, from) as f64, to),
        (Some(from), None) => {
            let value = from.value(bits).trunc();
            let width = width(to);
            let (low, high) = if to.is_signed() {
                (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1)
            } else {
                (0, (1_i128 << width) - 1)
            };
            // Out of range is undefined. As clang, the nearest value; the cast makes zero of what is not a number.
            wrap((value as i128).clamp(low, high), to)
        }
    }
}
