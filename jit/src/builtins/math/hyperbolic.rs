//! Hyperbolic functions and their inverses, from exponentials and logarithms.

use std::f64::consts;

use super::coefficients as poly;
use super::exp::{exp_half, expm1_of};
use super::log::log1p_of;
use super::num::Num;

/// Hyperbolic sine.
pub(in crate::builtins) fn sinh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let half = exp_half(magnitude);
    let large = half - half.lit(0.25) / half;
    let s = magnitude * magnitude;
    let tail = if x.is_double() { s.poly(&poly::SINH_F64) } else { s.poly(&poly::SINH_F32) };
    let small = (magnitude * s).fma(tail, magnitude);
    let y = magnitude.ge(1.0).select(large, small);
    x.is_nan().select(x, y.copysign(x))
}

/// Hyperbolic cosine.
pub(in crate::builtins) fn cosh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let half = exp_half(x.abs());
    x.is_nan().select(x, half + half.lit(0.25) / half)
}

/// Hyperbolic tangent.
pub(in crate::builtins) fn tanh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    // From here on the result is 1.
    let magnitude = x.abs().min(if x.is_double() { 20.0 } else { 10.0 });
    let t = expm1_of(magnitude + magnitude);
    x.is_nan().select(x, (t / (t + 2.0)).copysign(x))
}

/// From this magnitude on one more makes no difference, long before the square overflows.
fn large(x: Num<'_>) -> f64 {
    if x.is_double() { 1.0e18 } else { 1.0e9 }
}

/// log(1 + y), or where the mask is true log(2 x); x itself where it is infinite.
fn log_of_sum<'m>(y: Num<'m>, large: Num<'m>, x: Num<'m>) -> Num<'m> {
    let log = log1p_of(large.select(x, y)) + large.select(y.lit(consts::LN_2), 0.0);
    x.lt(f64::INFINITY).select(log, x)
}

/// Inverse hyperbolic sine.
pub(in crate::builtins) fn asinh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let s = magnitude * magnitude;
    let y = magnitude + s / ((s + 1.0).sqrt() + 1.0);
    let y = log_of_sum(y, magnitude.ge(large(x)), magnitude);
    let tiny = if x.is_double() { 1.0e-9 } else { 1.0e-4 };
    magnitude.lt(tiny).select(x, y.copysign(x))
}

/// Inverse hyperbolic cosine.
pub(in crate::builtins) fn acosh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let t = x - 1.0;
    // The square root of x^2 - 1 = t (t + 2).
    let y = t + t.fma(t, t + t).sqrt();
    let y = log_of_sum(y, x.ge(large(x)), x);
    let y = x.eq(1.0).select(x.lit(0.0), y);
    x.lt(1.0).select(x.lit(f64::NAN), y)
}

/// Inverse hyperbolic tangent.
pub(in crate::builtins) fn atanh<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let y = log1p_of((magnitude + magnitude) / (magnitude.lit(1.0) - magnitude)) * 0.5;
    let tiny = if x.is_double() { 1.0e-9 } else { 1.0e-4 };
    let y = magnitude.lt(tiny).select(x, y.copysign(x));
    let pole = magnitude.eq(1.0).select(x.lit(f64::INFINITY).copysign(x), f64::NAN);
    magnitude.lt(1.0).select(y, pole)
}
