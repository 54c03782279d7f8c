//! Inverse trigonometric functions, also in units of pi.

use std::f64::consts;

use super::coefficients as poly;
use super::num::Num;

/// What an angle is measured in: the constant parts of results, in two pieces where one is not exact.
#[derive(Clone, Copy)]
enum Unit {
    Radian,
    Pi,
}

impl Unit {
    /// `quarters * pi/4 - angle`; the angle is in this unit already.
    fn quarters_less<'m>(self, quarters: f64, angle: Num<'m>) -> Num<'m> {
        match self {
            Unit::Radian => {
                let (high, low) = if angle.is_double() {
                    (consts::PI, 1.2246467991473532e-16)
                } else {
                    (3.1415927410125732, -8.742277657347586e-8)
                };
                // What the difference rounded away goes with the low part: programs expect the last place.
                let whole = angle.lit(quarters / 4.0 * high);
                let less = whole - angle;
                let rest = (whole - less) - angle;
                less + (rest + quarters / 4.0 * low)
            }
            Unit::Pi => angle.lit(quarters / 4.0) - angle,
        }
    }

    /// An angle in radians in this unit.
    fn of(self, radians: Num<'_>) -> Num<'_> {
        match self {
            Unit::Radian => radians,
            Unit::Pi => radians * consts::FRAC_1_PI,
        }
    }
}

/// atan(t) for 0 <= t <= 1, and a mask of one: it gives an eighth of the circle, exactly in units of pi.
fn atan_small<'m>(t: Num<'m>, is_one: Num<'m>, unit: Unit) -> Num<'m> {
    let s = t * t;
    let series: &[f64] = if t.is_double() { &poly::ATAN_F64 } else { &poly::ATAN_F32 };
    // The first coefficient is one: t itself is added last, which leaves but one rounding.
    let angle = unit.of((t * s).fma(s.poly(&series[1..]), t));
    match unit {
        Unit::Radian => angle,
        Unit::Pi => is_one.select(t.lit(0.25), angle),
    }
}

fn atan_in<'m>(x: Num<'m>, unit: Unit) -> Num<'m> {
    let magnitude = x.abs();
    let outer = magnitude.gt(1.0);
    let inverse = x.lit(1.0) / magnitude;
    let angle = atan_small(outer.select(inverse, magnitude), magnitude.eq(1.0), unit);
    outer.select(unit.quarters_less(2.0, angle), angle).copysign(x)
}

fn atan2_in<'m>(y: Num<'m>, x: Num<'m>, unit: Unit) -> Num<'m> {
    let (height, width) = (y.abs(), x.abs());
    let steep = height.gt(width);
    let (small, large) = (steep.select(width, height), steep.select(height, width));
    let equal = small.eq(large);
    let t = small / large;
    // Of two zeros, infinities, or NaN.
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
    atan_in(args[0], Unit::Radian)
}

/// Arc tangent over pi.
pub(in crate::builtins) fn atanpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan_in(args[0], Unit::Pi)
}

/// Arc tangent of a quotient: y, x.
pub(in crate::builtins) fn atan2<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan2_in(args[0], args[1], Unit::Radian)
}

/// Arc tangent of a quotient over pi: y, x.
pub(in crate::builtins) fn atan2pi<'m>(args: &[Num<'m>]) -> Num<'m> {
    atan2_in(args[0], args[1], Unit::Pi)
}

/// For |x| <= 1/2 the arc sine of |x|, else that of sqrt((1 - |x|)/2), which is half of what is left to a right angle; and a mask
/// of the latter. NaN beyond 1.
fn asin_half(x: Num<'_>) -> (Num<'_>, Num<'_>) {
    let magnitude = x.abs();
    let outer = magnitude.gt(0.5);
    let s = outer.select((magnitude.lit(1.0) - magnitude) * 0.5, magnitude * magnitude);
    let t = outer.select(s.sqrt(), magnitude);
    let tail = if x.is_double() { s.poly(&poly::ASIN_F64) } else { s.poly(&poly::ASIN_F32) };
    ((t * s).fma(tail, t), outer)
}

fn asin_in<'m>(x: Num<'m>, unit: Unit) -> Num<'m> {
    let (half, outer) = asin_half(x);
    let angle = unit.of(half);
    outer.select(unit.quarters_less(2.0, angle + angle), angle).copysign(x)
}

fn acos_in<'m>(x: Num<'m>, unit: Unit) -> Num<'m> {
    let (half, outer) = asin_half(x);
    let angle = unit.of(half);
    let (twice, signed) = (angle + angle, angle.copysign(x));
    let outside = x.lt(0.0).select(unit.quarters_less(4.0, twice), twice);
    outer.select(outside, unit.quarters_less(2.0, signed))
}

/// Arc sine.
pub(in crate::builtins) fn asin<'m>(args: &[Num<'m>]) -> Num<'m> {
    asin_in(args[0], Unit::Radian)
}

/// Arc sine over pi.
pub(in crate::builtins) fn asinpi<'m>(args: &[Num<'m>]) -> Num<'m> {
    asin_in(args[0], Unit::Pi)
}

/// Arc cosine.
pub(in crate::builtins) fn acos<'m>(args: &[Num<'m>]) -> Num<'m> {
    acos_in(args[0], Unit::Radian)
}

/// Arc cosine over pi.
pub(in crate::builtins) fn acospi<'m>(args: &[Num<'m>]) -> Num<'m> {
    acos_in(args[0], Unit::Pi)
}
