//! Cube root, reciprocal square root, hypotenuse, and multiplication by powers of two.

use clift_kir::Elem;

use super::coefficients as poly;
use super::log::{INTEGERS, INTEGERS_BITS, not_positive_normal, outside};
use super::num::Num;

/// Cube root; numbers that are not normal are handled in a cold block.
pub(in crate::builtins) fn cbrt<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let magnitude = x.abs();
    let [root] = not_positive_normal(magnitude).cold_path_all([cbrt_of_normal(magnitude)], || {
        // Scaled by a power of eight.
        let (least, lift, drop) = if x.is_double() {
            (f64::MIN_POSITIVE, 2f64.powi(54), 2f64.powi(-18))
        } else {
            (f64::from(f32::MIN_POSITIVE), 2f64.powi(24), 2f64.powi(-8))
        };
        let small = magnitude.lt(least);
        let root = cbrt_of_normal(small.select(magnitude * lift, magnitude));
        let root = small.select(root * drop, root);
        // Zeros, infinities and NaN are their own roots.
        let ordinary = magnitude.gt(0.0) & magnitude.lt(f64::INFINITY);
        [ordinary.select(root, magnitude)]
    });
    root.copysign(x)
}

/// Cube root of a positive normal number: the reciprocal root from an estimate and a polynomial of its error, then the root
/// with a final Newton step.
fn cbrt_of_normal<'m>(a: Num<'m>) -> Num<'m> {
    // Four thirds of the bias minus a third of the bits, with a correction that balances the errors on both sides.
    let guess = if a.is_double() {
        // Computed from the upper half, which is converted to a double by its bits.
        let upper = (a.bits().lshr(32) | INTEGERS_BITS).float();
        (upper.fma(-1.0 / 3.0, INTEGERS * (4.0 / 3.0) + 1_430_186_324.0).bits() << 32).float()
    } else {
        a.bits().to_float(Elem::F32).fma(-1.0 / 3.0, 1_419_900_236.0).to_i32().float()
    };
    // The error of an estimate y: 1 - a y^3.
    let left = |y: Num<'m>| (a * y).fma(-(y * y), 1.0);
    let e = left(guess);
    let inverse = if a.is_double() {
        let y = guess * e.poly(&poly::CBRT_F64);
        (y * left(y)).fma(1.0 / 3.0, y)
    } else {
        guess * e.poly(&poly::CBRT_F32)
    };
    let square = inverse * inverse;
    let root = a * square;
    (root * root).fma(-root, a).fma(square * (1.0 / 3.0), root)
}

/// Reciprocal of the square root.
pub(in crate::builtins) fn rsqrt<'m>(args: &[Num<'m>]) -> Num<'m> {
    args[0].rsqrt_estimate()
}

/// Square root of the sum of squares; infinite if either operand is. Sums that may have overflowed or lost bits are handled in a
/// cold block.
pub(in crate::builtins) fn hypot<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let sum = x.fma(x, y * y);
    let special = if x.is_double() {
        outside(sum.bits(), 63 << 52, 0x7ff << 52)
    } else {
        outside(sum.bits(), 27 << 23, 0xff << 23)
    };
    let [length] = special.cold_path([sum.sqrt_estimate()], || [any_hypot(x, y)]);
    length
}

fn any_hypot<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    let length = if x.is_double() {
        let largest = x.abs().max(y.abs());
        let (up, down) = (2f64.powi(600), 2f64.powi(-600));
        let (huge, tiny) = (largest.gt(2f64.powi(500)), largest.lt(2f64.powi(-400)));
        let scale = huge.select(x.lit(down), tiny.select(x.lit(up), 1.0));
        let back = huge.select(x.lit(up), tiny.select(x.lit(down), 1.0));
        let (x, y) = (x * scale, y * scale);
        x.fma(x, y * y).sqrt() * back
    } else {
        let (x, y) = (x.to(Elem::F64), y.to(Elem::F64));
        x.fma(x, y * y).sqrt().to(Elem::F32)
    };
    let infinite = x.abs().eq(f64::INFINITY) | y.abs().eq(f64::INFINITY);
    infinite.select(x.lit(f64::INFINITY), length)
}

/// x * 2^n, rounded once, as a product with three powers of two. The last factor is as large or small as possible, so that the
/// products before it are exact, or the result overflows or underflows anyway.
pub(in crate::builtins) fn ldexp<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, n) = (args[0], args[1]);
    let (limit, least, most, bias, bits) =
        if x.is_double() { (2100, -1022, 1023, 1023, 52) } else { (280, -126, 127, 127, 23) };
    let clamp = |n: Num<'m>, least: i64, most: i64| {
        let n = n.gt(most).select(n.lit(most), n);
        n.lt(least).select(n.lit(least), n)
    };
    let power = |n: Num<'m>| {
        let field = n + bias;
        (if x.is_double() { field.resize(Elem::I64) << bits } else { field << bits }).float()
    };
    // Beyond these every result is zero or infinite.
    let n = clamp(n, -limit, limit);
    let last = clamp(n, least, most);
    let rest = n - last;
    let half = rest.ashr(1);
    x * power(half) * power(rest - half) * power(last)
}
