//! Hyperbolic functions and their inverses. The hyperbolic functions compute both exponentials with one argument reduction; the
//! inverse functions are logarithms of quotients.

use std::f64::consts;

use super::exp::{exp_half, expm1_of, sinh_cosh};
use super::log::{PowerOfTwo, format, log_of, log_of_ratio, log1p, outside, power_at};
use super::num::Num;

/// The largest magnitude for which [`sinh_cosh`] is accurate.
fn usual(x: Num<'_>) -> f64 {
    if x.is_double() { 700.0 } else { 86.0 }
}

/// Half of e^|x| for large x; NaN is kept.
fn half_exp(x: Num<'_>) -> Num<'_> {
    x.is_nan().select(x, exp_half(x.abs()))
}

/// Hyperbolic sine.
pub(in crate::builtins) fn sinh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let [sinh, _] = sinh_cosh(x);
    let [y] = x.abs().gt_or_nan(usual(x)).cold_path([sinh], || [half_exp(x)]);
    y.copysign(x)
}

/// Hyperbolic cosine.
pub(in crate::builtins) fn cosh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let [_, cosh] = sinh_cosh(x);
    let [y] = x.abs().gt_or_nan(usual(x)).cold_path([cosh], || [half_exp(x)]);
    y
}

/// Hyperbolic tangent.
pub(in crate::builtins) fn tanh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    // From here on the result is 1.
    let magnitude = x.abs().min(if x.is_double() { 20.0 } else { 10.0 });
    let t = expm1_of(magnitude + magnitude);
    x.is_nan().select(x, (t / (t + 2.0)).copysign(x))
}

/// The magnitude from which on adding one has no effect; its square does not overflow.
fn large(x: Num<'_>) -> f64 {
    if x.is_double() { 1.0e18 } else { 1.0e9 }
}

/// log(2 x) of numbers not less than [`large`].
fn log_of_twice(x: Num<'_>) -> Num<'_> {
    x.lt(f64::INFINITY).select(log_of(x) + consts::LN_2, x)
}

/// The logarithm of `y = x + root`, as 2 atanh((y - p) / (y + p)) plus the logarithm of a power of two p near y. For p = 1,
/// `near` computes the quotient more accurately.
fn log_of_sum<'m>(x: Num<'m>, root: Num<'m>, near: impl FnOnce() -> (Num<'m>, Num<'m>)) -> Num<'m> {
    let y = x + root;
    let (half_root, bits, ..) = format(x);
    let one = if x.is_double() { 1023 } else { 127 };
    let field = (y.bits() + ((one << bits) - half_root)).lshr(bits);
    let PowerOfTwo { power, exponent } = power_at(field);
    let is_near = field.eq(one);
    let (top, bottom) = near();
    // The inner difference is exact.
    let top = is_near.select(top, x + (root - power));
    let bottom = is_near.select(bottom, y) + power;
    log_of_ratio(top / bottom, exponent)
}

/// Inverse hyperbolic sine.
pub(in crate::builtins) fn asinh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    // log1p of x + sqrt(x^2 + 1) - 1, with the difference of the root and 1 computed without cancellation.
    let usual = log1p(&[magnitude + square / ((square + 1.0).sqrt() + 1.0)]);
    let [y] = magnitude.gt_or_nan(large(x)).cold_path([usual], || [log_of_twice(magnitude)]);
    y.copysign(x)
}

/// Inverse hyperbolic cosine.
pub(in crate::builtins) fn acosh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let t = x - 1.0;
    // The square root of x^2 - 1 = t (t + 2).
    let root = t.fma(t, t + t).sqrt();
    let usual = log_of_sum(x, root, || (root, x));
    let special = if x.is_double() {
        outside(x.bits(), 1.0f64.to_bits() as i64, 1.0e18f64.to_bits() as i64)
    } else {
        outside(x.bits(), i64::from(1.0f32.to_bits()), i64::from(1.0e9f32.to_bits()))
    };
    let [y] = special.cold_path([usual], || [x.lt(1.0).select(x.lit(f64::NAN), log_of_twice(x))]);
    y
}

/// Inverse hyperbolic tangent: half the logarithm of (1 + x) / (1 - x), which is divided by a power of two first.
pub(in crate::builtins) fn atanh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let (_, bits, ..) = format(x);
    let one = if x.is_double() { 1023 } else { 127 };
    let above = magnitude + 1.0;
    let below = magnitude.lit(1.0) - magnitude;
    let ratio = (above.bits() - below.bits()) + ((one << bits) + (1 << (bits - 1)));
    let PowerOfTwo { power, exponent } = power_at(ratio.lshr(bits));
    let log = |top: Num<'m>, bottom: Num<'m>| log_of_ratio(top / bottom, exponent) * 0.5;
    let (more, less) = (power + 1.0, power.lit(1.0) - power);
    let usual = log(magnitude.fma(more, less), magnitude.fma(less, more));
    // If the sums with the power are not exact, the result is so large that the sums with 1 are accurate enough.
    let close = 1.0 - 2f64.powi(if x.is_double() { -51 } else { -22 });
    let [y] = (!magnitude.lt(close)).cold_path([usual], || {
        let y = log(power.fma(-below, above), power.fma(below, above));
        let pole = magnitude.eq(1.0).select(x.lit(f64::INFINITY), f64::NAN);
        [magnitude.lt(1.0).select(y, pole)]
    });
    y.copysign(x)
}
