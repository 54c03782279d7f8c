//! Conversion meanings: every pair of widths in every rounding mode, each rounded once.

use std::cmp::Ordering;

use super::LaneCx;
use super::float::to_f64;
use super::int::{signed, signed_range, wrap};
use crate::inst::{Convert, Imm, Rounding};
use crate::types::Elem;

/// Meaning of `itrunc`.
pub fn itrunc(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    args[0] & cx.dst.mask()
}

/// Meaning of `zext`.
pub fn zext(_: &LaneCx<'_>, args: &[u64]) -> u64 {
    args[0]
}

/// Meaning of `sext`.
pub fn sext(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    signed(cx.src, args[0]) as u64 & cx.dst.mask()
}

/// Meaning of the pointer casts.
pub fn same_bits(_: &LaneCx<'_>, args: &[u64]) -> u64 {
    args[0]
}

fn mode(cx: &LaneCx<'_>) -> Convert {
    let Imm::Convert(convert) = cx.imm else {
        unreachable!("broken invariant: conversion with immediate {:?}", cx.imm)
    };
    *convert
}

/// A finite float as an integral number, rounded.
fn round_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::TowardZero => value.trunc(),
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
    }
}

/// Meaning of `fptos`. Out of range without saturation: the result of saturating (any value is allowed).
pub fn fptos(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let value = to_f64(cx.src, args[0]);
    if value.is_nan() {
        return 0;
    }
    let (low, high) = signed_range(cx.dst);
    // `as` saturates; i128 holds every f64 that matters.
    let integral = round_integral(value, mode(cx).rounding) as i128;
    wrap(cx.dst, integral.clamp(low, high))
}

/// Meaning of `fptou`. Out of range without saturation: the result of saturating (any value is allowed).
pub fn fptou(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let value = to_f64(cx.src, args[0]);
    if value.is_nan() {
        return 0;
    }
    let integral = round_integral(value, mode(cx).rounding) as i128;
    wrap(cx.dst, integral.clamp(0, i128::from(cx.dst.mask())))
}

/// Meaning of `stofp`.
pub fn stofp(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let value = signed(cx.src, args[0]);
    encode(cx.dst, value < 0, u128::from(value.unsigned_abs()), 0, mode(cx).rounding)
}

/// Meaning of `utofp`.
pub fn utofp(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    encode(cx.dst, false, u128::from(args[0]), 0, mode(cx).rounding)
}

/// Meaning of `fptofp`.
pub fn fptofp(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    round_f64(cx.dst, to_f64(cx.src, args[0]), mode(cx).rounding)
}

/// The bits of `value` rounded once to binary16.
pub fn round_f64_to_f16(value: f64, rounding: Rounding) -> u16 {
    round_f64(Elem::F16, value, rounding) as u16
}

/// The bits of `value` rounded once to a float element. NaN becomes a quiet NaN with the upper payload bits kept.
pub fn round_f64(elem: Elem, value: f64, rounding: Rounding) -> u64 {
    if elem == Elem::F64 {
        return value.to_bits();
    }
    let (mantissa_bits, exponent_bits) = format(elem);
    let sign = u64::from(value.is_sign_negative()) << (elem.bits() - 1);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    if value.is_nan() {
        let payload = (value.to_bits() & ((1 << 52) - 1)) >> (52 - mantissa_bits);
        return sign | infinity | 1 << (mantissa_bits - 1) | payload;
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    encode(elem, value.is_sign_negative(), u128::from(mantissa), exponent, rounding)
}

/// Explicit mantissa bits and exponent bits of a float element.
fn format(elem: Elem) -> (u32, u32) {
    match elem {
        Elem::F16 => (10, 5),
        Elem::F32 => (23, 8),
        Elem::F64 => (52, 11),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: {elem} used as a float format")
        }
    }
}

/// The bits of `±mantissa * 2^exponent`, rounded once. The mantissa has at most 64 significant bits.
fn encode(elem: Elem, negative: bool, mantissa: u128, exponent: i32, rounding: Rounding) -> u64 {
    let (mantissa_bits, exponent_bits) = format(elem);
    let sign = u64::from(negative) << (elem.bits() - 1);
    if mantissa == 0 {
        return sign;
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let least = 1 - bias - mantissa_bits as i32; // exponent of the last place of subnormals
    let length = 128 - mantissa.leading_zeros() as i32;
    // Exponent of the last place kept, and how many places fall away (negative: places to fill).
    let last = (exponent + length - 1 - mantissa_bits as i32).max(least);
    let drop = last - exponent;
    let (mut kept, rest) = match drop {
        d if d <= 0 => (mantissa << -d, Ordering::Less),
        d if d > 127 => (0, Ordering::Less),
        d => {
            let lost = mantissa & ((1 << d) - 1);
            (mantissa >> d, lost.cmp(&(1 << (d - 1))))
        }
    };
    let exact = drop <= 0 || (drop <= 127 && mantissa & ((1 << drop) - 1) == 0);
    let up = !exact
        && match rounding {
            Rounding::NearestEven => rest == Ordering::Greater || (rest == Ordering::Equal && kept & 1 == 1),
            Rounding::TowardZero => false,
            Rounding::Up => !negative,
            Rounding::Down => negative,
        };
    kept += u128::from(up);
    // A carry out of the mantissa walks into the exponent by itself; so does the implicit bit of normal numbers.
    let biased = (last - least) as u128;
    let magnitude = if kept >> mantissa_bits == 0 { kept } else { (biased << mantissa_bits) + kept };
    let infinity = ((1u128 << exponent_bits) - 1) << mantissa_bits;
    let magnitude = if magnitude >= infinity {
        let to_infinity = match rounding {
            Rounding::NearestEven => true,
            Rounding::TowardZero => false,
            Rounding::Up => !negative,
            Rounding::Down => negative,
        };
        if to_infinity { infinity } else { infinity - 1 }
    } else {
        magnitude
    };
    sign | magnitude as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn nearest_agrees_with_the_host() {
        let samples = [
            0.0, -0.0, 1.0, 1.5, 0.1, 65504.0, 65520.0, 65519.9, 1e-7, 5.96e-8, 2.98e-8, 3e-8, 1e-45, 7e-46, 1e300,
            -2.5,
        ];
        for value in samples {
            assert_eq!(
                round_f64(Elem::F32, value, Rounding::NearestEven),
                u64::from((value as f32).to_bits()),
                "{value}"
            );
            assert_eq!(round_f64_to_f16(value, Rounding::NearestEven), f16::from_f64(value).to_bits(), "{value}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let x = random.u64(..);
            let imm = Imm::Convert(Convert::default());
            let value = x >> (x & 63);
            for dst in [Elem::F32, Elem::F64] {
                let cx = LaneCx { imm: &imm, src: Elem::I64, dst };
                let (u, s) = if dst == Elem::F32 {
                    (u64::from((value as f32).to_bits()), u64::from((value as i64 as f32).to_bits()))
                } else {
                    ((value as f64).to_bits(), (value as i64 as f64).to_bits())
                };
                assert_eq!(utofp(&cx, &[value]), u);
                assert_eq!(stofp(&cx, &[value]), s);
            }
            let double = f64::from_bits(x);
            if !double.is_nan() {
                assert_eq!(round_f64(Elem::F32, double, Rounding::NearestEven), u64::from((double as f32).to_bits()));
            }
        }
    }

    #[test]
    fn directed_modes() {
        let third = 1.0 / 3.0;
        let near = f32::from_bits(round_f64(Elem::F32, third, Rounding::NearestEven) as u32);
        let up = f32::from_bits(round_f64(Elem::F32, third, Rounding::Up) as u32);
        let down = f32::from_bits(round_f64(Elem::F32, third, Rounding::Down) as u32);
        assert!(f64::from(up) > third && f64::from(down) < third && (near == up || near == down));
        assert_eq!(up.to_bits(), down.to_bits() + 1);
        assert_eq!(round_f64(Elem::F32, 1e300, Rounding::TowardZero) as u32, f32::MAX.to_bits());
        assert_eq!(round_f64(Elem::F32, -1e300, Rounding::Up) as u32, f32::MIN.to_bits());
        assert_eq!(round_f64(Elem::F32, 1e-300, Rounding::Up) as u32, 1);
    }
}
