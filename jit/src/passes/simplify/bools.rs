//! Comparisons, products, unions and intersections of integers that are 0 or 1: C has no Booleans, so a front end extends them,
//! stores them as bytes, and compares them.

use clift_kir::{Builder, Function, IntCond, Opcode, Type, Value};

use super::{defined_by, splat, splat_bits};

/// How many definitions are followed.
const MAX_DEPTH: u32 = 6;

/// An integer of which each lane is 1 or 0.
#[derive(Clone, Copy)]
enum Flag {
    /// It is 1 where this Boolean is true.
    Of(Value),
    /// It is 1 where this Boolean is false.
    Not(Value),
}

/// `x == y` or `x != y` for two flags, or a flag and 0 or 1.
pub(super) fn compare(b: &mut Builder<'_>, cond: IntCond, x: Value, y: Value) -> Option<Value> {
    let mut is_not = match cond {
        IntCond::Eq => false,
        IntCond::Ne => true,
        IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => return None,
        IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => return None,
    };
    let mut value = |flag: Flag| match flag {
        Flag::Of(value) => value,
        Flag::Not(value) => {
            is_not = !is_not;
            value
        }
    };
    let left = flag(b.func, x, 0)?;
    let result = match splat_bits(b, y) {
        Some(0) => {
            let left = value(left);
            is_not = !is_not;
            left
        }
        Some(1) => value(left),
        Some(_) => return None,
        None => {
            let right = flag(b.func, y, 0)?;
            let (left, right) = (value(left), value(right));
            is_not = !is_not;
            b.int2(Opcode::Xor, left, right)
        }
    };
    Some(if is_not { b.int1(Opcode::Not, result) } else { result })
}

/// A product with a flag: the other factor where the flag is 1.
pub(super) fn product(b: &mut Builder<'_>, x: Value, y: Value, ty: Type) -> Option<Value> {
    if ty.is_bool() {
        return None;
    }
    if let Some(both) = bitwise(b, Opcode::And, x, y, ty) {
        return Some(both);
    }
    let (flag, other) = match (flag(b.func, x, 0), flag(b.func, y, 0)) {
        (Some(flag), _) => (flag, y),
        (None, Some(flag)) => (flag, x),
        (None, None) => return None,
    };
    let zero = splat(b, ty, 0);
    Some(match flag {
        Flag::Of(condition) => b.select(condition, other, zero),
        Flag::Not(condition) => b.select(condition, zero, other),
    })
}

/// A bitwise op on two flags is a flag again: the op on their Booleans.
pub(super) fn bitwise(b: &mut Builder<'_>, op: Opcode, x: Value, y: Value, ty: Type) -> Option<Value> {
    if ty.is_bool() {
        return None;
    }
    let (left, right) = (flag(b.func, x, 0)?, flag(b.func, y, 0)?);
    let [left, right] = [left, right].map(|flag| match flag {
        Flag::Of(condition) => condition,
        Flag::Not(condition) => b.int1(Opcode::Not, condition),
    });
    let result = b.int2(op, left, right);
    let [one, zero] = [1, 0].map(|bits| splat(b, ty, bits));
    Some(b.select(result, one, zero))
}

/// A flag whose lowest bit a mask keeps.
pub(super) fn masked(b: &Builder<'_>, op: Opcode, x: Value, mask: Option<u64>) -> Option<Value> {
    (op == Opcode::And && mask? & 1 == 1 && is_flag(b.func, x)).then_some(x)
}

/// Whether a sum of two flags is 0: whether neither of them is 1.
pub(super) fn compare_sum(b: &mut Builder<'_>, cond: IntCond, x: Value, y: Value) -> Option<Value> {
    if !matches!(cond, IntCond::Eq | IntCond::Ne) || splat_bits(b, y)? != 0 {
        return None;
    }
    let &[left, right] = defined_by(b, x, Opcode::Iadd)?.args.as_slice() else { return None };
    // In a type of two bits or more, 1 + 1 is not 0.
    let ty = b.ty(x);
    let either = bitwise(b, Opcode::Or, left, right, ty)?;
    Some(b.icmp(cond, either, y))
}

/// Whether a value is known to be 0 or 1 in each lane, because it was made of a Boolean.
pub(crate) fn is_flag(func: &Function, x: Value) -> bool {
    flag(func, x, 0).is_some()
}

/// The Boolean that a flag was made of.
fn flag(func: &Function, x: Value, depth: u32) -> Option<Flag> {
    if depth == MAX_DEPTH {
        return None;
    }
    let (ty, bits) = (|value: Value| func.dfg.ty(value), |value: Value| func.dfg.as_splat_bits(value));
    let data = func.dfg.inst(func.dfg.def_inst(x)?);
    match (data.op, data.args.as_slice()) {
        (Opcode::Select, &[condition, then, otherwise]) if ty(condition).lanes() == ty(x).lanes() => {
            match (bits(then), bits(otherwise)) {
                (Some(1), Some(0)) => Some(Flag::Of(condition)),
                (Some(0), Some(1)) => Some(Flag::Not(condition)),
                _ => None,
            }
        }
        (Opcode::And, &[masked, mask]) => {
            flag(func, masked, depth + 1).filter(|_| bits(mask).is_some_and(|mask| mask & 1 == 1))
        }
        (Opcode::Zext | Opcode::Itrunc, &[source]) if ty(source).is_bool() => Some(Flag::Of(source)),
        (Opcode::Zext | Opcode::Itrunc, &[source]) => flag(func, source, depth + 1),
        _ => None,
    }
}
