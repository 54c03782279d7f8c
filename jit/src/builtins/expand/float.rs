//! Floating-point functions that are bit manipulation or short sequences of exact operations.

use clift_kir::{Builder, Convert, Elem, FloatCond, FpFlags, IntCond, MemInfo, Opcode, Type, Value};

use crate::builtins::{BuiltinArgs, ClOp, call, expect_count, math};

/// Layout of a float element.
struct FloatFormat {
    int: Type,
    mantissa_bits: u32,
    exponent_mask: i64,
    bias: i64,
}

fn format(ty: Type) -> FloatFormat {
    let (mantissa_bits, exponent_bits) = match ty.elem {
        Elem::F16 => (10, 5),
        Elem::F32 => (23, 8),
        Elem::F64 => (52, 11),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: {ty} used as a float")
        }
    };
    let exponent_mask = (1i64 << exponent_bits) - 1;
    FloatFormat { int: ty.as_int(), mantissa_bits, exponent_mask, bias: exponent_mask >> 1 }
}

fn store(b: &mut Builder<'_>, pointer: Value, value: Value) {
    let align = b.ty(value).elem.bytes();
    b.store(pointer, value, MemInfo::aligned(align));
}

/// A function of floats with an `int` result; halves are computed in floats.
fn to_int(b: &mut Builder<'_>, function: math::MathFunction, args: &[Value]) -> Value {
    let args: Vec<Value> = args
        .iter()
        .map(|&v| match b.ty(v) {
            ty if ty.elem == Elem::F16 => b.convert(Opcode::FptoFp, v, ty.with_elem(Elem::F32), Convert::default()),
            _ => v,
        })
        .collect();
    math::emit(b, function, &args)
}

/// 1 / x.
pub(in crate::builtins) fn recip(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let one = b.fconst(args.result, 1.0);
    Some(b.float2(Opcode::Fdiv, one, args.values[0]))
}

/// x - y where x > y, NaN where either is, else 0.
pub(in crate::builtins) fn fdim(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y) = (args.values[0], args.values[1]);
    let difference = b.float2(Opcode::Fsub, x, y);
    let none = b.fcmp(FloatCond::Ole, x, y);
    let zero = b.fconst(args.result, 0.0);
    Some(b.select(none, zero, difference))
}

/// Sine; the cosine is stored.
pub(in crate::builtins) fn sincos(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let x = args.values[0];
    let ty = args.result;
    // Halves and approximate floats have separate implementations of sine and cosine.
    let [sine, cosine] = if ty.elem == Elem::F16 || (ty.elem == Elem::F32 && b.fp_flags().contains(FpFlags::APPROX)) {
        [call(b, ClOp::sin, &[x]), call(b, ClOp::cos, &[x])]
    } else {
        math::emit_pair(b, math::trig::sincos, &[x])
    };
    store(b, args.values[1], cosine);
    Some(sine)
}

/// Logarithm of |gamma|; the sign of gamma is stored.
pub(in crate::builtins) fn lgamma_r(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let sign = to_int(b, math::gamma::sign, &args.values[..1]);
    store(b, args.values[1], sign);
    Some(call(b, ClOp::lgamma, &args.values[..1]))
}

/// IEEE remainder; low bits of the quotient are stored.
pub(in crate::builtins) fn remquo(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let operands = &args.values[..2];
    let bits = to_int(b, math::remainder::quotient_bits, operands);
    store(b, args.values[2], bits);
    Some(call(b, ClOp::remainder, operands))
}

/// x - floor(x), less than 1; floor(x) is stored. Zeros keep their sign; the result for infinity is a zero with its sign.
pub(in crate::builtins) fn fract(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let floor = b.float1(Opcode::Floor, x);
    store(b, args.values[1], floor);
    let rest = b.float2(Opcode::Fsub, x, floor);
    let f = format(ty);
    let below_one = (f.bias << f.mantissa_bits) - 1;
    let below_one = b.iconst(f.int, below_one);
    let below_one = b.cast(Opcode::Bitcast, below_one, ty);
    let rest = b.float2(Opcode::Fmin, rest, below_one);
    let zero = b.fconst(ty, 0.0);
    let signed_zero = b.float2(Opcode::Fcopysign, zero, x);
    let magnitude = b.float1(Opcode::Fabs, x);
    let infinity = b.fconst(ty, f64::INFINITY);
    let is_zero = b.fcmp(FloatCond::Oeq, x, zero);
    let is_infinite = b.fcmp(FloatCond::Oeq, magnitude, infinity);
    let special = b.int2(Opcode::Or, is_zero, is_infinite);
    let rest = b.select(special, signed_zero, rest);
    let unordered = b.fcmp(FloatCond::Uno, x, x);
    Some(b.select(unordered, x, rest))
}

/// Fraction toward zero; the integral part is stored. Both have the sign of x.
pub(in crate::builtins) fn modf(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let whole = b.float1(Opcode::Trunc, x);
    store(b, args.values[1], whole);
    let rest = b.float2(Opcode::Fsub, x, whole);
    let magnitude = b.float1(Opcode::Fabs, x);
    let infinity = b.fconst(ty, f64::INFINITY);
    let is_infinite = b.fcmp(FloatCond::Oeq, magnitude, infinity);
    let zero = b.fconst(ty, 0.0);
    let rest = b.select(is_infinite, zero, rest);
    Some(b.float2(Opcode::Fcopysign, rest, x))
}

/// A float split into mantissa and exponent.
struct FloatParts {
    /// Mantissa in [0.5, 1) with the sign of x; undefined for zero, infinity and NaN.
    mantissa: Value,
    /// Exponent (i32 lanes): x = mantissa * 2^exponent.
    exponent: Value,
    /// Mask of zeros.
    zero: Value,
    /// Mask of infinities and NaN.
    special: Value,
}

/// Mantissa and exponent; subnormals are scaled up first, exactly.
fn split(b: &mut Builder<'_>, x: Value) -> FloatParts {
    let ty = b.ty(x);
    let f = format(ty);
    let magnitude = b.float1(Opcode::Fabs, x);
    let zero = b.fconst(ty, 0.0);
    let is_zero = b.fcmp(FloatCond::Oeq, x, zero);
    let least_normal = b.iconst(f.int, 1 << f.mantissa_bits);
    let least_normal = b.cast(Opcode::Bitcast, least_normal, ty);
    let subnormal = b.fcmp(FloatCond::Olt, magnitude, least_normal);
    let shift = i64::from(f.mantissa_bits) + 1;
    let factor = b.iconst(f.int, (f.bias + shift) << f.mantissa_bits);
    let factor = b.cast(Opcode::Bitcast, factor, ty);
    let scaled = b.float2(Opcode::Fmul, x, factor);
    let y = b.select(subnormal, scaled, x);
    let bits = b.cast(Opcode::Bitcast, y, f.int);
    let count = b.iconst(f.int, i64::from(f.mantissa_bits));
    let field = b.int2(Opcode::Lshr, bits, count);
    let mask = b.iconst(f.int, f.exponent_mask);
    let field = b.int2(Opcode::And, field, mask);
    let special = b.icmp(IntCond::Eq, field, mask);
    // Exponent field of [0.5, 1).
    let keep = b.iconst(f.int, !(f.exponent_mask << f.mantissa_bits));
    let half = b.iconst(f.int, (f.bias - 1) << f.mantissa_bits);
    let rest = b.int2(Opcode::And, bits, keep);
    let mantissa = b.int2(Opcode::Or, rest, half);
    let mantissa = b.cast(Opcode::Bitcast, mantissa, ty);
    let field = b.int_resize(field, Elem::I32, false);
    let int = b.ty(field);
    let (normal, low) = (b.iconst(int, f.bias - 1), b.iconst(int, f.bias - 1 + shift));
    let offset = b.select(subnormal, low, normal);
    let exponent = b.int2(Opcode::Isub, field, offset);
    FloatParts { mantissa, exponent, zero: is_zero, special }
}

/// Mantissa in [0.5, 1); the exponent is stored. Zero, infinity and NaN are returned unchanged, with exponent 0.
pub(in crate::builtins) fn frexp(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let x = args.values[0];
    let parts = split(b, x);
    let keep = b.int2(Opcode::Or, parts.zero, parts.special);
    let none = b.iconst(b.ty(parts.exponent), 0);
    let exponent = b.select(keep, none, parts.exponent);
    store(b, args.values[1], exponent);
    Some(b.select(keep, x, parts.mantissa))
}

/// The exponent as an integer: INT_MIN for 0, INT_MAX for infinity and NaN (`FP_ILOGB0`, `FP_ILOGBNAN`).
pub(in crate::builtins) fn ilogb(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let parts = split(b, args.values[0]);
    let int = b.ty(parts.exponent);
    let one = b.iconst(int, 1);
    let value = b.int2(Opcode::Isub, parts.exponent, one);
    let (least, most) = (b.iconst(int, i64::from(i32::MIN)), b.iconst(int, i64::from(i32::MAX)));
    let value = b.select(parts.zero, least, value);
    Some(b.select(parts.special, most, value))
}

/// The exponent as a float: -inf for 0, inf for infinities, NaN for NaN.
pub(in crate::builtins) fn logb(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let parts = split(b, x);
    let one = b.iconst(b.ty(parts.exponent), 1);
    let value = b.int2(Opcode::Isub, parts.exponent, one);
    let value = b.convert(Opcode::StoFp, value, ty, Convert::default());
    let least = b.fconst(ty, f64::NEG_INFINITY);
    let value = b.select(parts.zero, least, value);
    let magnitude = b.float1(Opcode::Fabs, x);
    Some(b.select(parts.special, magnitude, value))
}

/// The neighbour of x toward y.
pub(in crate::builtins) fn nextafter(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y, ty) = (args.values[0], args.values[1], args.result);
    let int = ty.as_int();
    let bits = b.cast(Opcode::Bitcast, x, int);
    let (zero, one) = (b.fconst(ty, 0.0), b.iconst(int, 1));
    // Away from zero is the next larger bit pattern, toward zero the next smaller one.
    let magnitude_x = b.float1(Opcode::Fabs, x);
    let is_zero = b.fcmp(FloatCond::Oeq, x, zero);
    let up = b.fcmp(FloatCond::Olt, x, y);
    let positive = b.fcmp(FloatCond::Ogt, x, zero);
    let away = b.icmp(IntCond::Eq, up, positive);
    let larger = b.int2(Opcode::Iadd, bits, one);
    let smaller = b.int2(Opcode::Isub, bits, one);
    let moved = b.select(away, larger, smaller);
    let moved = b.cast(Opcode::Bitcast, moved, ty);
    let least = b.cast(Opcode::Bitcast, one, ty);
    let from_zero = b.float2(Opcode::Fcopysign, least, y);
    let moved = b.select(is_zero, from_zero, moved);
    let equal = b.fcmp(FloatCond::Oeq, x, y);
    let moved = b.select(equal, y, moved);
    let unordered = b.fcmp(FloatCond::Uno, x, y);
    let sum = b.float2(Opcode::Fadd, magnitude_x, y);
    Some(b.select(unordered, sum, moved))
}

/// The product and the sum without an intermediate rounding. Those of halves may be rounded in single precision first, which
/// takes a fraction of the time where processors lack fused multiply-adds of halves.
pub(in crate::builtins) fn mad(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let &[x, y, z] = args.values.as_slice() else { return None };
    let flags = b.fp_flags();
    if args.result.elem == Elem::F16 {
        b.set_fp_flags(flags | FpFlags::ESTIMATE);
    }
    let sum = b.fma(x, y, z);
    b.set_fp_flags(flags);
    Some(sum)
}

/// The operand with the larger magnitude; the maximum if the magnitudes are equal.
pub(in crate::builtins) fn maxmag(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    by_magnitude(b, args, FloatCond::Ogt, Opcode::Fmax)
}

/// The operand with the smaller magnitude; the minimum if the magnitudes are equal.
pub(in crate::builtins) fn minmag(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    by_magnitude(b, args, FloatCond::Olt, Opcode::Fmin)
}

fn by_magnitude(b: &mut Builder<'_>, args: &BuiltinArgs, cond: FloatCond, tie: Opcode) -> Option<Value> {
    let (x, y) = (args.values[0], args.values[1]);
    let magnitude_x = b.float1(Opcode::Fabs, x);
    let magnitude_y = b.float1(Opcode::Fabs, y);
    let first = b.fcmp(cond, magnitude_x, magnitude_y);
    let second = b.fcmp(cond, magnitude_y, magnitude_x);
    let tie = b.float2(tie, x, y);
    let otherwise = b.select(second, y, tie);
    Some(b.select(first, x, otherwise))
}

/// Checks for one integer of the result's width.
pub(in crate::builtins) fn check_nan(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 1)?;
    let fits = args.result.is_float() && b.ty(args.values[0]) == args.result.as_int();
    if fits { Ok(()) } else { Err("the operand must be an integer of the result's width".into()) }
}

/// A quiet NaN with a payload.
pub(in crate::builtins) fn nan(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let f = format(args.result);
    let quiet = (f.exponent_mask << f.mantissa_bits) | (1 << (f.mantissa_bits - 1));
    let quiet = b.iconst(f.int, quiet);
    let bits = b.int2(Opcode::Or, args.values[0], quiet);
    Some(b.cast(Opcode::Bitcast, bits, args.result))
}

/// Nearest integer, halves away from zero.
pub(in crate::builtins) fn round(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let whole = b.float1(Opcode::Trunc, x);
    let rest = b.float2(Opcode::Fsub, x, whole);
    let rest = b.float1(Opcode::Fabs, rest);
    let half = b.fconst(ty, 0.5);
    let further = b.fcmp(FloatCond::Oge, rest, half);
    let one = b.fconst(ty, 1.0);
    let step = b.float2(Opcode::Fcopysign, one, x);
    let away = b.float2(Opcode::Fadd, whole, step);
    let value = b.select(further, away, whole);
    Some(b.float2(Opcode::Fcopysign, value, x))
}
