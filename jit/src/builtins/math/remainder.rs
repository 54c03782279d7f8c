//! Exact remainders.
//!
//! Usually the integral quotient is small enough for a float. A division with an error of up to one unit gives it, or one close
//! to it, and one fused multiply-add gives the remainder. If the remainder is in the valid range, it is correct: such a number
//! has no more digits than the operands, so that it was not rounded, and it is unique. In all other cases the remainder is
//! computed again in doubles, in a cold block: there one division is enough for quotients below 2^53, and larger ones are
//! reduced in steps.

use clift_kir::Elem;

use super::num::Num;

/// |x| modulo |y| as a double, |y|, and the low bits of the integral quotient.
struct Division<'m> {
    rest: Num<'m>,
    divisor: Num<'m>,
    quotient: Num<'m>,
}

/// One reduction step: subtracts the rounded quotient times the divisor, exactly (the difference is a multiple of the last
/// places of both, and less than one place of the quotient times the divisor). The difference may be negative.
fn step<'m>(rest: Num<'m>, divisor: Num<'m>, quotient: Num<'m>) -> (Num<'m>, Num<'m>) {
    let n = (rest / divisor).trunc();
    // The low eight bits.
    let low = (n * (1.0 / 256.0)).trunc().fma(-256.0, n);
    (n.fma(-divisor, rest), quotient + low)
}

/// All steps for quotients of doubles, which are below 2^2098. If the quotient overflows, the divisor is scaled by a power of two
/// first, which does not affect the low bits of the quotient.
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
        // Quotients of floats are below 2^277, and each step reduces them by 53 bits.
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

/// Selects the remainder's magnitude for special operands: |x| for infinite y; NaN for infinite x, y = 0 and NaN.
fn with_specials<'m>(x: Num<'m>, y: Num<'m>, rest: Num<'m>) -> Num<'m> {
    let rest = rest.to(x.ty().elem);
    let rest = y.abs().eq(f64::INFINITY).select(x.abs(), rest);
    undefined(x, y).select(x.lit(f64::NAN), rest)
}

fn undefined<'m>(x: Num<'m>, y: Num<'m>) -> Num<'m> {
    x.either_nan(y) | x.abs().eq(f64::INFINITY) | y.eq(0.0)
}

/// A number with its sign flipped where x is negative.
fn times_sign<'m>(y: Num<'m>, x: Num<'m>) -> Num<'m> {
    let sign = if x.is_double() { i64::MIN } else { i64::from(i32::MIN) };
    (y.bits() ^ (x.bits() & sign)).float()
}

/// Remainder with the sign of x.
pub(in crate::builtins) fn fmod<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (whole, divisor) = (x.abs(), y.abs());
    // The quotient is rounded up a little, so that it is not too small. If it is too large, the divisor is added again, exactly.
    let up = if x.is_double() { 1.0 + 2f64.powi(-51) } else { 1.0 + 2f64.powi(-22) };
    let quotient = (whole.div_estimate(divisor) * up).trunc();
    let rest = quotient.fma(-divisor, whole);
    let rest = rest.lt(0.0).select(rest + divisor, rest);
    // As unsigned integers, negative numbers and NaN are large.
    let special = rest.bits().uge(divisor.bits());
    let [rest] = special.cold_path_all([rest], || [with_specials(x, y, divide(x, y).rest)]);
    times_sign(rest, x)
}

/// |x| minus the nearest multiple of |y|, a mask of lanes where the multiple may be wrong, and the multiple.
fn near<'m>(x: Num<'m>, y: Num<'m>) -> (Num<'m>, Num<'m>, Num<'m>) {
    let (whole, divisor) = (x.abs(), y.abs());
    let quotient = whole.div_estimate(divisor).rint();
    let rest = quotient.fma(-divisor, whole);
    let size = rest.abs();
    (rest, !(size + size).lt(divisor), quotient)
}

/// IEEE remainder.
pub(in crate::builtins) fn remainder<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (rest, special, _) = near(x, y);
    let [rest] = special.cold_path_all([rest], || [with_specials(x, y, divide_nearest(x, y).rest)]);
    times_sign(rest, x)
}

/// The low seven bits of the quotient of [`remainder`], with its sign; 0 for operands without a quotient.
pub(in crate::builtins) fn quotient_bits<'m>(args: &[Num<'m>]) -> Num<'m> {
    let (x, y) = (args[0], args[1]);
    let (_, special, quotient) = near(x, y);
    let special = special | quotient.ge(2f64.powi(30));
    let [bits] = special.cold_path_all([quotient.to_i32() & 0x7f], || {
        let bits = divide_nearest(x, y).quotient.to_i32() & 0x7f;
        let none = undefined(x, y) | y.abs().eq(f64::INFINITY);
        [none.select(bits.lit(0), bits)]
    });
    let negative = (x.bits() ^ y.bits()).lt(0);
    negative.select(-bits, bits)
}
