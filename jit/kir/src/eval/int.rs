//! Integer and Boolean meanings.

use super::LaneCx;
use crate::inst::{Imm, IntCond};
use crate::types::Elem;

/// The lane as a signed number.
pub fn signed(elem: Elem, bits: u64) -> i64 {
    let shift = 64 - elem.bits();
    ((bits << shift) as i64) >> shift
}

/// The number's low bits as a lane.
pub fn wrap(elem: Elem, value: i128) -> u64 {
    value as u64 & elem.mask()
}

/// Smallest and largest signed value of an element.
pub fn signed_range(elem: Elem) -> (i128, i128) {
    let half = 1i128 << (elem.bits() - 1);
    (-half, half - 1)
}

fn s(cx: &LaneCx<'_>, bits: u64) -> i128 {
    i128::from(signed(cx.src, bits))
}

fn u(bits: u64) -> i128 {
    i128::from(bits)
}

fn count(cx: &LaneCx<'_>, bits: u64) -> u32 {
    (bits % u64::from(cx.src.bits())) as u32
}

macro_rules! meanings {
    ($($name:ident |$cx:ident, $a:ident $(, $b:ident)?| $body:expr;)+) => {
        $(
            #[doc = concat!("Meaning of `", stringify!($name), "`.")]
            pub fn $name($cx: &LaneCx<'_>, args: &[u64]) -> u64 {
                meanings!(@bind args $a $($b)?);
                let value: i128 = $body;
                wrap($cx.dst, value)
            }
        )+
    };
    (@bind $args:ident $a:ident) => { let $a = $args[0]; };
    (@bind $args:ident $a:ident $b:ident) => { let ($a, $b) = ($args[0], $args[1]); };
}

meanings! {
    add |cx, a, b| u(a) + u(b);
    sub |cx, a, b| u(a) - u(b);
    mul |cx, a, b| u(a.wrapping_mul(b));
    umulh |cx, a, b| ((u128::from(a) * u128::from(b)) >> cx.src.bits()) as i128;
    smulh |cx, a, b| (s(cx, a) * s(cx, b)) >> cx.src.bits();
    udiv |cx, a, b| u(a.checked_div(b).unwrap_or(0));
    sdiv |cx, a, b| s(cx, a).checked_div(s(cx, b)).unwrap_or(0);
    urem |cx, a, b| u(a.checked_rem(b).unwrap_or(0));
    srem |cx, a, b| s(cx, a).checked_rem(s(cx, b)).unwrap_or(0);
    neg |cx, a| -u(a);
    abs |cx, a| s(cx, a).abs();
    uadd_sat |cx, a, b| (u(a) + u(b)).min(u(cx.dst.mask()));
    usub_sat |cx, a, b| (u(a) - u(b)).max(0);
    sadd_sat |cx, a, b| { let (lo, hi) = signed_range(cx.dst); (s(cx, a) + s(cx, b)).clamp(lo, hi) };
    ssub_sat |cx, a, b| { let (lo, hi) = signed_range(cx.dst); (s(cx, a) - s(cx, b)).clamp(lo, hi) };
    umin |cx, a, b| u(a.min(b));
    umax |cx, a, b| u(a.max(b));
    smin |cx, a, b| s(cx, a).min(s(cx, b));
    smax |cx, a, b| s(cx, a).max(s(cx, b));
    and |cx, a, b| u(a & b);
    or |cx, a, b| u(a | b);
    xor |cx, a, b| u(a ^ b);
    not |cx, a| u(!a);
    shl |cx, a, b| u(a << count(cx, b));
    lshr |cx, a, b| u(a >> count(cx, b));
    ashr |cx, a, b| s(cx, a) >> count(cx, b);
    rotl |cx, a, b| {
        let n = count(cx, b);
        if n == 0 { u(a) } else { u(a << n | a >> (cx.src.bits() - n)) }
    };
    clz |cx, a| i128::from(a.leading_zeros() - (64 - cx.src.bits()));
    ctz |cx, a| i128::from(a.trailing_zeros().min(cx.src.bits()));
    popcnt |cx, a| i128::from(a.count_ones());
    bitrev |cx, a| u(a.reverse_bits() >> (64 - cx.src.bits()));
    icmp |cx, a, b| {
        let Imm::IntCond(cond) = cx.imm else { unreachable!("broken invariant: icmp without a condition") };
        i128::from(compare(*cond, cx.src, a, b))
    };
}

/// Whether the condition holds between two lanes of `elem`.
pub fn compare(cond: IntCond, elem: Elem, a: u64, b: u64) -> bool {
    let (sa, sb) = (signed(elem, a), signed(elem, b));
    match cond {
        IntCond::Eq => a == b,
        IntCond::Ne => a != b,
        IntCond::Ult => a < b,
        IntCond::Ule => a <= b,
        IntCond::Ugt => a > b,
        IntCond::Uge => a >= b,
        IntCond::Slt => sa < sb,
        IntCond::Sle => sa <= sb,
        IntCond::Sgt => sa > sb,
        IntCond::Sge => sa >= sb,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cx(elem: Elem) -> LaneCx<'static> {
        LaneCx { imm: &Imm::None, src: elem, dst: elem }
    }

    #[test]
    fn edges() {
        let i8 = cx(Elem::I8);
        assert_eq!(sdiv(&i8, &[0x80, 0xff]), 0x80);
        assert_eq!(srem(&i8, &[0x80, 0xff]), 0);
        assert_eq!(udiv(&i8, &[7, 0]), 0);
        assert_eq!(abs(&i8, &[0x80]), 0x80);
        assert_eq!(sadd_sat(&i8, &[0x7f, 1]), 0x7f);
        assert_eq!(ssub_sat(&i8, &[0x80, 1]), 0x80);
        assert_eq!(smulh(&i8, &[0x80, 0x80]), 0x40);
        assert_eq!(clz(&i8, &[0]), 8);
        assert_eq!(ctz(&i8, &[0]), 8);
        assert_eq!(shl(&i8, &[1, 9]), 2);
        assert_eq!(rotl(&i8, &[0x81, 1]), 3);
        assert_eq!(bitrev(&i8, &[1]), 0x80);
        let i64 = cx(Elem::I64);
        assert_eq!(umulh(&i64, &[u64::MAX, u64::MAX]), u64::MAX - 1);
        assert_eq!(sdiv(&i64, &[1 << 63, u64::MAX]), 1 << 63);
    }
}
