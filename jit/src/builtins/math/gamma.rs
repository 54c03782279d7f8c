//! The gamma function and its logarithm, by Stirling's formula for w >= 4:
//! `log gamma(w) = (w - 1/2) log w - w + log(2 pi)/2 + L(1/w)/w`. Floats are computed in doubles, with fewer terms.

use std::f64::consts;

use clift_kir::Elem;

use super::coefficients as poly;
use super::exp::{exp_of, exp_of_pair_times};
use super::log::{log, log_of, log_pair};
use super::num::Num;
use super::trig::{reduce_pi, sine_pi};

/// The least argument for which Stirling's formula is used.
const LEAST: f64 = 4.0;

/// sin(pi x), and whether x is integral.
fn sine_of_multiple(x: Num<'_>) -> (Num<'_>, Num<'_>) {
    let (r, odd) = reduce_pi(x);
    let y = sine_pi(r);
    (odd.select(-y, y), r.eq(0.0))
}

/// The gamma function: NaN at negative integers.
pub(in crate::builtins) fn tgamma<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let double = x.is_double();
    let (sine, integral) = sine_of_multiple(x.to(Elem::F64));
    let y = gamma(x.to(Elem::F64), sine, double).to(x.ty().elem);
    let tiny = x.abs().lt(if double { 1.0e-17 } else { 1.0e-9 });
    let y = tiny.select(y.lit(1.0) / x, y);
    // Poles at negative integers; minus infinity counts as one.
    let pole = x.lt(-0.5) & (integral | x.abs().eq(f64::INFINITY));
    (pole | x.is_nan()).select(x.lit(f64::NAN), y)
}

/// The gamma function away from zero and its poles, given the sine of pi x. Arguments below one half use
/// `gamma(x) gamma(1 - x) = pi / sin(pi x)`; arguments below [`LEAST`] are increased by it, and the result is divided by the
/// product of the steps. With `full` accuracy, rounding errors are compensated.
fn gamma<'m>(x: Num<'m>, sine: Num<'m>, full: bool) -> Num<'m> {
    let reflected = x.lt(0.5);
    let y = reflected.select(x.lit(1.0) - x, x);
    let short = y.lt(LEAST);
    // Beyond 200 the result overflows or underflows.
    let w = short.select(y + LEAST, y).min(200.0);
    let product = short.select(y * (y + 1.0) * ((y + 2.0) * (y + 3.0)), 1.0);
    let half_pi_root = consts::FRAC_PI_2.sqrt();
    let factor = reflected.select(product * half_pi_root, 2.0 * half_pi_root) / reflected.select(sine, product);
    let v = w.lit(1.0) / w;
    let signed = |e: Num<'m>| reflected.select(-e, e);
    if !full {
        let exponent = (w - 0.5).fma(log_of(w), -w) + v * (v * v).poly(&poly::STIRLING_F32);
        return exp_of(signed(exponent)) * factor;
    }
    // The rounding errors of 1 - x and of the increase.
    let back = y - 1.0;
    let lost = reflected.select((x.lit(1.0) - (y - back)) - (x + back), 0.0);
    let lost = short.select(lost + (y - (w - LEAST)), lost);
    let [log, log_rest] = log_pair(w);
    let less = w - 0.5;
    let product = less * log;
    let product_rest = less.fma(log, -product) + less * log_rest;
    let exponent = product - w;
    let rest = ((product - exponent) - w) + product_rest + lost * log + v * (v * v).poly(&poly::STIRLING_F64);
    exp_of_pair_times(signed(exponent), signed(rest), factor)
}

/// The logarithm of the gamma function's magnitude. At negative arguments it is the difference of two logarithms, so the relative
/// error is large near its zeros; the specification sets no bound.
pub(in crate::builtins) fn lgamma<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0].to(Elem::F64);
    let magnitude = x.abs();
    let y = log_gamma(magnitude, args[0].is_double());
    let [y] = x.lt(0.0).cold_path([y], || {
        // gamma(-m) = -pi / (m sin(pi m) gamma(m))
        let (sine, integral) = sine_of_multiple(magnitude);
        let reflected = log(&[x.lit(consts::PI) / (magnitude * sine.abs())]) - y;
        let reflected = magnitude.lt(1.0e-20).select(y, reflected);
        let pole = integral | magnitude.eq(f64::INFINITY);
        [pole.select(x.lit(f64::INFINITY), reflected)]
    });
    y.to(args[0].ty().elem)
}

/// The logarithm of the gamma function for x >= 0: one approximation up to 1/2, one with the zeros at 1 and 2 factored out, and
/// Stirling's formula.
fn log_gamma(x: Num<'_>, full: bool) -> Num<'_> {
    let log = log(&[x]);
    let v = x.lit(1.0) / x;
    let (small, middle, stirling) = if full {
        (x.poly(&poly::LGAMMA_SMALL_F64), log.poly(&poly::LGAMMA_F64), (v * v).poly(&poly::STIRLING_F64))
    } else {
        (x.poly(&poly::LGAMMA_SMALL_F32), log.poly(&poly::LGAMMA_F32), (v * v).poly(&poly::STIRLING_F32))
    };
    let small = x.fma(small, -log);
    // Adding 0 makes zeros positive.
    let middle = ((x - 1.0) * (x - 2.0)).fma(middle, 0.0);
    // log(2 pi)/2 - 1/2
    let large = (x - 0.5).fma(log - 1.0, v.fma(stirling, 0.418_938_533_204_672_7));
    let y = x.lt(LEAST).select(middle, large);
    x.lt(0.5).select(small, y)
}

/// The sign of the gamma function as an `int`: 0 at its poles.
pub(in crate::builtins) fn sign<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let whole = magnitude.trunc();
    let half = whole * 0.5;
    let even = half.trunc().eq(half);
    let int = x.bits().resize(Elem::I32);
    let below = even.select(int.lit(-1), 1);
    let below = whole.eq(magnitude).select(int.lit(0), below);
    x.lt(0.0).select(below, x.eq(0.0).select(int.lit(0), 1))
}
