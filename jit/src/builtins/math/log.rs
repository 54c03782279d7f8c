//! Logarithms: a number is split into exponent and mantissa so that the mantissa is between the square roots of one half and two.
//! The logarithm of the mantissa is a polynomial of its difference to one.

use std::f64::consts;

use super::coefficients as poly;
use super::exp::LOG2_E_F32;
use super::num::Num;

/// A positive number as `m * 2^e`, m between sqrt(1/2) and sqrt(2), exactly.
pub(super) struct Split<'m> {
    /// The exponent, as a float.
    pub(super) e: Num<'m>,
    /// The mantissa.
    pub(super) m: Num<'m>,
}

impl<'m> Split<'m> {
    /// The mantissa minus one, exactly.
    pub(super) fn f(&self) -> Num<'m> {
        self.m - 1.0
    }
}

/// Bits of sqrt(1/2), number of mantissa bits, least normal number, a power of two that scales subnormals, its exponent.
pub(super) fn format(x: Num<'_>) -> (i64, u32, f64, f64, i64) {
    if x.is_double() {
        (0x3fe6_a09e_667f_3bcd, 52, f64::MIN_POSITIVE, 18_014_398_509_481_984.0, 54)
    } else {
        (0x3f35_04f3, 23, f64::from(f32::MIN_POSITIVE), 33_554_432.0, 25)
    }
}

/// Splits a positive finite number; arbitrary for other numbers.
pub(super) fn split(x: Num<'_>) -> Split<'_> {
    let (_, _, least, lift, shift) = format(x);
    let small = x.lt(least);
    let x = small.select(x * lift, x);
    let exponent = exponent(x);
    let e = exponent + small.select(exponent.lit(-shift), 0);
    split_by(x, exponent, e)
}

fn exponent(x: Num<'_>) -> Num<'_> {
    let (root, bits, ..) = format(x);
    (x.bits() - root).ashr(bits)
}

fn split_by<'m>(x: Num<'m>, exponent: Num<'m>, e: Num<'m>) -> Split<'m> {
    let (_, bits, ..) = format(x);
    let mantissa = (x.bits() - (exponent << bits)).float();
    let elem = x.ty().elem;
    let e = if x.is_double() { e.resize(clift_kir::Elem::I32) } else { e };
    Split { e: e.to_float(elem), m: mantissa }
}

/// Splits a positive normal number.
pub(super) fn split_normal(x: Num<'_>) -> Split<'_> {
    let (root, bits, ..) = format(x);
    if x.is_double() {
        // The biased exponent is positive: put into the low bits of a double it needs no conversion.
        let above = x.bits() + ((1023 << bits) - root);
        let e = (above.lshr(bits) | INTEGERS_BITS).float() - (INTEGERS + 1023.0);
        let mantissa = ((above & ((1 << bits) - 1)) + root).float();
        return Split { e, m: mantissa };
    }
    let above = x.bits() - root;
    let mantissa = ((above & ((1 << bits) - 1)) + root).float();
    Split { e: above.ashr(bits).to_float(x.ty().elem), m: mantissa }
}

/// The number from which on all doubles are integers, and its bits.
pub(super) const INTEGERS: f64 = 4_503_599_627_370_496.0;
pub(super) const INTEGERS_BITS: i64 = 0x4330_0000_0000_0000;

/// A mask of the numbers that are not positive normal numbers.
pub(super) fn not_positive_normal(x: Num<'_>) -> Num<'_> {
    if x.is_double() { outside(x.bits(), 1 << 52, 0x7ff << 52) } else { outside(x.bits(), 1 << 23, 0xff << 23) }
}

/// A mask of the numbers that are close to overflow or underflow, or not finite.
pub(super) fn near_range_limits(x: Num<'_>) -> Num<'_> {
    let bits = x.abs().bits();
    if x.is_double() { outside(bits, 23 << 52, 2023 << 52) } else { outside(bits, 7 << 23, 247 << 23) }
}

/// A mask of the bit patterns that are not in the range from `least` to below `end`, by one signed comparison of the difference.
pub(super) fn outside(bits: Num<'_>, least: i64, end: i64) -> Num<'_> {
    let begin = if bits.is_double() { i64::MIN } else { i64::from(i32::MIN) };
    (bits + begin.wrapping_sub(least)).gt(begin.wrapping_add(end - least - 1))
}

/// A logarithm as a function of exponent and mantissa. Numbers that are not positive normal are handled in a cold block.
fn logarithm<'m>(x: Num<'m>, of: impl Fn(Split<'m>) -> Num<'m>) -> Num<'m> {
    let [y] = not_positive_normal(x).cold_path_all([of(split_normal(x))], || [specials(x, of(split(x)))]);
    y
}

/// Selects the results for special values: zeros, negative numbers, infinity, NaN.
fn specials<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    let y = x.lt(f64::INFINITY).select(y, x);
    let pole = x.eq(0.0).select(x.lit(f64::NEG_INFINITY), f64::NAN);
    x.le(0.0).select(pole, y)
}

/// log(1 + f) of doubles, plus a small number that is added with little error.
fn log1p_small<'m>(f: Num<'m>, more: Option<Num<'m>>) -> Num<'m> {
    let s = f / (f + 2.0);
    let z = s * s;
    let half = f * 0.5 * f;
    // log(1 + f) = 2s + s r, and 2s = f - s f, so the rounding error of s has little effect.
    let sum = z.fma(z.poly(&poly::ATANH_F64), half);
    let product = match more {
        Some(more) => s.fma(sum, more),
        None => s * sum,
    };
    f - (half - product)
}

/// The natural logarithm of a positive finite double to about 62 bits, as the sum of two numbers.
pub(super) fn log_pair(x: Num<'_>) -> [Num<'_>; 2] {
    let [first, second] = log_parts(split(x));
    let log = first + second;
    [log, second - (log - first)]
}

/// As [`log_pair`] for a split double, but the second number may be up to 2^-12 of the first.
pub(super) fn log_parts(Split { e, m }: Split<'_>) -> [Num<'_>; 2] {
    // 2 atanh(s), s = h / (1 + h). The remainder of the division is exact: s and h are within a factor of two.
    let h = m.fma(0.5, -0.5);
    let s = h / m.fma(0.5, 0.5);
    let left = (-s).fma(h, h - s);
    // The logarithm of m divided by s: 2 + 2/3 s^2 with its rounding errors, and the terms of higher powers.
    let z = s * s;
    let [third, ref others @ ..] = poly::ATANH_F64;
    let factor = z.fma(third, 2.0);
    let factor_rest = z.fma(third, z.lit(2.0) - factor);
    let factor_rest = s.fma(s, -z).fma(third, factor_rest);
    let factor_rest = (z * z).fma(z.poly(others), factor_rest);
    let log = s * factor;
    let log_rest = s.fma(factor_rest, s.fma(factor, -log));
    let log_rest = left.fma(s.poly(&poly::ATANH_SLOPE), log_rest);
    // The product with the exponent is exact, and larger than the rest or zero.
    let high = e * LN_2_F64[0];
    let sum = high + log;
    let rest = log - (sum - high);
    [sum, rest + e.fma(LN_2_F64[1], log_rest)]
}

/// The natural logarithm.
pub(in crate::builtins) fn log<'m>(args: &[Num<'m>]) -> Num<'m> {
    logarithm(args[0], log_of_split)
}

/// The natural logarithm of a positive finite number.
pub(super) fn log_of(x: Num<'_>) -> Num<'_> {
    log_of_split(split(x))
}

fn log_of_split(split: Split<'_>) -> Num<'_> {
    log_of_parts(split.e, split.f())
}

/// The natural logarithm of `(1 + f) * 2^e`.
fn log_of_parts<'m>(e: Num<'m>, f: Num<'m>) -> Num<'m> {
    if f.is_double() {
        return e.fma(LN_2_F64[0], log1p_small(f, Some(e * LN_2_F64[1])));
    }
    e.fma(consts::LN_2, log1p_narrow(f))
}

/// A power of two, and its exponent as a float.
pub(super) struct PowerOfTwo<'m> {
    pub(super) power: Num<'m>,
    pub(super) exponent: Num<'m>,
}

/// The power of two with a biased exponent.
pub(super) fn power_at(field: Num<'_>) -> PowerOfTwo<'_> {
    let (integers, bits, bias) = if field.is_double() {
        (INTEGERS, INTEGERS_BITS, 1023.0)
    } else {
        (8_388_608.0, i64::from(8_388_608.0f32.to_bits()), 127.0)
    };
    let mantissa = if field.is_double() { 52 } else { 23 };
    PowerOfTwo { power: (field << mantissa).float(), exponent: (field | bits).float() - (integers + bias) }
}

/// 2 atanh(s) and a multiple of the logarithm of two, for |s| to 0.2.
pub(super) fn log_of_ratio<'m>(s: Num<'m>, exponent: Num<'m>) -> Num<'m> {
    let z = s * s;
    let (double, twice) = (s.is_double(), s + s);
    let tail = if double { z.poly(&poly::LOG_WIDE_F64) } else { z.poly(&poly::LOG_WIDE_F32) };
    let log = (s * z).fma(tail, twice);
    if double {
        return exponent.fma(LN_2_F64[0], exponent.fma(LN_2_F64[1], log));
    }
    exponent.fma(consts::LN_2, log)
}

/// log(1 + f) of floats.
fn log1p_narrow(f: Num<'_>) -> Num<'_> {
    // The logarithm is an odd function of s. s = f - s f/2, so the rounding error of s has little effect.
    let s = f / f.fma(0.5, 1.0);
    let z = s * s;
    s.fma(z.fma(z.poly(&poly::LOG_F32), f * -0.5), f)
}

/// The product with a constant that is the sum of two floats.
fn times<'m>(x: Num<'m>, [high, low]: [f64; 2]) -> Num<'m> {
    x.fma(high, x * low)
}

/// log10 e as the sum of two floats.
const LOG10_E_F32: [f64; 2] = [0.4342944920063019, -1.0103050052231684e-8];

/// ln 2 in two parts; the first has few bits.
const LN_2_F64: [f64; 2] = [0.6931471805598903, 5.497923018708371e-14];

/// The logarithm to base two.
pub(in crate::builtins) fn log2<'m>(args: &[Num<'m>]) -> Num<'m> {
    logarithm(args[0], log2_of_split)
}

/// The logarithm to base two of a split number.
pub(super) fn log2_of_split(split: Split<'_>) -> Num<'_> {
    let (e, f) = (split.e, split.f());
    if f.is_double() {
        return log1p_small(f, None).fma(consts::LOG2_E, e);
    }
    e + times(log1p_narrow(f), LOG2_E_F32)
}

/// The logarithm to base ten.
pub(in crate::builtins) fn log10<'m>(args: &[Num<'m>]) -> Num<'m> {
    logarithm(args[0], |split| {
        let (e, f) = (split.e, split.f());
        if f.is_double() {
            return log1p_small(f, None).fma(consts::LOG10_E, e * consts::LOG10_2);
        }
        e.fma(consts::LOG10_2, times(log1p_narrow(f), LOG10_E_F32))
    })
}

/// log(1 + x): with 2^k near 1 + x, `f = (1 + x) / 2^k - 1` is rounded once.
pub(in crate::builtins) fn log1p<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let (root, bits, ..) = format(x);
    let (bias, infinity) = if x.is_double() { (1023, 0x7ff) } else { (127, 0xff) };
    let y = x + 1.0;
    let PowerOfTwo { power, exponent } = power_at((y.bits() + ((bias << bits) - root)).lshr(bits));
    let inverse = (power.bits().lit((2 * bias) << bits) - power.bits()).float();
    let f = (x + (power.lit(1.0) - power)) * inverse;
    // 2 atanh(s) with 2s = f - s f, so the rounding error of s has little effect.
    let s = f / (f + 2.0);
    let z = s * s;
    let tail = if x.is_double() { z.poly(&poly::LOG_WIDE_F64) } else { z.poly(&poly::LOG_WIDE_F32) };
    let less = z.fma(-tail, f);
    let log = if x.is_double() {
        exponent.fma(LN_2_F64[0], f - s.fma(less, exponent * -LN_2_F64[1]))
    } else {
        exponent.fma(consts::LN_2, s.fma(-less, f))
    };
    // Not positive, or so large that adding one has no effect.
    let special = outside(y.bits(), 1 << bits, (infinity - 8) << bits);
    let [log] = special.cold_path([log], || [specials(y, log_of(y))]);
    // The result has the sign of x, also for zeros.
    log.copysign(x)
}
