//! Sine, cosine and tangent. Radians are reduced to half a period in three steps (Cody and Waite), huge arguments in a cold
//! block; multiples of pi are reduced exactly.
//!
//! Sine and cosine are reduced by multiples of pi, not pi/2: one polynomial is enough for both, without selections. `sincos`, and
//! a sine and a cosine of the same angle, share a reduction by pi/2 and select between two polynomials.

use clift_kir::{Elem, LibFn};

use super::coefficients as poly;
use super::num::{MathFunction, Num};
use crate::builtins::ClOp;
use crate::builtins::table::Math;

/// The constants of the reduction for a format.
struct ReductionConstants {
    /// 1.5 times the number from which on all floats are integers. Adding it rounds to an integer, whose parity is the last bit.
    magic: f64,
    /// Pi in three parts, each rounded down, so that products with them do not change the sign of a zero. The first difference
    /// `x - j * PI[0]` is exact where it matters: x and the product are multiples of a common unit, and the difference is a small
    /// multiple of it.
    pi: [f64; 3],
    /// The magnitude beyond which the three parts are not accurate enough.
    huge: f64,
    sign_shift: u32,
}

const F32: ReductionConstants = ReductionConstants {
    magic: 12_582_912.0,
    pi: [3.141592502593994, 1.5099578831723193e-7, 1.078060505991553e-14],
    huge: 100_000.0,
    sign_shift: 31,
};

const F64: ReductionConstants = ReductionConstants {
    magic: 6_755_399_441_055_744.0,
    pi: [std::f64::consts::PI, 1.224646799147353e-16, 2.1657133478438278e-32],
    huge: 1.0e9,
    sign_shift: 63,
};

fn format(x: Num<'_>) -> &'static ReductionConstants {
    if x.is_double() { &F64 } else { &F32 }
}

/// An angle minus a multiple of the period.
struct Reduced<'m> {
    /// The difference.
    r: Num<'m>,
    /// A float whose last bit is the parity of the multiple.
    parity: Num<'m>,
}

/// The multiples to subtract.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Period {
    /// n pi; the difference is x - n pi.
    Sine,
    /// (n + 1/2) pi; the difference is (n + 1/2) pi - x.
    Cosine,
    /// n pi/2; the difference is x - n pi/2.
    Tangent,
}

/// Subtracts a multiple of `period` from numbers below [`ReductionConstants::huge`].
fn reduce_small<'m>(x: Num<'m>, period: Period, parts: usize) -> Reduced<'m> {
    let format = format(x);
    let per_unit = if period == Period::Tangent { std::f64::consts::FRAC_2_PI } else { std::f64::consts::FRAC_1_PI };
    let parity =
        if period == Period::Cosine { x.fma(per_unit, -0.5) + format.magic } else { x.fma(per_unit, format.magic) };
    let n = parity - format.magic;
    let (mut r, times) = match period {
        Period::Sine => (x, n),
        Period::Cosine => (-x, n + 0.5),
        Period::Tangent => (x, n),
    };
    for part in &format.pi[..parts] {
        let part = match period {
            Period::Sine => -part,
            Period::Cosine => *part,
            Period::Tangent => -0.5 * part,
        };
        r = times.fma(part, r);
    }
    Reduced { r, parity }
}

/// A mask of the numbers for which [`reduce_small`] is not accurate.
fn huge(x: Num<'_>) -> Num<'_> {
    x.abs().gt(format(x).huge)
}

/// Bits of 1/pi in pieces of 28.
const INVERSE_PI: [f64; 7] = [85445659.0, 120005130.0, 156229946.0, 199817882.0, 116262619.0, 21679262.0, 35422735.0];

/// Subtracts a multiple of `period` from floats of any size (Payne and Hanek). Of the product of x and 1/pi, only the pieces that
/// are neither multiples of 2 nor negligible are computed, in doubles, where each is exact (24 bits by 28).
fn reduce_huge<'m>(x: Num<'m>, period: Period) -> Reduced<'m> {
    let wide = x.to(Elem::F64);
    let magnitude = x.abs();
    // From these magnitudes on the product with the first pieces is a multiple of 2.
    let skip: [Num<'m>; 3] = std::array::from_fn(|k| magnitude.ge(2f64.powi(52 + 28 * k as i32)));
    let product = |i: usize| {
        let scaled = |k: usize| INVERSE_PI[k] * 2f64.powi(-28 * (k as i32 + 1));
        let mut piece = wide.lit(scaled(i));
        for (k, &skip) in skip.iter().enumerate() {
            piece = skip.select(wide.lit(scaled(i + k + 1)), piece);
        }
        wide * piece
    };
    // Modulo 2, exactly.
    let modulo = |y: Num<'m>| (y * 0.5).rint().fma(-2.0, y);
    let (mut y0, mut y1) = (modulo(product(0)), modulo(product(1)));
    let mut rest = product(2) + product(3);
    match period {
        Period::Sine => {}
        Period::Cosine => y0 = y0 + 0.5,
        Period::Tangent => (y0, y1, rest) = (y0 + y0, y1 + y1, rest + rest),
    }
    let n = (y0 + y1 + rest).rint();
    let fraction = ((y0 - n) + y1) + rest;
    let unit = if period == Period::Tangent { std::f64::consts::FRAC_PI_2 } else { std::f64::consts::PI };
    Reduced { r: (fraction * unit).to(Elem::F32), parity: n.to(Elem::F32) + F32.magic }
}

/// sin(r) for |r| up to a little more than pi/2.
fn sine(r: Num<'_>) -> Num<'_> {
    let s = r * r;
    // The first coefficient is 1, so the product keeps the sign of a zero. Rounding errors may take it beyond 1.
    let y = r * if r.is_double() { s.poly(&poly::SIN_F64) } else { s.poly(&poly::SIN_F32) };
    y.clamp_keeping_nan(-1.0, 1.0)
}

/// The value with its sign changed where the parity is odd.
fn signed<'m>(y: Num<'m>, parity: Num<'m>) -> Num<'m> {
    (y.bits() ^ (parity.bits() << format(y).sign_shift)).float()
}

/// A function of a reduced argument. Huge arguments are handled in a cold block. Floats have a reduction for them; for doubles
/// the library function is called lane by lane, because a reduction in kernel IR would have to select among some fifty pieces
/// of 1/pi.
fn function<'m>(x: Num<'m>, period: Period, library: LibFn, of: impl Fn(Reduced<'m>) -> Num<'m>) -> Num<'m> {
    let usual = || of(reduce_small(x, period, 3));
    let [y] = huge(x).cold_path_all([usual()], || {
        let far = if x.is_double() { x.library(library) } else { of(reduce_huge(x, period)) };
        [huge(x).select(far, usual())]
    });
    y
}

fn sine_of(Reduced { r, parity }: Reduced<'_>) -> Num<'_> {
    signed(sine(r), parity)
}

/// Sine.
pub(in crate::builtins) fn sin<'m>(args: &[Num<'m>]) -> Num<'m> {
    function(args[0], Period::Sine, LibFn::Sin, sine_of)
}

/// Cosine.
pub(in crate::builtins) fn cos<'m>(args: &[Num<'m>]) -> Num<'m> {
    function(args[0], Period::Cosine, LibFn::Cos, sine_of)
}

/// Sine and cosine: by a reduction to a quarter of a period and one polynomial for each.
pub(in crate::builtins) fn sincos<'m>(args: &[Num<'m>]) -> [Num<'m>; 2] {
    let x = args[0];
    let usual = || sincos_of(reduce_small(x, Period::Tangent, 3));
    huge(x).cold_path_all(usual(), || {
        let far = if x.is_double() {
            [x.library(LibFn::Sin), x.library(LibFn::Cos)]
        } else {
            sincos_of(reduce_huge(x, Period::Tangent))
        };
        let [sine, cosine] = usual();
        [huge(x).select(far[0], sine), huge(x).select(far[1], cosine)]
    })
}

fn sincos_of<'m>(Reduced { r, parity }: Reduced<'m>) -> [Num<'m>; 2] {
    let s = r * r;
    // The first coefficient is 1, so the product keeps the sign of a zero.
    let (sine, cosine) = if r.is_double() {
        (r * s.poly(&poly::SIN_SHORT_F64), s.poly(&poly::COS_SHORT_F64))
    } else {
        (r * s.poly(&poly::SIN_SHORT_F32), s.poly(&poly::COS_SHORT_F32))
    };
    let quarters = parity.bits();
    let odd = (quarters & 1).ne(0);
    // The second bit is the sign of the sine. After adding one to the quarters it is the sign of the cosine.
    let sign = if r.is_double() { i64::MIN } else { i64::from(i32::MIN) };
    let shift = format(r).sign_shift - 1;
    let with = |y: Num<'m>, quarters: Num<'m>| (y.bits() ^ ((quarters << shift) & sign)).float();
    [with(odd.select(cosine, sine), quarters), with(odd.select(sine, cosine), quarters + 1)]
}

/// The implementation of a sine or cosine of which most is that of the other one of the same angle; other functions stay.
pub(in crate::builtins) fn paired(op: ClOp, math: Math) -> Math {
    let (full, fast): (MathFunction, MathFunction) = if matches!(op, ClOp::sin | ClOp::half_sin | ClOp::native_sin) {
        (|args| sincos(args)[0], |args| sincos_fast(args)[0])
    } else if matches!(op, ClOp::cos | ClOp::half_cos | ClOp::native_cos) {
        (|args| sincos(args)[1], |args| sincos_fast(args)[1])
    } else {
        return math;
    };
    let is_exact = matches!(op, ClOp::sin | ClOp::cos);
    Math { full: if is_exact { full } else { fast }, fast, double: math.double.map(|_| full) }
}

/// Tangent.
pub(in crate::builtins) fn tan<'m>(args: &[Num<'m>]) -> Num<'m> {
    function(args[0], Period::Tangent, LibFn::Tan, tan_of)
}

fn tan_of(Reduced { r, parity }: Reduced<'_>) -> Num<'_> {
    let s = r * r;
    let t = r * if r.is_double() { s.poly(&poly::TAN_F64) } else { s.poly(&poly::TAN_F32) };
    let odd = (parity.bits() & 1).ne(0);
    // tan(r + pi/2) = -1 / tan(r).
    odd.select(t.lit(-1.0), t) / odd.select(t, 1.0)
}

/// An argument in units of pi minus the nearest integer, and a mask of odd integers.
pub(super) fn reduce_pi(x: Num<'_>) -> (Num<'_>, Num<'_>) {
    let n = x.rint();
    // Numbers too large to have a bit for the parity are even.
    let half = n * 0.5;
    (x - n, half.rint().ne(half))
}

/// sin(pi r) for |r| up to 1/2.
pub(super) fn sine_pi(r: Num<'_>) -> Num<'_> {
    let s = r * r;
    let y = r * if r.is_double() { s.poly(&poly::SINPI_F64) } else { s.poly(&poly::SINPI_F32) };
    y.clamp_keeping_nan(-1.0, 1.0)
}

/// sin(pi x); integers give a zero with the sign of x.
pub(in crate::builtins) fn sinpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let (r, odd) = reduce_pi(x);
    let y = sine_pi(r);
    let y = odd.select(-y, y);
    r.eq(0.0).select(y.abs().copysign(x), y)
}

/// cos(pi x); odd multiples of one half give +0.
pub(in crate::builtins) fn cospi<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (r, odd) = reduce_pi(args[0]);
    let y = sine_pi(r.lit(0.5) - r.abs());
    odd.select(-y, y) + 0.0
}

/// tan(pi x): copysign(0, x) for even integers, copysign(0, -x) for odd ones; +inf for n + 1/2 with even n, -inf with odd n,
/// which is the sign of the reduced argument, as halves are rounded to even.
pub(in crate::builtins) fn tanpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let (r, odd) = reduce_pi(x);
    // Beyond a quarter, the cotangent of the difference to one half.
    let outer = r.abs().gt(0.25);
    let near = outer.select(r.lit(0.5) - r.abs(), r.abs());
    let s = near * near;
    let t = near * if s.is_double() { s.poly(&poly::TANPI_F64) } else { s.poly(&poly::TANPI_F32) };
    let y = outer.select(t.lit(1.0), t) / outer.select(t, 1.0);
    let y = y.copysign(r);
    let zero = odd.select(-x, x);
    r.eq(0.0).select(y.abs().copysign(zero), y)
}

// -- fast variants for floats: arguments up to 2^16 --

fn sine_fast(Reduced { r, parity }: Reduced<'_>) -> Num<'_> {
    // Beyond the range of the reduction the result is arbitrary between -1 and 1; NaN is kept.
    let r = r.clamp_keeping_nan(-2.0, 2.0);
    signed(r * (r * r).poly(&poly::SIN_FAST), parity)
}

/// Sine to 20 bits.
pub(in crate::builtins) fn sin_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    sine_fast(reduce_small(args[0], Period::Sine, 2))
}

/// Cosine to 20 bits.
pub(in crate::builtins) fn cos_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    sine_fast(reduce_small(args[0], Period::Cosine, 2))
}

/// Sine and cosine to 20 bits.
fn sincos_fast<'m>(args: &[Num<'m>]) -> [Num<'m>; 2] {
    let Reduced { r, parity } = reduce_small(args[0], Period::Tangent, 2);
    // As in `sine_fast`.
    sincos_of(Reduced { r: r.clamp_keeping_nan(-1.0, 1.0), parity })
}

/// Tangent to 20 bits.
pub(in crate::builtins) fn tan_fast<'m>(args: &[Num<'m>]) -> Num<'m> {
    tan_of(reduce_small(args[0], Period::Tangent, 2))
}
