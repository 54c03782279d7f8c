//! Encodings of floating-point numbers.

use half::f16;

use crate::types::FloatFormat;

/// The bits of the number of a format that is nearest to a value, ties to even.
pub(super) fn bits(value: f64, format: FloatFormat) -> u64 {
    match format {
        FloatFormat::Half => u64::from(half_bits(value)),
        FloatFormat::Single => u64::from((value as f32).to_bits()),
        FloatFormat::Double => value.to_bits(),
    }
}

/// The `half` nearest to a `double`, rounded once.
fn half_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1);
    if exponent == 0x7ff {
        let payload = if mantissa == 0 { 0 } else { 0x200 | (mantissa >> 42) as u16 };
        return sign | 0x7c00 | payload;
    }
    let exponent = exponent - 1023;
    if exponent > 15 {
        return sign | 0x7c00;
    }
    if exponent < -25 {
        return sign;
    }
    // The significand has 53 bits, of which 11 remain, or fewer if the result is subnormal.
    let significand = mantissa | (1 << 52);
    let shift = if exponent < -14 { 42 + (-14 - exponent) } else { 42 } as u32;
    let kept = (significand >> shift) as u16;
    let rest = significand & ((1 << shift) - 1);
    let half_way = 1_u64 << (shift - 1);
    let up = rest > half_way || (rest == half_way && kept & 1 == 1);
    let base = if exponent < -14 { 0 } else { ((exponent + 14) as u16) << 10 };
    // A carry out of the significand is one into the exponent, and right.
    sign | (base + kept + u16::from(up))
}

/// Adds, subtracts, multiplies or divides two numbers of a format, rounded once.
pub(super) fn operate(format: FloatFormat, a: u64, b: u64, op: impl Operation) -> u64 {
    match format {
        FloatFormat::Half => {
            // A float has more than twice as many bits as a half, so the second rounding changes nothing.
            let of = |bits: u64| f16::from_bits(bits as u16).to_f32();
            u64::from(half_bits(f64::from(op.single(of(a), of(b)))))
        }
        FloatFormat::Single => {
            let of = |bits: u64| f32::from_bits(bits as u32);
            u64::from(op.single(of(a), of(b)).to_bits())
        }
        FloatFormat::Double => op.double(f64::from_bits(a), f64::from_bits(b)).to_bits(),
    }
}

/// An operation that IEEE 754 rounds correctly.
pub(super) trait Operation {
    /// In `float`.
    fn single(&self, a: f32, b: f32) -> f32;
    /// In `double`.
    fn double(&self, a: f64, b: f64) -> f64;
}

/// `+`
pub(super) struct Add;
/// `-`
pub(super) struct Sub;
/// `*`
pub(super) struct Mul;
/// `/`
pub(super) struct Div;

macro_rules! operation {
    ($name:ident $op:tt) => {
        impl Operation for $name {
            fn single(&self, a: f32, b: f32) -> f32 {
                a $op b
            }
            fn double(&self, a: f64, b: f64) -> f64 {
                a $op b
            }
        }
    };
}

operation!(Add+);
operation!(Sub -);
operation!(Mul *);
operation!(Div /);
