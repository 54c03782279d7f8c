//! Powers and roots. The logarithm and the product are sums of two numbers of the operands' type. Floats have a short way for the usual
//! operands, with all others on a branch; where the exponent is an integer that no float holds, doubles are used there.

use clift_kir::Elem;

use super::coefficients as poly;
use super::exp::{exp_of_normal_parts, exp_of_pair, exp2_fast_of, exp2_of_normal_pair, exp2_of_pair};
use super::log::{Split, distant, extraordinary, log_pair, log_parts, log2, log2_of_split, split, split_ordinary};
use super::num::Num;

/// log2 of a magnitude as a double: to 30 bits, exact for powers of two; -inf for 0, inf for inf, anything for NaN.
fn log2_wide(magnitude: Num<'_>) -> Num<'_> {
    let parts = split(magnitude);
    let (e, f) = (parts.e.to(Elem::F64), parts.f().to(Elem::F64));
    let y = f.fma(f.poly(&poly::LOG2_WIDE), e);
    let y = magnitude.eq(0.0).select(y.lit(f64::NEG_INFINITY), y);
    magnitude.eq(f64::INFINITY).select(y.lit(f64::INFINITY), y)
}

/// 2^z as a float, to the last place, exact for integers; anything for NaN.
fn exp2_narrow(z: Num<'_>) -> Num<'_> {
    // Beyond these the conversion gives infinity or zero.
    let z = z.min(200.0).max(-200.0);
    // The bias, so that the low bits are an exponent field.
    let magic = 6_755_399_441_055_744.0 + 1023.0;
    let shifted = z + magic;
    let r = z - (shifted - magic);
    let power = (shifted.bits() << 52).float();
    (power * r.fma(r.poly(&poly::EXP2_WIDE), 1.0)).to(Elem::F32)
}

/// log2 of a positive finite float to some 28 bits, as the sum of two.
fn log2_pair<'m>(split: Split<'m>) -> [Num<'m>; 2] {
    let (e, f) = (split.e, split.f());
    let [first, second, ref others @ ..] = poly::LOG2_PAIR;
    let high = f64::from(first as f32);
    // The last two steps of the polynomial with what their roundings lose.
    let third = f.poly(others);
    let inner = f.fma(third, second);
    let inner_rest = f.fma(third, inner.lit(second) - inner);
    let outer = f.fma(inner, high);
    let outer_rest = f.fma(inner, outer.lit(high) - outer) + f.fma(inner_rest, first - high);
    let log = f * outer;
    let log_rest = f.fma(outer_rest, f.fma(outer, -log));
    // In descending order, except where the exponent is zero: then its sum is exact.
    let sum = e + log;
    [sum, (log - (sum - e)) + log_rest]
}

/// A power of an ordinary number, and where it is no normal number, or none at all, and this way not to be taken.
fn ordinary_power<'m>(x: Num<'m>, exponent: Num<'m>) -> (Num<'m>, Num<'m>) {
    let split = split_ordinary(x);
    let [log, rest] = if x.is_double() { log_parts(split) } else { log2_pair(split) };
    let z = log * exponent;
    let low = rest.fma(exponent, log.fma(exponent, -z));
    if x.is_double() {
        (exp_of_normal_parts(z, low), z.abs().above_or_nan(700.0))
    } else {
        (exp2_of_normal_pair(z, low), leaves_range(z))
    }
}

/// Whether 2^z is no normal float, or z none at all.
fn leaves_range(z: Num<'_>) -> Num<'_> {
    z.abs().above_or_nan(125.0)
}

/// The power of floats: as [`power`].
fn power_of_floats<'m>(magnitude: Num<'m>, exponent: Num<'m>) -> Power<'m> {
    let [log, rest] = log2_pair(split(magnitude));
    let pole = magnitude.eq(0.0).select(log.lit(f64::NEG_INFINITY), f64::INFINITY);
    let log = (magnitude.gt(0.0) & magnitude.lt(f64::INFINITY)).select(log, pole);
    let z = log * exponent;
    let low = rest.fma(exponent, log.fma(exponent, -z));
    // Where the product is huge or no number, so may be its rest: neither matters then.
    let low = z.abs().lt(200.0).select(low, 0.0);
    Power { value: exp2_of_pair(z, low), exponent: z }
}

/// A power: at once where base and result are positive normal numbers, else by `any`.
fn usual_power<'m>(x: Num<'m>, y: Num<'m>, any: impl FnOnce() -> Num<'m>) -> Num<'m> {
    let usual = || {
        let (power, leaves) = ordinary_power(x, y);
        (extraordinary(x) | leaves, power)
    };
    Num::with_cold_path(usual, any)
}

/// The power of a magnitude, in the magnitude's precision: anything for NaN. Zero and infinity have infinite logarithms.
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
    // Where the product is huge or no number, so may be its rest: neither matters then.
    let low = z.abs().lt(1000.0).select(low, 0.0);
    Power { value: exp_of_pair(z, low), exponent: z }
}

/// What is done with the logarithm: multiplied by a number, or divided by an integer. Doubles.
#[derive(Clone, Copy)]
enum Exponent<'m> {
    Times(Num<'m>),
    Root(Num<'m>),
}

/// A power, and the exponent that it is of two or e.
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
    usual_power(x, y, || any_pow(x, y))
}

/// x^y of all operands.
fn any_pow<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    let magnitude = x.abs();
    // A finite exponent takes 1 to 1 and everything else where an infinite one takes it.
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
    let power = (impossible | x.unordered(y)).select(x.lit(f64::NAN), power);
    (y.eq(0.0) | x.eq(1.0)).select(x.lit(1.0), power)
}

/// x^y for x not negative: NaN wherever the limit depends on the way.
pub(in crate::builtins) fn powr<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
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

/// Integers that floats hold.
const EXACT: i64 = 1 << 24;

/// Which integers floats may not hold.
fn inexact(n: Num<'_>) -> Num<'_> {
    n.gt(EXACT) | n.lt(-EXACT)
}

/// x^n: by products where n is small.
pub(in crate::builtins) fn pown<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    Num::with_cold_path(|| few_products(x, n), || any_pown(x, n))
}

/// x^n for n of three bits, and where it has more or the result is so large or small that a product may have lost digits.
fn few_products<'m>(x: Num<'m>, n: Num<'m>) -> (Num<'m>, Num<'m>) {
    let count = n.lt(0).select(-n, n);
    let bit = |bit: i64| (count & bit).ne(0);
    let square = x * x;
    let power = bit(1).select(x, 1.0);
    let power = bit(2).select(power * square, power);
    let power = bit(4).select(power * (square * square), power);
    let power = n.lt(0).select(x.lit(1.0) / power, power);
    (n.gt(7) | n.lt(-7) | distant(power), power)
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
        let (power, leaves) = ordinary_power(magnitude, n.to_float(x.ty().elem));
        let (sign, inexact) =
            if x.is_double() { (n.resize(Elem::I64) << 63, None) } else { (n << 31, Some(inexact(n))) };
        let rare = extraordinary(magnitude) | leaves;
        let rare = inexact.map_or(rare, |inexact| rare | inexact);
        (rare, (power.bits() | (x.bits() & sign)).float())
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
        let [log, rest] = log2_pair(split_ordinary(x));
        let divisor = n.to_float(Elem::F32);
        let z = log / divisor;
        let low = (z.fma(-divisor, log) + rest) / divisor;
        let rare = extraordinary(x) | leaves_range(z) | inexact(n);
        (rare, exp2_of_normal_pair(z, low))
    };
    Num::with_cold_path(usual, any)
}

// -- fast forms of floats: to what 20 bits of the logarithm give --

fn power_fast<'m>(x: Num<'m>, y: Num<'m>, any: impl FnOnce(Power<'m>) -> Num<'m>) -> Num<'m> {
    let z = y * log2_of_split(split_ordinary(x));
    let [power] = (extraordinary(x) | z.is_nan()).cold_path_all([exp2_fast_of(z)], || {
        let magnitude = x.abs();
        let z = y * log2(&[magnitude]);
        [any(Power { value: exp2_fast_of(z), exponent: z })]
    });
    power
}

/// x^y for x not negative.
pub(in crate::builtins) fn powr_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    power_fast(x, y, |power| powr_of_magnitude(x, power))
}

/// x^y.
pub(in crate::builtins) fn pow_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    power_fast(x, y, |power| pow_of_magnitude(x, y, power.value))
}
