//! Cube root, hypotenuse, and multiplication by powers of two.

use clift_kir::Elem;

use super::num::Num;

/// Cube root: a guess from the exponent, improved by Halley's method, and a last step by Newton's whose residue is exact.
pub(in crate::builtins) fn cbrt<'m>(args: &[Num<'m>]) -> Num<'m> {
    let x = args[0];
    let double = x.is_double();
    let magnitude = x.abs();
    // Scaled by a power of eight, so that nothing is subnormal and nothing overflows.
    let (lift, drop) = if double { (2f64.powi(54), 2f64.powi(-18)) } else { (2f64.powi(24), 2f64.powi(-8)) };
    let small = magnitude.lt(1.0);
    let a = magnitude * small.select(x.lit(lift), 0.125);
    // A third of the bits and two thirds of the bias, less what makes the errors on both sides equal: within 1/27.
    let guess = if double {
        let third = (a.bits().lshr(32).resize(Elem::I32).to_float(Elem::F64) * (1.0 / 3.0)).to_i32();
        ((third + 715_094_163).resize(Elem::I64) << 32).float()
    } else {
        ((a.bits().to_float(Elem::F32) * (1.0 / 3.0)).to_i32() + 709_958_130).float()
    };
    let mut t = guess;
    for _ in 0..if double { 2 } else { 1 } {
        let cube = t * t * t;
        t = t * ((cube + (a + a)) / ((cube + cube) + a));
    }
    let square = t * t;
    let cube = square * t;
    let rest = square.fma(t, -cube) + t.fma(t, -square) * t;
    let root = t + ((a - cube) - rest) / (square * 3.0);
    let root = root * small.select(x.lit(drop), 2.0);
    // Zeros, infinities and NaN are their own roots.
    let ordinary = magnitude.gt(0.0) & magnitude.lt(f64::INFINITY);
    ordinary.select(root.copysign(x), x)
}

/// Square root of the sum of squares, without overflow in between; infinite if either is.
pub(in crate::builtins) fn hypot<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let length = if x.is_double() {
        let largest = x.abs().max(y.abs());
        let (up, down) = (2f64.powi(600), 2f64.powi(-600));
        let (huge, tiny) = (largest.gt(2f64.powi(500)), largest.lt(2f64.powi(-500)));
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

/// x * 2^n, rounded once: the last of three factors does all that one can, so that what comes before it is exact, or so far beyond
/// the range that it does not count.
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
