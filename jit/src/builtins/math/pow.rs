//! Powers and roots. The logarithm and the product are sums of two numbers of the operands' type, except where the exponent is an
//! integer and the base a float: there they are doubles, because no float holds the integer.

use clift_kir::Elem;

use super::coefficients as poly;
use super::exp::{exp_of_pair, exp2_fast_of, exp2_of_pair};
use super::log::{Split, log_pair, log2_fast_of, split};
use super::num::Num;

/// log2 of a magnitude as a double: to 30 bits, exact for powers of two; -inf for 0, inf for inf, anything for NaN.
fn log2_wide(magnitude: Num<'_>) -> Num<'_> {
    let Split { e, f } = split(magnitude);
    let (e, f) = (e.to(Elem::F64), f.to(Elem::F64));
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

/// log2 of a positive finite float to some 30 bits, as the sum of two.
fn log2_pair(magnitude: Num<'_>) -> [Num<'_>; 2] {
    let [first, second, ref others @ ..] = poly::LOG2_PAIR;
    let first_high = f64::from(first as f32);
    let Split { e, f } = split(magnitude);
    let square = f * f;
    let square_rest = f.fma(f, -square);
    let linear = f * first_high;
    let linear_rest = f.fma(first - first_high, f.fma(first_high, -linear));
    let quadratic = square * second;
    let quadratic_rest = square_rest.fma(second, square.fma(second, -quadratic));
    let rest = (f * square).fma(f.poly(others), linear_rest + quadratic_rest);
    // In descending order, except where the exponent is zero: then its sum is exact.
    let sum = e + linear;
    let sum_rest = linear - (sum - e);
    let more = sum + quadratic;
    let more_rest = quadratic - (more - sum);
    let rest = (sum_rest + more_rest) + rest;
    let log = more + rest;
    [log, rest - (log - more)]
}

/// The power of floats: as [`power`].
fn power_of_floats<'m>(magnitude: Num<'m>, exponent: Num<'m>) -> Power<'m> {
    let [log, rest] = log2_pair(magnitude);
    let pole = magnitude.eq(0.0).select(log.lit(f64::NEG_INFINITY), f64::INFINITY);
    let log = (magnitude.gt(0.0) & magnitude.lt(f64::INFINITY)).select(log, pole);
    let z = log * exponent;
    let low = rest.fma(exponent, log.fma(exponent, -z));
    // Where the product is huge or no number, so may be its rest: neither matters then.
    let low = z.abs().lt(200.0).select(low, 0.0);
    Power { value: exp2_of_pair(z, low), exponent: z }
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
    let magnitude = x.abs();
    // A finite exponent takes 1 to 1 and everything else where an infinite one takes it.
    let bound = if x.is_double() { 1.0e30 } else { 1.0e10 };
    let bounded = y.min(bound).max(-bound);
    let power = if x.is_double() {
        power(magnitude, Exponent::Times(bounded)).value
    } else {
        power_of_floats(magnitude, bounded).value
    };
    let (whole, odd) = parity(y);
    let power = sign_where(odd, x, power);
    let impossible = x.lt(0.0) & x.gt(f64::NEG_INFINITY) & !whole;
    let power = (impossible | x.unordered(y)).select(x.lit(f64::NAN), power);
    (y.eq(0.0) | x.eq(1.0)).select(x.lit(1.0), power)
}

/// x^y for x not negative: NaN wherever the limit depends on the way.
pub(in crate::builtins) fn powr<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let power = if x.is_double() { power(x.abs(), Exponent::Times(y)) } else { power_of_floats(x.abs(), y) };
    let nan = x.lt(0.0) | x.is_nan() | power.exponent.is_nan();
    nan.select(x.lit(f64::NAN), power.value)
}

/// x^n.
pub(in crate::builtins) fn pown<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    let power = power(x.abs(), Exponent::Times(n.to_float(Elem::F64))).value;
    let power = sign_where((n & 1).ne(0), x, power);
    let power = x.is_nan().select(x, power);
    n.eq(0).select(x.lit(1.0), power)
}

/// The n-th root of x.
pub(in crate::builtins) fn rootn<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    let root = power(x.abs(), Exponent::Root(n.to_float(Elem::F64))).value;
    let odd = (n & 1).ne(0);
    let root = sign_where(odd, x, root);
    let nan = n.eq(0) | x.is_nan() | (x.lt(0.0) & !odd);
    nan.select(x.lit(f64::NAN), root)
}

/// x^y for x not negative, to what 20 bits of the logarithm give.
pub(in crate::builtins) fn powr_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let log = log2_fast_of(x);
    let log = x.lt(f64::from(f32::MIN_POSITIVE)).select(x.lit(f64::NEG_INFINITY), log);
    let log = x.eq(f64::INFINITY).select(x, log);
    let z = y * log;
    let nan = x.lt(0.0) | x.is_nan() | z.is_nan();
    nan.select(x.lit(f64::NAN), exp2_fast_of(z))
}

/// x^y to what 20 bits of the logarithm give.
pub(in crate::builtins) fn pow_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let power = powr_fast(&[x.abs(), y]);
    let (whole, odd) = parity(y);
    let power = sign_where(odd, x, power);
    let power = (x.lt(0.0) & !whole).select(x.lit(f64::NAN), power);
    (y.eq(0.0) | x.eq(1.0)).select(x.lit(1.0), power)
}
