//! Inverse trigonometric functions, also in units of pi.

use std::f64::consts;

use super::coefficients as poly;
use super::num::Num;

/// The unit of angles.
#[derive(Clone, Copy)]
enum AngleUnit {
    Radian,
    Pi,
}

impl AngleUnit {
    /// `quarters * pi/4 - angle`; the angle is given in this unit.
    fn quarters_less<'m>(self, quarters: f64, angle: Num<'m>) -> Num<'m> {
        match self {
            AngleUnit::Radian => {
                let (high, low) = if angle.is_double() {
                    (consts::PI, 1.2246467991473532e-16)
                } else {
                    (3.1415927410125732, -8.742277657347586e-8)
                };
                // The rounding error of the difference is added to the low part, for the accuracy that programs expect.
                let whole = angle.lit(quarters / 4.0 * high);
                let less = whole - angle;
                let rest = (whole - less) - angle;
                less + (rest + quarters / 4.0 * low)
            }
            AngleUnit::Pi => angle.lit(quarters / 4.0) - angle,
        }
    }

    /// Converts radians to this unit.
    fn of(self, radians: Num<'_>) -> Num<'_> {
        match self {
            AngleUnit::Radian => radians,
            AngleUnit::Pi => radians * consts::FRAC_1_PI,
        }
    }
}

/// atan(t) for 0 <= t <= 1. `is_one` is the mask of t = 1, for which the result in units of pi is exactly 1/4.
fn atan_small<'m>(t: Num<'m>, is_one: Num<'m>, unit: AngleUnit) -> Num<'m> {
    let s = t * t;
    let series: &[f64] = if t.is_double() { &poly::ATAN_F64 } else { &poly::ATAN_F32 };
    // The first coefficient is 1: t itself is added last, so that only one rounding error matters.
    let angle = unit.of((t * s).fma(s.poly(&series[1..]), t));
    match unit {
        AngleUnit::Radian => angle,
        AngleUnit::Pi => is_one.select(t.lit(0.25), angle),
    }
}

fn atan_in<'m>(x: Num<'m>, unit: AngleUnit) -> Num<'m> {
    let magnitude = x.abs();
    let outer = magnitude.gt(1.0);
    let inverse = x.lit(1.0) / magnitude;
    let angle = atan_small(outer.select(inverse, magnitude), magnitude.eq(1.0), unit);
    outer.select(unit.quarters_less(2.0, angle), angle).copysign(x)
}

fn atan2_in<'m>(y: Num<'m>, x: Num<'m>, unit: AngleUnit) -> Num<'m> {
    let (height, width) = (y.abs(), x.abs());
    let steep = height.gt(width);
    let (small, large) = (steep.select(width, height), steep.select(height, width));
    let equal = small.eq(large);
    let t = small / large;
    // Two zeros, two infinities, or NaN.
    let [t] = t.is_nan().cold_path([t], || {
        let t = equal.select(small.lit(1.0), t);
        [large.eq(0.0).select(small, t)]
    });
    let angle = atan_small(t, equal & large.gt(0.0), unit);
    let angle = steep.select(unit.quarters_less(2.0, angle), angle);
    x.bits().lt(0).select(unit.quarters_less(4.0, angle), angle).copysign(y)
}

/// Arc tangent.
pub(in crate::builtins) fn atan<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan_in(args[0], AngleUnit::Radian)
}

/// Arc tangent over pi.
pub(in crate::builtins) fn atanpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan_in(args[0], AngleUnit::Pi)
}

/// Arc tangent of a quotient: y, x.
pub(in crate::builtins) fn atan2<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan2_in(args[0], args[1], AngleUnit::Radian)
}

/// Arc tangent of a quotient over pi: y, x.
pub(in crate::builtins) fn atan2pi<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan2_in(args[0], args[1], AngleUnit::Pi)
}

/// For |x| <= 1/2 the arc sine of |x|, else that of sqrt((1 - |x|)/2), which is half the arc cosine of |x|; and a mask of the
/// latter case. NaN beyond 1.
fn asin_half(x: Num<'_>) -> (Num<'_>, Num<'_>) {
    let magnitude = x.abs();
    let outer = magnitude.gt(0.5);
    let s = outer.select((magnitude.lit(1.0) - magnitude) * 0.5, magnitude * magnitude);
    let t = outer.select(s.sqrt(), magnitude);
    let tail = if x.is_double() { s.poly(&poly::ASIN_F64) } else { s.poly(&poly::ASIN_F32) };
    ((t * s).fma(tail, t), outer)
}

fn asin_in<'m>(x: Num<'m>, unit: AngleUnit) -> Num<'m> {
    let (half, outer) = asin_half(x);
    let angle = unit.of(half);
    outer.select(unit.quarters_less(2.0, angle + angle), angle).copysign(x)
}

fn acos_in<'m>(x: Num<'m>, unit: AngleUnit) -> Num<'m> {
    let (half, outer) = asin_half(x);
    let angle = unit.of(half);
    let (twice, signed) = (angle + angle, angle.copysign(x));
    let outside = x.lt(0.0).select(unit.quarters_less(4.0, twice), twice);
    outer.select(outside, unit.quarters_less(2.0, signed))
}

/// Arc sine.
pub(in crate::builtins) fn asin<'m>(args: &[Num<'m>]) -> Num<'m> {
    asin_in(args[0], AngleUnit::Radian)
}

/// Arc sine over pi.
pub(in crate::builtins) fn asinpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    asin_in(args[0], AngleUnit::Pi)
}

/// Arc cosine.
pub(in crate::builtins) fn acos<'m>(args: &[Num<'m>]) -> Num<'m> {
    acos_in(args[0], AngleUnit::Radian)
}

/// Arc cosine over pi.
pub(in crate::builtins) fn acospi<'m>(args: &[Num<'m>]) -> Num<'m> {
    acos_in(args[0], AngleUnit::Pi)
}
