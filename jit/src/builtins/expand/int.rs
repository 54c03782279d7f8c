//! Integer functions.

use clift_kir::{Builder, Elem, IntCond, Opcode, Type, Value};

use crate::builtins::BuiltinArgs;

/// |x - y| of signed numbers, as unsigned.
pub(in crate::builtins) fn s_abs_diff(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    difference(b, args, Opcode::Smax, Opcode::Smin)
}

/// |x - y| of unsigned numbers.
pub(in crate::builtins) fn u_abs_diff(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    difference(b, args, Opcode::Umax, Opcode::Umin)
}

fn difference(b: &mut Builder<'_>, args: &BuiltinArgs, max: Opcode, min: Opcode) -> Option<Value> {
    let high = b.int2(max, args.values[0], args.values[1]);
    let low = b.int2(min, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Isub, high, low))
}

/// (x + y) >> 1 without overflow, signed.
pub(in crate::builtins) fn s_hadd(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    half_sum(b, args, Opcode::And, Opcode::Iadd, Opcode::Ashr)
}

/// (x + y) >> 1 without overflow, unsigned.
pub(in crate::builtins) fn u_hadd(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    half_sum(b, args, Opcode::And, Opcode::Iadd, Opcode::Lshr)
}

/// (x + y + 1) >> 1 without overflow, signed.
pub(in crate::builtins) fn s_rhadd(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    half_sum(b, args, Opcode::Or, Opcode::Isub, Opcode::Ashr)
}

/// (x + y + 1) >> 1 without overflow, unsigned.
pub(in crate::builtins) fn u_rhadd(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    half_sum(b, args, Opcode::Or, Opcode::Isub, Opcode::Lshr)
}

/// Half of x + y, which is 2(x & y) + (x ^ y), and also 2(x | y) - (x ^ y).
fn half_sum(b: &mut Builder<'_>, args: &BuiltinArgs, common: Opcode, join: Opcode, shift: Opcode) -> Option<Value> {
    let (x, y) = (args.values[0], args.values[1]);
    let common = b.int2(common, x, y);
    let differing = b.int2(Opcode::Xor, x, y);
    let one = b.iconst(args.result, 1);
    let half = b.int2(shift, differing, one);
    Some(b.int2(join, common, half))
}

/// min(max(x, low), high), signed.
pub(in crate::builtins) fn s_clamp(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let low = b.int2(Opcode::Smax, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Smin, low, args.values[2]))
}

/// min(max(x, low), high), unsigned.
pub(in crate::builtins) fn u_clamp(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let low = b.int2(Opcode::Umax, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Umin, low, args.values[2]))
}

/// High half of x * y, plus z, signed.
pub(in crate::builtins) fn s_mad_hi(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let high = b.int2(Opcode::Smulh, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Iadd, high, args.values[2]))
}

/// High half of x * y, plus z, unsigned.
pub(in crate::builtins) fn u_mad_hi(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let high = b.int2(Opcode::Umulh, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Iadd, high, args.values[2]))
}

/// x * y + z, wrapping. The 24-bit functions are defined as this for operands in range.
pub(in crate::builtins) fn mad(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let product = b.int2(Opcode::Imul, args.values[0], args.values[1]);
    Some(b.int2(Opcode::Iadd, product, args.values[2]))
}

/// x * y + z clamped to the range, unsigned: the maximum if the product has a high half or the sum a carry.
pub(in crate::builtins) fn u_mad_sat(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y, z, ty) = (args.values[0], args.values[1], args.values[2], args.result);
    let high = b.int2(Opcode::Umulh, x, y);
    let low = b.int2(Opcode::Imul, x, y);
    let sum = b.int2(Opcode::UaddSat, low, z);
    let zero = b.iconst(ty, 0);
    let fits = b.icmp(IntCond::Eq, high, zero);
    let most = b.iconst(ty, -1);
    Some(b.select(fits, sum, most))
}

/// x * y + z clamped to the range, signed, computed in double width.
pub(in crate::builtins) fn s_mad_sat(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y, z, ty) = (args.values[0], args.values[1], args.values[2], args.result);
    let width = ty.elem.bits();
    if let Some(wide) = Elem::int(width * 2) {
        let [x, y, z] = [x, y, z].map(|v| b.int_resize(v, wide, true));
        let product = b.int2(Opcode::Imul, x, y);
        let sum = b.int2(Opcode::Iadd, product, z);
        let (low, high) = (-1i64 << (width - 1), !(-1i64 << (width - 1)));
        let low = b.iconst(b.ty(sum), low);
        let high = b.iconst(b.ty(sum), high);
        let sum = b.int2(Opcode::Smax, sum, low);
        let sum = b.int2(Opcode::Smin, sum, high);
        return Some(b.int_resize(sum, ty.elem, true));
    }
    // 64 bits: the sum as a high and a low half.
    let high = b.int2(Opcode::Smulh, x, y);
    let low = b.int2(Opcode::Imul, x, y);
    let sum = b.int2(Opcode::Iadd, low, z);
    let carry = b.icmp(IntCond::Ult, sum, low);
    let carry = b.cast(Opcode::Zext, carry, ty);
    let top = b.iconst(ty, i64::from(width - 1));
    let z_high = b.int2(Opcode::Ashr, z, top);
    let high = b.int2(Opcode::Iadd, high, z_high);
    let high = b.int2(Opcode::Iadd, high, carry);
    let sign = b.int2(Opcode::Ashr, sum, top);
    let fits = b.icmp(IntCond::Eq, high, sign);
    let zero = b.iconst(ty, 0);
    let negative = b.icmp(IntCond::Slt, high, zero);
    let (least, most) = (b.iconst(ty, i64::MIN), b.iconst(ty, i64::MAX));
    let limit = b.select(negative, least, most);
    Some(b.select(fits, sum, limit))
}

/// Checks for operands of half the result's width.
pub(in crate::builtins) fn check_upsample(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    crate::builtins::expect_count(args, 2)?;
    let half =
        Elem::int(args.result.elem.bits() / 2).filter(|_| args.result.is_int()).map(|e| args.result.with_elem(e));
    let fits = half.is_some_and(|ty| args.values.iter().all(|&v| b.ty(v) == ty));
    if fits { Ok(()) } else { Err("the operands must be integers of half the result's width".into()) }
}

/// The concatenation of both operands, the first one high. Signedness does not matter.
pub(in crate::builtins) fn upsample(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let ty: Type = args.result;
    let high = b.cast(Opcode::Zext, args.values[0], ty);
    let low = b.cast(Opcode::Zext, args.values[1], ty);
    let count = b.iconst(ty, i64::from(ty.elem.bits() / 2));
    let high = b.int2(Opcode::Shl, high, count);
    Some(b.int2(Opcode::Or, high, low))
}
