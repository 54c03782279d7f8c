//! The error function and its complement.
//!
//! Both use `erfc(x) = exp(-x^2) g(x)` for x >= 0, where g is smooth: `(x + K) g(x)` is approximated by a polynomial of
//! `(x - K) / (x + K)`, which maps the half line to an interval. The error function is a polynomial up to 1. Beyond, it is one
//! minus a complement that needs fewer digits, so a shorter approximation is enough.

use super::coefficients as poly;
use super::exp::{exp_of, exp_of_normal};
use super::num::Num;

/// erfc(x) for x >= 0, up to where it underflows.
fn erfc_positive(x: Num<'_>) -> Num<'_> {
    let middle = if x.is_double() { 4.0 } else { 2.0 };
    let q = x.lit(1.0) / (x + middle);
    let t = q.fma(-2.0 * middle, 1.0);
    let g = q * if x.is_double() { t.poly(&poly::ERFC_F64) } else { t.poly(&poly::ERFC_F32) };
    // The square as the sum of two: the exponential multiplies its error by up to 750.
    let square = x * x;
    let rest = x.fma(x, -square);
    let y = exp_of(-square) * g;
    y.fma(-rest, y)
}

/// erfc(x) for doubles from 1 to 6, to 50 bits.
fn erfc_rough(x: Num<'_>) -> Num<'_> {
    let q = x.lit(1.0) / (x + 4.0);
    let t = q.fma(-8.0, 1.0);
    exp_of_normal(-(x * x)) * (q * t.poly(&poly::ERFC_ROUGH_F64))
}

/// The complementary error function.
pub(in crate::builtins) fn erfc<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let y = erfc_positive(x.abs().min(if x.is_double() { 27.3 } else { 10.1 }));
    let y = x.lt(0.0).select(y.lit(2.0) - y, y);
    x.is_nan().select(x, y)
}

/// The error function.
pub(in crate::builtins) fn erf<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let square = x * x;
    let (small, large) = if x.is_double() {
        (square.poly(&poly::ERF_F64), erfc_rough(magnitude.min(6.0)))
    } else {
        (square.poly(&poly::ERF_F32), exp_of_normal(-magnitude.min(4.0).poly(&poly::ERFC_LOG_F32)))
    };
    let large = large.lit(1.0) - large;
    magnitude.gt(1.0).select(large.copysign(x), x * small)
}
