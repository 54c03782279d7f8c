//! Powers and roots. The logarithm and the product are represented as sums of two numbers of the operands' type. Operands with a
//! positive normal base and result are computed directly, all others in a cold block, which uses doubles for exponents that are
//! integers and not representable as floats.

use clift_kir::Elem;

use super::coefficients as poly;
use super::exp::{exp_of_normal_parts, exp_of_pair, exp2, exp2_fast_of, exp2_of_normal_pair, exp2_of_pair};
use super::log::{
    Split, log_pair, log_parts, log2, log2_of_split, near_range_limits, not_positive_normal, split, split_normal,
};
use super::num::Num;

/// log2 of a magnitude as a double: to 30 bits, exact for powers of two; -inf for 0, inf for inf, arbitrary for NaN.
fn log2_wide(magnitude: Num<'_>) -> Num<'_> {
    let parts = split(magnitude);
    let (e, f) = (parts.e.to(Elem::F64), parts.f().to(Elem::F64));
    let y = f.fma(f.poly(&poly::LOG2_WIDE), e);
    let y = magnitude.eq(0.0).select(y.lit(f64::NEG_INFINITY), y);
    magnitude.eq(f64::INFINITY).select(y.lit(f64::INFINITY), y)
}

/// 2^z as a float, to the last place, exact for integers; arbitrary for NaN.
fn exp2_narrow(z: Num<'_>) -> Num<'_> {
    // Beyond these bounds the conversion overflows or underflows.
    let z = z.min(200.0).max(-200.0);
    // Includes the bias, so that the low bits are an exponent field.
    let magic = 6_755_399_441_055_744.0 + 1023.0;
    let shifted = z + magic;
    let r = z - (shifted - magic);
    let power = (shifted.bits() << 52).float();
    (power * r.fma(r.poly(&poly::EXP2_WIDE), 1.0)).to(Elem::F32)
}

/// log2 of a positive finite float to about 28 bits, as the sum of two floats.
fn log2_pair<'m>(split: Split<'m>) -> [Num<'m>; 2] {
    let (e, f) = (split.e, split.f());
    let [first, second, ref others @ ..] = poly::LOG2_PAIR;
    let high = f64::from(first as f32);
    // The last two steps of the polynomial with their rounding errors.
    let third = f.poly(others);
    let inner = f.fma(third, second);
    let inner_rest = f.fma(third, inner.lit(second) - inner);
    let outer = f.fma(inner, high);
    let outer_rest = f.fma(inner, outer.lit(high) - outer) + f.fma(inner_rest, first - high);
    let log = f * outer;
    let log_rest = f.fma(outer_rest, f.fma(outer, -log));
    // The larger term first, except if the exponent is zero, when the sum is exact.
    let sum = e + log;
    [sum, (log - (sum - e)) + log_rest]
}

/// The power of a positive normal number, and a mask of the results that are not normal numbers and therefore wrong.
fn power_of_normal<'m>(x: Num<'m>, exponent: Num<'m>) -> (Num<'m>, Num<'m>) {
    let split = split_normal(x);
    let [log, rest] = if x.is_double() { log_parts(split) } else { log2_pair(split) };
    let z = log * exponent;
    let low = rest.fma(exponent, log.fma(exponent, -z));
    if x.is_double() {
        (exp_of_normal_parts(z, low), z.abs().gt_or_nan(700.0))
    } else {
        (exp2_of_normal_pair(z, low), not_normal_exp2(z))
    }
}

/// A mask of the z for which 2^z is not a normal float, or z is NaN.
fn not_normal_exp2(z: Num<'_>) -> Num<'_> {
    z.abs().gt_or_nan(125.0)
}

/// The power of floats: as [`power`].
fn power_of_floats<'m>(magnitude: Num<'m>, exponent: Num<'m>) -> Power<'m> {
    let [log, rest] = log2_pair(split(magnitude));
    let pole = magnitude.eq(0.0).select(log.lit(f64::NEG_INFINITY), f64::INFINITY);
    let log = (magnitude.gt(0.0) & magnitude.lt(f64::INFINITY)).select(log, pole);
    let z = log * exponent;
    let low = rest.fma(exponent, log.fma(exponent, -z));
    // If the product is huge or NaN, its rest may be so too, and has no effect.
    let low = z.abs().lt(200.0).select(low, 0.0);
    Power { value: exp2_of_pair(z, low), exponent: z }
}

/// A power, computed directly if base and result are positive normal numbers, else by `any` in a cold block.
fn usual_power<'m>(x: Num<'m>, y: Num<'m>, any: impl FnOnce() -> Num<'m>) -> Num<'m> {
    let usual = || {
        let (power, not_normal) = power_of_normal(x, y);
        (not_positive_normal(x) | not_normal, power)
    };
    Num::with_cold_path(usual, any)
}

/// The power of a magnitude, in the magnitude's precision; arbitrary for NaN. Zero and infinity have infinite logarithms.
fn power<'m>(magnitude: Num<'m>, exponent: Exponent<'m>) -> Power<'m> {
    if !magnitude.is_double() {
        let log = log2_wide(magnitude);
        let z = match exponent {
            Exponent::Times(y) => log * y,
            Exponent::Root(n) => log / n,
        };
        return Power { value: exp2_narrow(z), exponent: z };
    }
    let [log, rest] = log_pair(magnitude);
    let pole = magnitude.eq(0.0).select(log.lit(f64::NEG_INFINITY), f64::INFINITY);
    let ordinary = magnitude.gt(0.0) & magnitude.lt(f64::INFINITY);
    let log = ordinary.select(log, pole);
    let (z, low) = match exponent {
        Exponent::Times(y) => {
            let z = log * y;
            (z, log.fma(y, -z) + rest * y)
        }
        Exponent::Root(n) => {
            let z = log / n;
            (z, (z.fma(-n, log) + rest) / n)
        }
    };
    // If the product is huge or NaN, its rest may be so too, and has no effect.
    let low = z.abs().lt(1000.0).select(low, 0.0);
    Power { value: exp_of_pair(z, low), exponent: z }
}

/// The operation on the logarithm: multiplication by a number or division by an integer, both as doubles.
#[derive(Clone, Copy)]
enum Exponent<'m> {
    Times(Num<'m>),
    Root(Num<'m>),
}

/// A power, and its logarithm to base 2 or e.
struct Power<'m> {
    value: Num<'m>,
    exponent: Num<'m>,
}

/// The sign bit of x where the mask is true.
fn sign_where<'m>(mask: Num<'m>, x: Num<'m>, magnitude: Num<'m>) -> Num<'m> {
    mask.select(magnitude.copysign(x), magnitude)
}

/// Whether a float is integral, and whether it is odd. Infinity is even.
fn parity(y: Num<'_>) -> (Num<'_>, Num<'_>) {
    let half = y * 0.5;
    let whole = y.rint().eq(y);
    (whole, whole & half.rint().ne(half))
}

/// x^y.
pub(in crate::builtins) fn pow<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    if x.constant() == Some(2.0) {
        return exp2(&[y]);
    }
    let constant = y.constant().and_then(|exponent| constant_power(x, exponent));
    constant.unwrap_or_else(|| usual_power(x, y, || any_pow(x, y)))
}

/// x to a constant power, for exponents that take a few multiplications, a division or a square root: integers from -3 to 7,
/// and multiples of one half from -0.5 to 6.5. A factor that loses digits near the limits of the range belongs to a result
/// beyond them. The error is at most 3 units in the last place for positive exponents, and three times that of a division and
/// one more for negative ones.
fn constant_power(x: Num<'_>, exponent: f64) -> Option<Num<'_>> {
    if exponent == 0.0 {
        return Some(x.lit(1.0));
    }
    let whole = exponent.abs() as i64;
    if exponent.fract() == 0.0 && (-3.0..=7.0).contains(&exponent) {
        return product(if exponent < 0.0 { x.lit(1.0) / x } else { x }, whole);
    }
    if exponent.fract().abs() != 0.5 || !(-0.5..7.0).contains(&exponent) {
        return None;
    }
    // Powers of negative zero and negative infinity are positive, those of other negative numbers NaN.
    let magnitude = x.abs();
    let root = x.eq(f64::NEG_INFINITY).select(magnitude, x).sqrt().abs();
    match product(magnitude, whole) {
        Some(product) => Some(product * root),
        None if exponent < 0.0 => Some(x.lit(1.0) / root),
        None => Some(root),
    }
}

/// The product of `count` factors x, up to seven; `None` of none.
fn product(x: Num<'_>, count: i64) -> Option<Num<'_>> {
    let square = x * x;
    let factors = [(1, x), (2, square), (4, square * square)];
    let wanted = factors.into_iter().filter(|(bit, _)| count & bit != 0);
    wanted.map(|(_, factor)| factor).reduce(|product, factor| product * factor)
}

/// x^y of all operands.
fn any_pow<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    let magnitude = x.abs();
    // Infinite exponents are replaced by large finite ones, which give the same results, but 1 for a magnitude of 1.
    let bound = if x.is_double() { 1.0e30 } else { 1.0e10 };
    let bounded = y.min(bound).max(-bound);
    let power = if x.is_double() {
        power(magnitude, Exponent::Times(bounded)).value
    } else {
        power_of_floats(magnitude, bounded).value
    };
    pow_of_magnitude(x, y, power)
}

/// x^y from the power of the magnitude of x.
fn pow_of_magnitude<'m>(x: Num<'m>, y: Num<'m>, power: Num<'m>) -> Num<'m> {
    let (whole, odd) = parity(y);
    let power = sign_where(odd, x, power);
    let impossible = x.lt(0.0) & x.gt(f64::NEG_INFINITY) & !whole;
    let power = (impossible | x.either_nan(y)).select(x.lit(f64::NAN), power);
    (y.eq(0.0) | x.eq(1.0)).select(x.lit(1.0), power)
}

/// x^y for x >= 0 and constant y, as [`constant_power`]; NaN for x < 0. A power of zero with the exponent 0 is not one of them.
fn constant_powr<'m>(x: Num<'m>, y: Num<'m>) -> Option<Num<'m>> {
    let exponent = y.constant().filter(|&exponent| exponent != 0.0)?;
    let power = constant_power(x.abs(), exponent)?;
    Some(x.lt(0.0).select(x.lit(f64::NAN), power))
}

/// x^y for x >= 0: NaN where the limit does not exist.
pub(in crate::builtins) fn powr<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    if x.constant() == Some(2.0) {
        return exp2(&[y]);
    }
    if let Some(power) = constant_powr(x, y) {
        return power;
    }
    let any = || {
        let power = if x.is_double() { power(x.abs(), Exponent::Times(y)) } else { power_of_floats(x.abs(), y) };
        powr_of_magnitude(x, power)
    };
    usual_power(x, y, any)
}

fn powr_of_magnitude<'m>(x: Num<'m>, power: Power<'m>) -> Num<'m> {
    let nan = x.lt(0.0) | x.is_nan() | power.exponent.is_nan();
    nan.select(x.lit(f64::NAN), power.value)
}

/// The bound up to which all integers are representable as floats.
const EXACT: i64 = 1 << 24;

/// A mask of integers that may not be representable as floats.
fn inexact(n: Num<'_>) -> Num<'_> {
    n.gt(EXACT) | n.lt(-EXACT)
}

/// x^n: by multiplications if n is small.
pub(in crate::builtins) fn pown<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    let constant = n.constant().and_then(|exponent| constant_power(x, exponent));
    constant.unwrap_or_else(|| Num::with_cold_path(|| small_power(x, n), || any_pown(x, n)))
}

/// x^n for n of three bits, and a mask of larger n and of results so large or small that a product may have lost digits.
fn small_power<'m>(x: Num<'m>, n: Num<'m>) -> (Num<'m>, Num<'m>) {
    let count = n.lt(0).select(-n, n);
    let bit = |bit: i64| (count & bit).ne(0);
    let square = x * x;
    let power = bit(1).select(x, 1.0);
    let power = bit(2).select(power * square, power);
    let power = bit(4).select(power * (square * square), power);
    let power = n.lt(0).select(x.lit(1.0) / power, power);
    (n.gt(7) | n.lt(-7) | near_range_limits(power), power)
}

/// x^n of all operands.
fn any_pown<'m>(x: Num<'m>, n: Num<'m>) -> Num<'m> {
    let any = || {
        let power = power(x.abs(), Exponent::Times(n.to_float(Elem::F64))).value;
        let power = sign_where((n & 1).ne(0), x, power);
        let power = x.is_nan().select(x, power);
        n.eq(0).select(x.lit(1.0), power)
    };
    let magnitude = x.abs();
    let usual = || {
        let (power, not_normal) = power_of_normal(magnitude, n.to_float(x.ty().elem));
        let (sign, inexact) =
            if x.is_double() { (n.resize(Elem::I64) << 63, None) } else { (n << 31, Some(inexact(n))) };
        let special = not_positive_normal(magnitude) | not_normal;
        let special = inexact.map_or(special, |inexact| special | inexact);
        (special, (power.bits() | (x.bits() & sign)).float())
    };
    Num::with_cold_path(usual, any)
}

/// The n-th root of x.
pub(in crate::builtins) fn rootn<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    let any = || {
        let root = power(x.abs(), Exponent::Root(n.to_float(Elem::F64))).value;
        let odd = (n & 1).ne(0);
        let root = sign_where(odd, x, root);
        let nan = n.eq(0) | x.is_nan() | (x.lt(0.0) & !odd);
        nan.select(x.lit(f64::NAN), root)
    };
    if x.is_double() {
        return any();
    }
    let usual = || {
        let [log, rest] = log2_pair(split_normal(x));
        let divisor = n.to_float(Elem::F32);
        let z = log / divisor;
        let low = (z.fma(-divisor, log) + rest) / divisor;
        let special = not_positive_normal(x) | not_normal_exp2(z) | inexact(n);
        (special, exp2_of_normal_pair(z, low))
    };
    Num::with_cold_path(usual, any)
}

// -- fast variants for floats: to the accuracy that 20 bits of the logarithm give --

fn fast_power<'m>(x: Num<'m>, y: Num<'m>, any: impl FnOnce(Power<'m>) -> Num<'m>) -> Num<'m> {
    let z = y * log2_of_split(split_normal(x));
    let [power] = (not_positive_normal(x) | z.is_nan()).cold_path_all([exp2_fast_of(z)], || {
        let magnitude = x.abs();
        let z = y * log2(&[magnitude]);
        [any(Power { value: exp2_fast_of(z), exponent: z })]
    });
    power
}

/// x^y for x >= 0.
pub(in crate::builtins) fn powr_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    constant_powr(x, y).unwrap_or_else(|| fast_power(x, y, |power| powr_of_magnitude(x, power)))
}

/// x^y.
pub(in crate::builtins) fn pow_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let constant = y.constant().and_then(|exponent| constant_power(x, exponent));
    constant.unwrap_or_else(|| fast_power(x, y, |power| pow_of_magnitude(x, y, power.value)))
}
