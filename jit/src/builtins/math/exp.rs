//! Exponentials: reduction by a power of two to a small interval, a polynomial, and scaling by the power, in two steps where the
//! result may be subnormal, so that it is rounded once.

use super::coefficients as poly;
use super::num::Num;

/// The constants of a scaling by `2^n`: the low bits of a float near [`ScaleConstants::magic`] are `n` plus twice the bias.
struct ScaleConstants {
    /// 1.5 times the number from which on all floats are integers, plus twice the exponent's bias. Adding it rounds to an
    /// integer, which is in the low bits.
    magic: f64,
    mantissa_bits: u32,
}

fn format(x: Num<'_>) -> ScaleConstants {
    if x.is_double() {
        ScaleConstants { magic: 6_755_399_441_055_744.0 + 2046.0, mantissa_bits: 52 }
    } else {
        ScaleConstants { magic: 12_582_912.0 + 254.0, mantissa_bits: 23 }
    }
}

/// The integer nearest to `x * factor`, as a number and in the low bits of a float for [`scale`].
fn nearest<'m>(x: Num<'m>, factor: f64) -> (Num<'m>, Num<'m>) {
    let magic = format(x).magic;
    let shifted = x.fma(factor, magic);
    (shifted - magic, shifted)
}

/// `y * 2^n`, rounded once: |n| may be up to twice the bias.
fn scale<'m>(y: Num<'m>, shifted: Num<'m>) -> Num<'m> {
    scale_by(y, shifted.bits())
}

/// As [`scale`], with n plus twice the bias in an integer.
fn scale_by<'m>(y: Num<'m>, bits: Num<'m>) -> Num<'m> {
    let count = format(y).mantissa_bits;
    let half = bits.lshr(1);
    let rest = bits - half;
    y * (half << count).float() * (rest << count).float()
}

/// y, but NaN where x is NaN.
fn select_nan<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    x.is_nan().select(x, y)
}

/// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
const LN_2_F32: [f64; 2] = [0.693145751953125, 1.428606765330187e-6];
const LN_2_F64: [f64; 2] = [0.6931471805598903, 5.497923018708371e-14];
/// log10 2 likewise.
const LOG10_2_F32: [f64; 2] = [0.30103302001953125, -3.024355464731343e-6];
const LOG10_2_F64: [f64; 2] = [0.30102999566395283, 2.8363394551044964e-14];

/// `x - n * parts`.
fn reduce<'m>(x: Num<'m>, n: Num<'m>, [high, low]: [f64; 2]) -> Num<'m> {
    n.fma(-low, n.fma(-high, x))
}

/// exp(r) - 1 - r over r^2, and from it exp(r) or exp(r) - 1.
fn tail(r: Num<'_>) -> Num<'_> {
    if r.is_double() { r.poly(&poly::EXP_F64[1..]) } else { r.poly(&poly::EXP_F32) }
}

/// exp(r) for small r.
fn small_exp(r: Num<'_>) -> Num<'_> {
    if r.is_double() { r.fma(r.poly(&poly::EXP_F64), 1.0) } else { (r * r).fma(tail(r), r) + 1.0 }
}

/// e^x.
pub(in crate::builtins) fn exp<'m>(args: &[Num<'m>]) -> Num<'m> {
    exp_of(args[0])
}

/// e^x.
pub(super) fn exp_of(x: Num<'_>) -> Num<'_> {
    let (usual, bounds) = if x.is_double() { (700.0, [-746.0, 710.0]) } else { (87.0, [-104.0, 89.0]) };
    usually_normal(x, usual, bounds, unscaled_exp)
}

/// e^x where it is a normal number.
pub(super) fn exp_of_normal(x: Num<'_>) -> Num<'_> {
    let (y, shifted) = unscaled_exp(x);
    scale_normal(y, shifted)
}

/// e^x divided by a power of two, and the power as [`nearest_field`] returns it. Floats are computed as powers of two.
fn unscaled_exp(x: Num<'_>) -> (Num<'_>, Num<'_>) {
    if x.is_double() {
        let (n, shifted) = nearest_field(x, std::f64::consts::LOG2_E);
        return (small_exp(reduce(x, n, LN_2_F64)), shifted);
    }
    let (n, shifted) = nearest_field(x, LOG2_E_F32[0]);
    let r = x.fma(LOG2_E_F32[1], x.fma(LOG2_E_F32[0], -n));
    (r.fma(r.poly(&poly::EXP2_F32), 1.0), shifted)
}

/// An exponential. Up to the magnitude `usual` the result is normal. Beyond, a cold block scales it in two steps; below `low`
/// it is 0, and above `high` infinite. `unscaled` computes the result before scaling and the power as [`nearest_field`] returns
/// it. The cold block does not compute them again: weights such as `exp(-d * d)` vanish for much of the data of many programs.
fn usually_normal<'m>(
    x: Num<'m>,
    usual: f64,
    [low, high]: [f64; 2],
    unscaled: impl FnOnce(Num<'m>) -> (Num<'m>, Num<'m>),
) -> Num<'m> {
    let (y, shifted) = unscaled(x);
    let [y] = x.abs().gt_or_nan(usual).cold_path_all([scale_normal(y, shifted)], || {
        let bias = if x.is_double() { 1023 } else { 127 };
        let scaled = scale_by(y, shifted.bits() + bias);
        [x.lt(low).select(x.lit(0.0), x.gt(high).select(x.lit(f64::INFINITY), scaled))]
    });
    y
}

/// The integer nearest to `x * factor`, as a number and in the low bits of a float for [`scale_normal`].
fn nearest_field<'m>(x: Num<'m>, factor: f64) -> (Num<'m>, Num<'m>) {
    let magic = if x.is_double() { MAGIC_F64 } else { MAGIC_F32 };
    let shifted = x.fma(factor, magic);
    (shifted - magic, shifted)
}

/// 1.5 times the number from which on all floats are integers, plus the exponent's bias. Adding it rounds to an integer, and
/// the low bits are an exponent field.
const MAGIC_F32: f64 = 12_582_912.0 + 127.0;
const MAGIC_F64: f64 = 6_755_399_441_055_744.0 + 1023.0;

/// log2 e as the sum of two floats.
pub(super) const LOG2_E_F32: [f64; 2] = [1.4426950216293335, 1.925963033500011e-8];

/// `y * 2^n` for normal results, with the exponent field in the low bits of `shifted`.
pub(super) fn scale_normal<'m>(y: Num<'m>, shifted: Num<'m>) -> Num<'m> {
    y * (shifted.bits() << format(y).mantissa_bits).float()
}

/// Half of e^x for x >= 0, which overflows later than e^x; arbitrary for NaN.
pub(super) fn exp_half(x: Num<'_>) -> Num<'_> {
    let (high, ln_2) = if x.is_double() { (711.0, LN_2_F64) } else { (90.0, LN_2_F32) };
    let x = x.min(high);
    let (n, shifted) = nearest(x, std::f64::consts::LOG2_E);
    scale(small_exp(reduce(x, n, ln_2)), shifted - 1.0)
}

/// sinh(x) and cosh(x) for magnitudes up to 700, or 86 for floats, where e^x and its reciprocal are far from overflow and
/// underflow.
pub(super) fn sinh_cosh(x: Num<'_>) -> [Num<'_>; 2] {
    let (magic, ln_2, sum) =
        if x.is_double() { (MAGIC_F64 - 1.0, LN_2_F64, 2044 << 52) } else { (MAGIC_F32 - 1.0, LN_2_F32, 252 << 23) };
    let shifted = x.fma(std::f64::consts::LOG2_E, magic);
    let r = reduce(x, shifted - magic, ln_2);
    let s = r * r;
    let (cosh, sinh) = if x.is_double() {
        (s.poly(&poly::COSH_F64), s.poly(&poly::SINH_F64))
    } else {
        (s.poly(&poly::COSH_F32), s.poly(&poly::SINH_F32))
    };
    // cosh(r) - 1 and sinh(r); half the power of two, and half its reciprocal.
    let (cosh, sinh) = (s * cosh, (r * s).fma(sinh, r));
    let up = (shifted.bits() << format(x).mantissa_bits).float();
    let down = (up.bits().lit(sum) - up.bits()).float();
    // cosh and sinh of the multiple of ln 2 that was subtracted.
    let (even, odd) = (up + down, up - down);
    [odd + odd.fma(cosh, even * sinh), even + even.fma(cosh, odd * sinh)]
}

/// e^(x + rest) of doubles with a small rest; arbitrary for NaN.
pub(super) fn exp_of_pair<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    exp_of_pair_times(x, rest, x.lit(1.0))
}

/// As [`exp_of_pair`], for normal results and a rest of at most 0.2.
pub(super) fn exp_of_normal_parts<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let shifted = (x + rest).fma(std::f64::consts::LOG2_E, MAGIC_F64);
    let n = shifted - MAGIC_F64;
    let r = n.fma(-LN_2_F64[0], x) + n.fma(-LN_2_F64[1], rest);
    scale_normal(small_exp(r), shifted)
}

/// As [`exp_of_pair`], times a factor, which may be huge or tiny.
pub(super) fn exp_of_pair_times<'m>(x: Num<'m>, rest: Num<'m>, factor: Num<'m>) -> Num<'m> {
    let x = x.min(720.0).max(-1000.0);
    let (n, shifted) = nearest(x, std::f64::consts::LOG2_E);
    scale(small_exp(reduce(x, n, LN_2_F64) + rest) * factor, shifted)
}

/// 2^x.
pub(in crate::builtins) fn exp2<'m>(args: &[Num<'m>]) -> Num<'m> {
    let double = args[0].is_double();
    let (usual, bounds) = if double { (1020.0, [-1076.0, 1025.0]) } else { (125.0, [-151.0, 129.0]) };
    usually_normal(args[0], usual, bounds, |x| {
        let (n, shifted) = nearest_field(x, 1.0);
        let r = x - n;
        let y = if double { r.poly(&poly::EXP2_F64) } else { r.poly(&poly::EXP2_F32) };
        (r.fma(y, 1.0), shifted)
    })
}

/// 2^(x + rest) of floats with a small rest; arbitrary for NaN.
pub(super) fn exp2_of_pair<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let x = x.min(129.0).max(-151.0);
    let (n, shifted) = nearest(x, 1.0);
    let r = (x - n) + rest;
    scale(r.fma(r.poly(&poly::EXP2_F32), 1.0), shifted)
}

/// As [`exp2_of_pair`], for normal results.
pub(super) fn exp2_of_normal_pair<'m>(x: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let shifted = x + MAGIC_F32;
    let r = (x - (shifted - MAGIC_F32)) + rest;
    scale_normal(r.fma(r.poly(&poly::EXP2_F32), 1.0), shifted)
}

/// 10^x.
pub(in crate::builtins) fn exp10<'m>(args: &[Num<'m>]) -> Num<'m> {
    let double = args[0].is_double();
    let (usual, bounds) = if double { (307.0, [-325.0, 309.0]) } else { (37.5, [-46.0, 39.0]) };
    usually_normal(args[0], usual, bounds, |x| {
        let (n, shifted) = nearest_field(x, std::f64::consts::LOG2_10);
        let r = reduce(x, n, if double { LOG10_2_F64 } else { LOG10_2_F32 });
        let y = if double { r.poly(&poly::EXP10_F64) } else { r.poly(&poly::EXP10_F32) };
        (r.fma(y, 1.0), shifted)
    })
}

/// e^x - 1.
pub(in crate::builtins) fn expm1<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    select_nan(x, expm1_of(x).copysign(x))
}

/// e^x - 1; arbitrary for NaN, and zeros have any sign.
pub(super) fn expm1_of(x: Num<'_>) -> Num<'_> {
    let double = x.is_double();
    let ScaleConstants { mantissa_bits, .. } = format(x);
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

// -- fast variants for floats --

/// e^x to 18 bits.
pub(in crate::builtins) fn exp_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0].clamp_keeping_nan(-104.0, 89.0);
    fast_power(x, 0.5 * LOG2_E_F32[0])
}

/// 2^x to 20 bits.
pub(in crate::builtins) fn exp2_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    exp2_fast_of(args[0])
}

/// 2^x to 20 bits.
pub(super) fn exp2_fast_of(x: Num<'_>) -> Num<'_> {
    fast_power(x.clamp_keeping_nan(-151.0, 129.0), 0.5)
}

/// 10^x to 18 bits.
pub(in crate::builtins) fn exp10_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    fast_power(args[0].clamp_keeping_nan(-46.0, 39.0), 0.5 * std::f64::consts::LOG2_10)
}

/// The square of 2^(x * factor).
fn fast_power(x: Num<'_>, factor: f64) -> Num<'_> {
    let shifted = x.fma(factor, MAGIC_F32);
    let r = x.fma(factor, -(shifted - MAGIC_F32));
    let root = scale_normal(r.fma(r.poly(&poly::EXP2_FAST), 1.0), shifted);
    root * root
}
