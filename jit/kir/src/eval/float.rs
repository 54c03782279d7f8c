//! Floating-point meanings. Arithmetic in `f16` is done in `f32`, whose 24 bits make one further rounding harmless for
//! + - * / and the square root.

use half::f16;

use super::LaneCx;
use crate::inst::{FloatCond, Imm, Rounding};
use crate::types::Elem;

use super::convert::round_f64_to_f16;

/// The lane as a number. Exact for every element.
pub fn to_f64(elem: Elem, bits: u64) -> f64 {
    match elem {
        Elem::F16 => f16::from_bits(bits as u16).to_f64(),
        Elem::F32 => f64::from(f32::from_bits(bits as u32)),
        Elem::F64 => f64::from_bits(bits),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: {elem} lane used as a float")
        }
    }
}

fn half(bits: u64) -> f32 {
    f16::from_bits(bits as u16).to_f32()
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Applies an operation in the element's own precision.
fn in_precision(elem: Elem, args: &[u64], f32_op: impl Fn(&[f32]) -> f32, f64_op: impl Fn(&[f64]) -> f64) -> u64 {
    let pick = |i: usize| args.get(i).copied().unwrap_or(0);
    match elem {
        Elem::F16 => {
            let result = f32_op(&[half(pick(0)), half(pick(1)), half(pick(2))]);
            u64::from(round_f64_to_f16(f64::from(result), Rounding::NearestEven))
        }
        Elem::F32 => u64::from(f32_op(&[single(pick(0)), single(pick(1)), single(pick(2))]).to_bits()),
        Elem::F64 => f64_op(&[f64::from_bits(pick(0)), f64::from_bits(pick(1)), f64::from_bits(pick(2))]).to_bits(),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: float operation on {elem}")
        }
    }
}

macro_rules! meanings {
    ($($name:ident |$a:ident $(, $b:ident)?| $body:expr;)+) => {
        $(
            #[doc = concat!("Meaning of the float op `", stringify!($name), "`.")]
            pub fn $name(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
                in_precision(
                    cx.src,
                    args,
                    |x| { meanings!(@bind x $a $($b)?); $body },
                    |x| { meanings!(@bind x $a $($b)?); $body },
                )
            }
        )+
    };
    (@bind $x:ident $a:ident) => { let $a = $x[0]; };
    (@bind $x:ident $a:ident $b:ident) => { let ($a, $b) = ($x[0], $x[1]); };
}

meanings! {
    add |a, b| a + b;
    sub |a, b| a - b;
    mul |a, b| a * b;
    div |a, b| a / b;
    sqrt |a| a.sqrt();
    ceil |a| a.ceil();
    floor |a| a.floor();
    trunc |a| a.trunc();
    rint |a| a.round_ties_even();
    min |a, b| if b.is_nan() || a < b { a } else if a.is_nan() || b < a { b } else if a.is_sign_negative() { a } else { b };
    max |a, b| if b.is_nan() || a > b { a } else if a.is_nan() || b > a || a.is_sign_negative() { b } else { a };
}

/// Meaning of `fma`.
pub fn fma(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    match cx.src {
        Elem::F16 => {
            // The product is exact in f64; the sum is rounded to odd, so that the last rounding sees every lost bit.
            let (a, b, c) = (to_f64(cx.src, args[0]), to_f64(cx.src, args[1]), to_f64(cx.src, args[2]));
            let product = a * b;
            let sum = product + c;
            let odd = if sum.is_finite() {
                let back = sum - product;
                let error = (product - (sum - back)) + (c - back);
                if error != 0.0 && sum.to_bits() & 1 == 0 {
                    let up = (error > 0.0) == (sum > 0.0);
                    f64::from_bits(if up { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
                } else {
                    sum
                }
            } else {
                sum
            };
            u64::from(round_f64_to_f16(odd, Rounding::NearestEven))
        }
        Elem::F32 => u64::from(single(args[0]).mul_add(single(args[1]), single(args[2])).to_bits()),
        Elem::F64 => f64::from_bits(args[0]).mul_add(f64::from_bits(args[1]), f64::from_bits(args[2])).to_bits(),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: fma on {}", cx.src)
        }
    }
}

fn sign(elem: Elem) -> u64 {
    1 << (elem.bits() - 1)
}

/// Meaning of `fneg`: flips the sign bit.
pub fn neg(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    args[0] ^ sign(cx.src)
}

/// Meaning of `fabs`: clears the sign bit.
pub fn abs(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    args[0] & !sign(cx.src)
}

/// Meaning of `fcopysign`.
pub fn copysign(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let sign = sign(cx.src);
    args[0] & !sign | args[1] & sign
}

/// Meaning of `fcmp`.
pub fn fcmp(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let Imm::FloatCond(cond, _) = cx.imm else { unreachable!("broken invariant: fcmp without a condition") };
    u64::from(compare(*cond, to_f64(cx.src, args[0]), to_f64(cx.src, args[1])))
}

/// Whether the condition holds.
pub fn compare(cond: FloatCond, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match cond {
        FloatCond::Oeq => a == b,
        FloatCond::One => !unordered && a != b,
        FloatCond::Olt => a < b,
        FloatCond::Ole => a <= b,
        FloatCond::Ogt => a > b,
        FloatCond::Oge => a >= b,
        FloatCond::Ueq => unordered || a == b,
        FloatCond::Une => a != b,
        FloatCond::Ult => unordered || a < b,
        FloatCond::Ule => unordered || a <= b,
        FloatCond::Ugt => unordered || a > b,
        FloatCond::Uge => unordered || a >= b,
        FloatCond::Ord => !unordered,
        FloatCond::Uno => unordered,
    }
}
