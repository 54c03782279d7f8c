//! Integer, bit and comparison identities.

use std::cmp::Ordering;

use clift_kir::dfg::ConstData;
use clift_kir::ops::IntOp;
use clift_kir::{Builder, Elem, Imm, InstData, IntCond, Opcode, Type, Value, WrapFlags};

use super::{bools, division};
use super::{defined_by, evaluate, is_bits, splat, splat_bits};

/// Rules for ops on integers, Booleans and pointers.
pub(super) fn rules(b: &mut Builder<'_>, op: IntOp, data: &InstData, ty: Type) -> Option<Value> {
    let x = data.args[0];
    let Some(&y) = data.args.get(1) else { return unary(b, op, x) };
    let ones = ty.elem.mask();
    let same = x == y;
    let right = splat_bits(b, y);
    if matches!(op, IntOp::And | IntOp::Or | IntOp::Xor)
        && let Some(flag) = bools::bitwise(b, data.op, x, y, ty).or_else(|| bools::masked(b, data.op, x, right))
    {
        return Some(flag);
    }
    match op {
        IntOp::Iadd | IntOp::Or | IntOp::Xor if right == Some(0) => Some(x),
        IntOp::Isub | IntOp::Shl | IntOp::Lshr | IntOp::Ashr | IntOp::Rotl | IntOp::UsubSat | IntOp::SsubSat
            if right == Some(0) =>
        {
            Some(x)
        }
        IntOp::UaddSat | IntOp::SaddSat if right == Some(0) => Some(x),
        IntOp::Isub | IntOp::Xor if same => Some(splat(b, ty, 0)),
        IntOp::And | IntOp::Or | IntOp::Umin | IntOp::Umax | IntOp::Smin | IntOp::Smax if same => Some(x),
        IntOp::And if right == Some(0) => Some(y),
        IntOp::And if right == Some(ones) => Some(x),
        IntOp::And if keeps_all(b, x, right) => Some(x),
        IntOp::Or if right == Some(ones) => Some(y),
        IntOp::Xor if right == Some(ones) => Some(b.int1(Opcode::Not, x)),
        IntOp::Imul | IntOp::Umulh if right == Some(0) => Some(y),
        IntOp::Imul | IntOp::Udiv | IntOp::Sdiv if right == Some(1) => Some(x),
        IntOp::Urem | IntOp::Srem if right == Some(1) => Some(splat(b, ty, 0)),
        IntOp::Imul if right.is_some() => power_of_two(right).map(|n| {
            let count = splat(b, ty, n);
            // As a signed number, the highest power of two is negative.
            let kept = if n + 1 == ty.elem.bits().into() { WrapFlags::NO_UNSIGNED } else { WrapFlags::all() };
            b.int2_wrap(Opcode::Shl, x, count, data.imm.wrap() & kept)
        }),
        IntOp::Imul => bools::product(b, x, y, ty),
        IntOp::Udiv if power_of_two(right).is_some() => power_of_two(right).map(|n| shift(b, Opcode::Lshr, x, n, ty)),
        IntOp::Urem if power_of_two(right).is_some() => {
            let mask = splat(b, ty, right.unwrap_or(1) - 1);
            Some(b.int2(Opcode::And, x, mask))
        }
        IntOp::Udiv | IntOp::Sdiv | IntOp::Urem | IntOp::Srem => division::narrow(b, data.op, x, y, ty),
        IntOp::Isub if right.is_some() => {
            let bits = right.unwrap_or(0);
            let negated = splat(b, ty, bits.wrapping_neg());
            // The least integer cannot be negated.
            let lowest = bits == ones ^ ones >> 1;
            let kept = if lowest { WrapFlags::empty() } else { WrapFlags::NO_SIGNED };
            Some(b.int2_wrap(Opcode::Iadd, x, negated, data.imm.wrap() & kept))
        }
        IntOp::Or => rotation(b, x, y).or_else(|| masked_parts(b, x, y, ty)).or_else(|| reassociate(b, data, x, y, ty)),
        IntOp::Iadd => {
            sum_of_parts(b, x, y).or_else(|| masked_parts(b, x, y, ty)).or_else(|| reassociate(b, data, x, y, ty))
        }
        IntOp::And | IntOp::Xor => reassociate(b, data, x, y, ty),
        IntOp::Isub => taken_away(b, x, y),
        IntOp::Shl | IntOp::Lshr | IntOp::Ashr => {
            shift_of_shift(b, data.op, x, y, ty).or_else(|| shift_back(b, data.op, x, y, ty))
        }
        IntOp::Icmp => compare(b, &data.imm, x, y, ty),
        // Ops without further rules.
        IntOp::Umulh | IntOp::Smulh | IntOp::Rotl => None,
        IntOp::UaddSat | IntOp::SaddSat | IntOp::UsubSat | IntOp::SsubSat => None,
        IntOp::Umin | IntOp::Umax | IntOp::Smin | IntOp::Smax => None,
        IntOp::Ineg | IntOp::Iabs | IntOp::Not | IntOp::Clz | IntOp::Ctz | IntOp::Popcnt | IntOp::Bitrev => {
            unreachable!("broken invariant: {op:?} with two operands")
        }
    }
}

/// Rules for ops with one operand.
fn unary(b: &mut Builder<'_>, op: IntOp, x: Value) -> Option<Value> {
    // These undo themselves.
    if matches!(op, IntOp::Not | IntOp::Ineg | IntOp::Bitrev)
        && let Some(inner) = defined_by(b, x, op.into())
    {
        return Some(inner.args[0]);
    }
    if op == IntOp::Not { inverse_comparison(b, x) } else { None }
}

/// The comparison that holds exactly when the one that a value is the result of does not.
fn inverse_comparison(b: &mut Builder<'_>, x: Value) -> Option<Value> {
    let InstData { args, imm, .. } = b.func.dfg.inst(b.func.dfg.def_inst(x)?).clone();
    if let Imm::IntCond(cond) = imm {
        return Some(b.icmp(cond.inverse(), args[0], args[1]));
    }
    let Imm::FloatCond(cond, flags) = imm else { return None };
    let old = b.fp_flags();
    b.set_fp_flags(flags);
    let value = b.fcmp(cond.inverse(), args[0], args[1]);
    b.set_fp_flags(old);
    Some(value)
}

/// Whether a mask keeps all bits that a value can have which is zero-extended or shifted right.
fn keeps_all(b: &Builder<'_>, x: Value, mask: Option<u64>) -> bool {
    let elem = b.ty(x).elem;
    let extended = || defined_by(b, x, Opcode::Zext).map(|extension| b.ty(extension.args[0]).elem.mask());
    let shifted = || {
        let count = splat_bits(b, defined_by(b, x, Opcode::Lshr)?.args[1])?;
        Some(elem.mask() >> (count % u64::from(elem.bits())))
    };
    mask.is_some_and(|mask| extended().or_else(shifted).is_some_and(|possible| possible & !mask == 0))
}

fn power_of_two(bits: Option<u64>) -> Option<u64> {
    bits.filter(|b| b.is_power_of_two() && *b > 1).map(|b| u64::from(b.trailing_zeros()))
}

fn shift(b: &mut Builder<'_>, op: Opcode, x: Value, count: u64, ty: Type) -> Value {
    let count = splat(b, ty, count);
    b.int2(op, x, count)
}

/// A rotation from two shifts, where the bits shifted out on the left return on the right. Shifts take the count modulo the
/// width, and the sum of the two counts is a multiple of the width. If both counts are zero, two equal values are combined, which
/// gives the value.
fn rotation(b: &mut Builder<'_>, x: Value, y: Value) -> Option<Value> {
    let (left, right) = match (defined_by(b, x, Opcode::Shl), defined_by(b, y, Opcode::Shl)) {
        (Some(left), _) => (left, defined_by(b, y, Opcode::Lshr)?),
        (None, Some(left)) => (left, defined_by(b, x, Opcode::Lshr)?),
        (None, None) => return None,
    };
    let (value, left, right) = (left.args[0], left.args[1], (right.args[0], right.args[1]));
    (right.0 == value && complement(b, left, right.1)).then(|| b.int2(Opcode::Rotl, value, left))
}

/// Whether two shift counts, for values as wide as the counts, add up to a multiple of the width.
fn complement(b: &Builder<'_>, x: Value, y: Value) -> bool {
    let width = u64::from(b.ty(x).elem.bits());
    if let Some((x, y)) = splat_bits(b, x).zip(splat_bits(b, y)) {
        return x.wrapping_add(y) % width == 0;
    }
    let rest = |x: Value, y: Value| match (defined_by(b, y, Opcode::Isub), defined_by(b, y, Opcode::Ineg)) {
        (Some(sub), _) => sub.args[1] == x && splat_bits(b, sub.args[0]).is_some_and(|bits| bits % width == 0),
        (None, Some(neg)) => neg.args[0] == x,
        (None, None) => false,
    };
    rest(x, y) || rest(y, x)
}

/// A number as the sum of its parts: a difference and what was subtracted, a quotient times a constant and the remainder (both
/// are 0 for the divisor 0).
fn sum_of_parts(b: &Builder<'_>, x: Value, y: Value) -> Option<Value> {
    for (part, rest) in [(x, y), (y, x)] {
        if let Some(difference) = defined_by(b, rest, Opcode::Isub)
            && difference.args[1] == part
        {
            return Some(difference.args[0]);
        }
        for (quotient, remainder) in [(Opcode::Udiv, Opcode::Urem), (Opcode::Sdiv, Opcode::Srem)] {
            if let Some(product) = defined_by(b, part, Opcode::Imul)
                && let Some(remainder) = defined_by(b, rest, remainder)
                && let [of, by] = *remainder.args.as_slice()
                && splat_bits(b, by).is_some_and(|by| by != 0)
                && let Some(quotient) = factor_beside(product, by).and_then(|other| defined_by(b, other, quotient))
                && quotient.args.as_slice() == [of, by]
            {
                return Some(of);
            }
        }
    }
    None
}

/// The bits of one number under two masks that have none in common: their union, which is also their sum.
fn masked_parts(b: &mut Builder<'_>, x: Value, y: Value, ty: Type) -> Option<Value> {
    let (high, low) = (defined_by(b, x, Opcode::And)?, defined_by(b, y, Opcode::And)?);
    let (of, masks) = (high.args[0], [splat_bits(b, high.args[1])?, splat_bits(b, low.args[1])?]);
    if of != low.args[0] || masks[0] & masks[1] != 0 {
        return None;
    }
    let mask = splat(b, ty, masks[0] | masks[1]);
    Some(b.int2(Opcode::And, of, mask))
}

/// The other factor of a product by `by`.
fn factor_beside(product: &InstData, by: Value) -> Option<Value> {
    match *product.args.as_slice() {
        [other, factor] | [factor, other] if factor == by => Some(other),
        _ => None,
    }
}

/// What remains of a sum without one of its summands.
fn taken_away(b: &Builder<'_>, x: Value, y: Value) -> Option<Value> {
    match *defined_by(b, x, Opcode::Iadd)?.args.as_slice() {
        [rest, summand] | [summand, rest] if summand == y => Some(rest),
        _ => None,
    }
}

/// `(x op c) op d` becomes `x op (c op d)`, where `op` is associative.
fn reassociate(b: &mut Builder<'_>, data: &InstData, x: Value, y: Value, ty: Type) -> Option<Value> {
    let op = data.op;
    let outer = splat_bits(b, y)?;
    let inner = defined_by(b, x, op)?;
    let base = inner.args[0];
    let inner_flags = inner.imm.wrap();
    let bits = splat_bits(b, inner.args[1])?;
    let constants = [bits, outer].map(|bits| ConstData::splat(ty, bits));
    let combined = evaluate(data, ty, &constants.each_ref())?;
    // The wrap flags of both steps hold for the combined step if adding the constants does not wrap.
    let mut flags = WrapFlags::empty();
    if op == Opcode::Iadd {
        let unused = 64 - ty.elem.bits();
        let signed = |bits: u64| (bits << unused) as i64;
        flags = data.imm.wrap() & inner_flags;
        if signed(bits).checked_add(signed(outer)).is_none() {
            flags.remove(WrapFlags::NO_SIGNED);
        }
        if (bits << unused).checked_add(outer << unused).is_none() {
            flags.remove(WrapFlags::NO_UNSIGNED);
        }
    }
    let combined = b.constant(combined);
    Some(b.int2_wrap(op, base, combined, flags))
}

/// Two shifts in the same direction by constants become one.
fn shift_of_shift(b: &mut Builder<'_>, op: Opcode, x: Value, y: Value, ty: Type) -> Option<Value> {
    let width = u64::from(ty.elem.bits());
    let outer = splat_bits(b, y)? % width;
    let inner = defined_by(b, x, op)?;
    let base = inner.args[0];
    let total = splat_bits(b, inner.args[1])? % width + outer;
    if op == Opcode::Ashr {
        return Some(shift(b, op, base, total.min(width - 1), ty));
    }
    Some(if total >= width { splat(b, ty, 0) } else { shift(b, op, base, total, ty) })
}

/// A left shift followed by an arithmetic right shift is a sign extension of the bits in between. If more is to be done than
/// that, vectors are left as they are: shifts are cheaper than moving lanes.
fn shift_back(b: &mut Builder<'_>, op: Opcode, x: Value, y: Value, ty: Type) -> Option<Value> {
    if op != Opcode::Ashr {
        return None;
    }
    let width = u64::from(ty.elem.bits());
    let right = splat_bits(b, y)? % width;
    let inner = defined_by(b, x, Opcode::Shl)?;
    let base = inner.args[0];
    let left = splat_bits(b, inner.args[1])? % width;
    let narrow = Elem::int((width - left) as u32).filter(|elem| left > 0 && elem.is_int())?;
    if ty.is_vector() && right > left {
        return None;
    }
    let kept = b.cast(Opcode::Itrunc, base, ty.with_elem(narrow));
    let wide = b.cast(Opcode::Sext, kept, ty);
    Some(match right.cmp(&left) {
        Ordering::Equal => wide,
        Ordering::Less => {
            let count = splat(b, ty, left - right);
            b.int2_wrap(Opcode::Shl, wide, count, WrapFlags::NO_SIGNED)
        }
        Ordering::Greater => shift(b, Opcode::Ashr, wide, right - left, ty),
    })
}

/// Whether a signed remainder by a power of two equals a constant that is not negative: a question of the low bits and, unless
/// the constant is zero, the sign.
fn compare_remainder(b: &mut Builder<'_>, cond: IntCond, x: Value, y: Value) -> Option<Value> {
    if !matches!(cond, IntCond::Eq | IntCond::Ne) {
        return None;
    }
    let expected = splat_bits(b, y)?;
    let remainder = defined_by(b, x, Opcode::Srem)?.clone();
    let ty = b.ty(x);
    let divisor = splat_bits(b, remainder.args[1])?;
    let sign = ty.elem.mask() ^ ty.elem.mask() >> 1;
    let magnitude = if divisor & sign == 0 { divisor } else { divisor.wrapping_neg() & ty.elem.mask() };
    if !magnitude.is_power_of_two() || expected >= magnitude {
        return None;
    }
    let low = magnitude - 1;
    let mask = splat(b, ty, if expected == 0 { low } else { low | sign });
    let bits = b.int2(Opcode::And, remainder.args[0], mask);
    Some(b.icmp(cond, bits, y))
}

/// Whether bits of a shifted number are set: the bits where they are without the shift, as in `flags >> 3 & 1`.
fn compare_shifted_bits(b: &mut Builder<'_>, cond: IntCond, x: Value, y: Value) -> Option<Value> {
    if !matches!(cond, IntCond::Eq | IntCond::Ne) || splat_bits(b, y)? != 0 {
        return None;
    }
    let masked = defined_by(b, x, Opcode::And)?;
    let (mut shifted, mask) = (masked.args[0], splat_bits(b, masked.args[1])?);
    if let Some(extended) = defined_by(b, shifted, Opcode::Zext).or_else(|| defined_by(b, shifted, Opcode::Sext)) {
        shifted = extended.args[0];
    }
    let shift = defined_by(b, shifted, Opcode::Lshr).or_else(|| defined_by(b, shifted, Opcode::Ashr))?;
    let (value, ty) = (shift.args[0], b.ty(shifted));
    let count = splat_bits(b, shift.args[1])? % u64::from(ty.elem.bits());
    let moved = mask.checked_shl(count as u32).filter(|moved| moved >> count == mask)?;
    if moved & !ty.elem.mask() != 0 {
        return None;
    }
    let mask = splat(b, ty, moved);
    let bits = b.int2(Opcode::And, value, mask);
    let zero = splat(b, ty, 0);
    Some(b.icmp(cond, bits, zero))
}

/// Comparisons of extended values with one another, or with a constant, are those of the values: C compares bytes as `int`.
fn compare_extended(b: &mut Builder<'_>, cond: IntCond, x: Value, y: Value, ty: Type) -> Option<Value> {
    let extended = |b: &Builder<'_>, op| defined_by(b, x, op).map(|data| (op, data.args[0]));
    let (op, narrow) = extended(b, Opcode::Zext).or_else(|| extended(b, Opcode::Sext))?;
    let elem = b.ty(narrow).elem;
    if elem.bits() == 1 {
        return None;
    }
    let signed = op == Opcode::Sext;
    let narrow_cond = if signed { cond } else { cond.unsigned() };
    if let Some(other) = defined_by(b, y, op).map(|data| data.args[0]) {
        return (b.ty(other).elem == elem).then(|| b.icmp(narrow_cond, narrow, other));
    }
    let constant = splat_bits(b, y)?;
    let low = constant & elem.mask();
    let unused = 64 - elem.bits();
    let wide = if signed { ((low << unused) as i64 >> unused) as u64 & b.ty(x).elem.mask() } else { low };
    let fits = wide == constant;
    if fits {
        let low = splat(b, b.ty(narrow), low);
        return Some(b.icmp(narrow_cond, narrow, low));
    }
    if signed {
        return None;
    }
    // No extended value is as large; as a signed number the constant may be negative.
    let is_negative = constant & (b.ty(x).elem.mask() ^ b.ty(x).elem.mask() >> 1) != 0;
    let holds = match cond {
        IntCond::Eq => false,
        IntCond::Ne | IntCond::Ult | IntCond::Ule => true,
        IntCond::Ugt | IntCond::Uge => false,
        IntCond::Slt | IntCond::Sle => !is_negative,
        IntCond::Sgt | IntCond::Sge => is_negative,
    };
    Some(splat(b, ty, u64::from(holds)))
}

/// Whether an integer is the address of a variable, which is not null. Functions that take an optional table test its address,
/// and are inlined into kernels that pass one.
fn is_variables_address(b: &Builder<'_>, x: Value) -> bool {
    let mut pointer = defined_by(b, x, Opcode::PtrToInt).map(|conversion| conversion.args[0]);
    while let Some(cast) = pointer.and_then(|pointer| defined_by(b, pointer, Opcode::SpaceCast)) {
        pointer = Some(cast.args[0]);
    }
    let is_variable = |op| pointer.is_some_and(|pointer| defined_by(b, pointer, op).is_some());
    is_variable(Opcode::SlotAddr) || is_variable(Opcode::GlobalAddr)
}

fn compare(b: &mut Builder<'_>, imm: &Imm, x: Value, y: Value, ty: Type) -> Option<Value> {
    let Imm::IntCond(cond) = *imm else { return None };
    let operand = b.ty(x);
    if x == y {
        let holds = matches!(cond, IntCond::Eq | IntCond::Ule | IntCond::Uge | IntCond::Sle | IntCond::Sge);
        return Some(splat(b, ty, u64::from(holds)));
    }
    if splat_bits(b, x).is_some() && splat_bits(b, y).is_none() {
        return Some(b.icmp(cond.swapped(), y, x));
    }
    if !operand.is_bool()
        && let Some(value) = bools::compare(b, cond, x, y)
    {
        return Some(value);
    }
    let value = bools::compare_sum(b, cond, x, y)
        .or_else(|| compare_remainder(b, cond, x, y))
        .or_else(|| compare_shifted_bits(b, cond, x, y))
        .or_else(|| compare_extended(b, cond, x, y, ty));
    if value.is_some() {
        return value;
    }
    if is_bits(b, y, 0) && is_variables_address(b, x) {
        let holds = match cond {
            IntCond::Ne | IntCond::Ugt | IntCond::Uge => true,
            IntCond::Eq | IntCond::Ult | IntCond::Ule => false,
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => return None,
        };
        return Some(splat(b, ty, u64::from(holds)));
    }
    // An extended Boolean compared with zero is the Boolean itself or its complement.
    if is_bits(b, y, 0) && matches!(cond, IntCond::Ne | IntCond::Eq) {
        let widened = [Opcode::Zext, Opcode::Sext].into_iter().find_map(|op| defined_by(b, x, op).map(|d| d.args[0]));
        if let Some(inner) = widened {
            if b.ty(inner).is_bool() {
                return Some(if cond == IntCond::Ne { inner } else { b.int1(Opcode::Not, inner) });
            }
            let zero = splat(b, b.ty(inner), 0);
            return Some(b.icmp(cond, inner, zero));
        }
        if operand.is_bool() {
            return Some(if cond == IntCond::Ne { x } else { b.int1(Opcode::Not, x) });
        }
        // select(c, 1, 0) compared with zero.
        if let Some(select) = defined_by(b, x, Opcode::Select).cloned() {
            let (then, otherwise) = (splat_bits(b, select.args[1])?, splat_bits(b, select.args[2])?);
            let c = select.args[0];
            if b.ty(c).lanes() == ty.lanes() && (then == 0) != (otherwise == 0) {
                let when_set = (then != 0) == (cond == IntCond::Ne);
                return Some(if when_set { c } else { b.int1(Opcode::Not, c) });
            }
        }
        return None;
    }
    if operand.is_bool() && is_bits(b, y, 1) {
        return match cond {
            IntCond::Eq => Some(x),
            IntCond::Ne => Some(b.int1(Opcode::Not, x)),
            IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => None,
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => None,
        };
    }
    None
}
