//! Remainders, exact.
//!
//! Usually the integral quotient is short, and a float holds it. A division that may be off by one unit finds it, or one close to
//! it; what is left is computed with one rounding. That it lies in the remainder's range proves both: such a number has no more
//! digits than the operands, so that nothing was rounded, and there is only one. Whatever else comes out is rare, and done again
//! in doubles: there a quotient below 2^53 is found by one division, and larger ones are taken off in pieces.

use clift_kir::Elem;

use super::num::Num;

/// |x| modulo |y| as a double, and the low bits of the integral quotient.
struct Division<'m> {
    rest: Num<'m>,
    divisor: Num<'m>,
    quotient: Num<'m>,
}

/// One step: takes off the multiple of the divisor that the rounded quotient says, exactly (what is left is a multiple of the last
/// places of both, and less than one place of the quotient times the divisor). It may be less than zero.
fn step<'m>(rest: Num<'m>, divisor: Num<'m>, quotient: Num<'m>) -> (Num<'m>, Num<'m>) {
    let n = (rest / divisor).trunc();
    // The low eight bits.
    let low = (n * (1.0 / 256.0)).trunc().fma(-256.0, n);
    (n.fma(-divisor, rest), quotient + low)
}

/// All steps for quotients of doubles, which are below 2^2098. From those that overflow a multiple of a power of two is taken off
/// first, which does not change the low bits.
fn steps<'m>(x: Num<'m>, divisor: Num<'m>) -> [Num<'m>; 2] {
    Num::repeat([x, x.lit(0.0)], |[rest, quotient]| {
        let (up, down) = (2f64.powi(700), 2f64.powi(-700));
        let once = rest.abs() * down;
        let (far, further) = (once.gt(divisor), (once * down).gt(divisor));
        let multiple = far.select(divisor * up, divisor);
        let multiple = further.select(multiple * up, multiple);
        let (next, more) = step(rest, multiple, quotient);
        (next.abs().ge(divisor), [next, far.select(quotient, more)])
    })
}

fn divide<'m>(x: Num<'m>, y: Num<'m>) -> Division<'m> {
    let double = x.is_double();
    let (x, divisor) = (x.abs().to(Elem::F64), y.abs().to(Elem::F64));
    let large = (x / divisor).ge(9_007_199_254_740_992.0);
    let (rest, quotient) = step(x, divisor, x.lit(0.0));
    let [rest, quotient] = large.cold_path([rest, quotient], || {
        if double {
            return steps(x, divisor);
        }
        // Quotients of floats are below 2^277: 53 bits each time.
        let (mut rest, mut quotient) = (rest, quotient);
        for _ in 0..5 {
            (rest, quotient) = step(rest, divisor, quotient);
        }
        [rest, quotient]
    });
    let below = rest.lt(0.0);
    Division { rest: below.select(rest + divisor, rest), divisor, quotient: below.select(quotient - 1.0, quotient) }
}

/// As [`divide`], with the quotient rounded to nearest even.
fn divide_nearest<'m>(x: Num<'m>, y: Num<'m>) -> Division<'m> {
    let Division { rest, divisor, quotient } = divide(x, y);
    let twice = rest + rest;
    let half = quotient * 0.5;
    let odd = half.trunc().ne(half);
    let up = twice.gt(divisor) | (twice.eq(divisor) & odd);
    Division { rest: up.select(rest - divisor, rest), divisor, quotient: up.select(quotient + 1.0, quotient) }
}

/// A remainder's magnitude, with the cases that have no quotient: that of x for infinite y; NaN for infinite x, y = 0, NaN.
fn with_specials<'m>(x: Num<'m>, y: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let rest = rest.to(x.ty().elem);
    let rest = y.abs().eq(f64::INFINITY).select(x.abs(), rest);
    undefined(x, y).select(x.lit(f64::NAN), rest)
}

fn undefined<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    x.unordered(y) | x.abs().eq(f64::INFINITY) | y.eq(0.0)
}

/// A number with its sign changed where x has one.
fn times_sign<'m>(y: Num<'m>, x: Num<'m>) -> Num<'m> {
    let sign = if x.is_double() { i64::MIN } else { i64::from(i32::MIN) };
    (y.bits() ^ (x.bits() & sign)).float()
}

/// Remainder with the sign of x.
pub(in crate::builtins) fn fmod<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (whole, divisor) = (x.abs(), y.abs());
    // A quotient that is not too small: of one too large the divisor is added again, exactly.
    let up = if x.is_double() { 1.0 + 2f64.powi(-51) } else { 1.0 + 2f64.powi(-22) };
    let quotient = (whole.over(divisor) * up).trunc();
    let rest = quotient.fma(-divisor, whole);
    let rest = rest.lt(0.0).select(rest + divisor, rest);
    // Negative numbers and NaN have large bits.
    let rare = rest.bits().not_below(divisor.bits());
    let [rest] = rare.cold_path_all([rest], || [with_specials(x, y, divide(x, y).rest)]);
    times_sign(rest, x)
}

/// |x| less the nearest multiple of |y|, if that is close enough to be certain, else a mask; and the multiple.
fn near<'m>(x: Num<'m>, y: Num<'m>) -> (Num<'m>, Num<'m>, Num<'m>) {
    let (whole, divisor) = (x.abs(), y.abs());
    let quotient = whole.over(divisor).rint();
    let rest = quotient.fma(-divisor, whole);
    let size = rest.abs();
    (rest, !(size + size).lt(divisor), quotient)
}

/// IEEE remainder.
pub(in crate::builtins) fn remainder<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (rest, rare, _) = near(x, y);
    let [rest] = rare.cold_path_all([rest], || [with_specials(x, y, divide_nearest(x, y).rest)]);
    times_sign(rest, x)
}

/// The low seven bits of the quotient of [`remainder`], with its sign; 0 where there is none.
pub(in crate::builtins) fn quotient_bits<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (_, rare, quotient) = near(x, y);
    let rare = rare | quotient.ge(2f64.powi(30));
    let [bits] = rare.cold_path_all([quotient.to_i32() & 0x7f], || {
        let bits = divide_nearest(x, y).quotient.to_i32() & 0x7f;
        let none = undefined(x, y) | y.abs().eq(f64::INFINITY);
        [none.select(bits.lit(0), bits)]
    });
    let negative = (x.bits() ^ y.bits()).lt(0);
    negative.select(-bits, bits)
}
