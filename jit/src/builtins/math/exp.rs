//! Exponentials: reduction by a power of two to a small interval, a polynomial, and scaling in two steps so that subnormal
//! results are rounded once.

use super::coefficients as poly;
use super::num::Num;

/// Halves of a scaling by `2^n`: the low bits of a float near [`Format::magic`] hold `n` plus twice the bias.
struct Format {
    /// One and a half times the number from which floats are integers, plus twice the exponent's bias. Adding it rounds to an
    /// integer, which stands in the low bits.
    magic: f64,
    mantissa_bits: u32,
}

fn format(x: Num<'_>) -> Format {
    if x.is_double() {
        Format { magic: 6_755_399_441_055_744.0 + 2046.0, mantissa_bits: 52 }
    } else {
        Format { magic: 12_582_912.0 + 254.0, mantissa_bits: 23 }
    }
}

/// The integer nearest to `x * factor` as a number, and in the low bits of a float for [`scale`].
fn nearest<'m>(x: Num<'m>, factor: f64) -> (Num<'m>, Num<'m>) {
    let magic = format(x).magic;
    let shifted = x.fma(factor, magic);
    (shifted - magic, shifted)
}

/// `y * 2^n`, rounded once: |n| may be up to twice the bias.
fn scale<'m>(y: Num<'m>, shifted: Num<'m>) -> Num<'m> {
    let count = format(y).mantissa_bits;
    let bits = shifted.bits();
    let half = bits.lshr(1);
    let rest = bits - half;
    y * (half << count).float() * (rest << count).float()
}

/// NaN where x is.
fn keep_nan<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    x.is_nan().select(x, y)
}

/// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
const LN_2_F32: [f64; 2] = [0.693145751953125, 1.428606765330187e-6];
const LN_2_F64: [f64; 2] = [0.6931471805598903, 5.497923018708371e-14];
/// log10 2 likewise.
const LOG10_2_F32: [f64; 2] = [0.30103302001953125, -3.024355464731343e-6];
const LOG10_2_F64: [f64; 2] = [0.30102999566395283, 2.8363394551044964e-14];

/// What ln 10 is more than the double.
const LN_10_REST: f64 = -2.1707562233822494e-16;

/// `x - n * parts`.
fn reduce<'m>(x: Num<'m>, n: Num<'m>, [high, low]: [f64; 2]) -> Num<'m> {
    n.fma(-low, n.fma(-high, x))
}

/// exp(r) - 1 - r over r^2, and from it exp(r) or exp(r) - 1.
fn tail(r: Num<'_>) -> Num<'_> {
    if r.is_double() { r.poly(&poly::EXP_F64) } else { r.poly(&poly::EXP_F32) }
}

/// exp(r) for small r.
fn small_exp(r: Num<'_>) -> Num<'_> {
    (r * r).fma(tail(r), r) + 1.0
}

/// e^x.
pub(in crate::builtins) fn exp<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    keep_nan(x, exp_of(x))
}

/// e^x; anything for NaN.
pub(super) fn exp_of(x: Num<'_>) -> Num<'_> {
    let double = x.is_double();
    let (low, high, ln_2) = if double { (-746.0, 710.0, LN_2_F64) } else { (-104.0, 89.0, LN_2_F32) };
    let x = x.min(high).max(low);
    let (n, shifted) = nearest(x, std::f64::consts::LOG2_E);
    scale(small_exp(reduce(x, n, ln_2)), shifted)
}

/// Half of e^x for x >= 0, which overflows later; anything for NaN.
pub(super) fn exp_half(x: Num<'_>) -> Num<'_> {
    let (high, ln_2) = if x.is_double() { (711.0, LN_2_F64) } else { (90.0, LN_2_F32) };
    let x = x.min(high);
    let (n, shifted) = nearest(x, std::f64::consts::LOG2_E);
    scale(small_exp(reduce(x, n, ln_2)), shifted - 1.0)
}

/// e^(x + rest) of doubles with a small rest; anything for NaN.
pub(super) fn exp_of_pair<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    exp_of_pair_times(x, rest, x.lit(1.0))
}

/// A factor, which may be huge or tiny, times e^(x + rest) of doubles, likewise.
pub(super) fn exp_of_pair_times<'m>(x: Num<'m>, rest: Num<'m>, factor: Num<'m>) -> Num<'m> {
    let x = x.min(720.0).max(-1000.0);
    let (n, shifted) = nearest(x, std::f64::consts::LOG2_E);
    scale(small_exp(reduce(x, n, LN_2_F64) + rest) * factor, shifted)
}

/// 2^x.
pub(in crate::builtins) fn exp2<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let double = x.is_double();
    let (low, high) = if double { (-1076.0, 1025.0) } else { (-151.0, 129.0) };
    let clamped = x.min(high).max(low);
    let (n, shifted) = nearest(clamped, 1.0);
    let r = clamped - n;
    let y = if double { small_exp(r * std::f64::consts::LN_2) } else { r.fma(r.poly(&poly::EXP2_F32), 1.0) };
    keep_nan(x, scale(y, shifted))
}

/// 2^(x + rest) of floats with a small rest; anything for NaN.
pub(super) fn exp2_of_pair<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let x = x.min(129.0).max(-151.0);
    let (n, shifted) = nearest(x, 1.0);
    let r = (x - n) + rest;
    scale(r.fma(r.poly(&poly::EXP2_F32), 1.0), shifted)
}

/// 10^x.
pub(in crate::builtins) fn exp10<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let double = x.is_double();
    let (low, high, parts) = if double { (-325.0, 309.0, LOG10_2_F64) } else { (-46.0, 39.0, LOG10_2_F32) };
    let clamped = x.min(high).max(low);
    let (n, shifted) = nearest(clamped, std::f64::consts::LOG2_10);
    let r = reduce(clamped, n, parts);
    let y = if double {
        let high = r * std::f64::consts::LN_10;
        let low = r.fma(LN_10_REST, r.fma(std::f64::consts::LN_10, -high));
        (high * high).fma(tail(high), low) + high + 1.0
    } else {
        r.fma(r.poly(&poly::EXP10_F32), 1.0)
    };
    keep_nan(x, scale(y, shifted))
}

/// e^x - 1.
pub(in crate::builtins) fn expm1<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    keep_nan(x, expm1_of(x).copysign(x))
}

/// e^x - 1; anything for NaN, and a zero of any sign.
pub(super) fn expm1_of(x: Num<'_>) -> Num<'_> {
    let double = x.is_double();
    let Format { mantissa_bits, .. } = format(x);
    // One less than the bias, so that the low bits are those of half the power.
    let (low, high, ln_2, magic) = if double {
        (-40.0, 710.0, LN_2_F64, 6_755_399_441_055_744.0 + 1022.0)
    } else {
        (-18.0, 89.0, LN_2_F32, 12_582_912.0 + 126.0)
    };
    let x = x.min(high).max(low);
    let shifted = x.fma(std::f64::consts::LOG2_E, magic);
    let n = shifted - magic;
    let r = reduce(x, n, ln_2);
    let small = (r * r).fma(tail(r), r);
    let half_power = (shifted.bits() << mantissa_bits).float();
    let half = half_power.fma(small, half_power - 0.5);
    half + half
}

// -- fast forms of floats --

/// e^x to 20 bits.
pub(in crate::builtins) fn exp_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let clamped = x.min(89.0).max(-104.0);
    let (n, shifted) = nearest(clamped, std::f64::consts::LOG2_E);
    let r = reduce(clamped, n, LN_2_F32);
    keep_nan(x, scale(r.fma(r.poly(&poly::EXP_FAST), 1.0), shifted))
}

/// 2^x to 20 bits.
pub(in crate::builtins) fn exp2_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    keep_nan(x, exp2_fast_of(x))
}

/// 2^x to 20 bits; anything for NaN.
pub(super) fn exp2_fast_of(x: Num<'_>) -> Num<'_> {
    let x = x.min(129.0).max(-151.0);
    let (n, shifted) = nearest(x, 1.0);
    let r = x - n;
    scale(r.fma(r.poly(&poly::EXP2_FAST), 1.0), shifted)
}

/// 10^x to 20 bits.
pub(in crate::builtins) fn exp10_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let clamped = x.min(39.0).max(-46.0);
    let (n, shifted) = nearest(clamped, std::f64::consts::LOG2_10);
    let r = reduce(clamped, n, LOG10_2_F32);
    keep_nan(x, scale(r.fma(r.poly(&poly::EXP10_FAST), 1.0), shifted))
}
