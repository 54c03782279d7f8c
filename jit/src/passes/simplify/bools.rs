//! Comparisons of integers that are 0 or 1: C has no Booleans, so a front end extends them, stores them as bytes, and compares
//! them.

use clift_kir::{Builder, IntCond, Opcode, Value};

use super::{defined_by, splat_bits};

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
    let left = flag(b, x, 0)?;
    let result = match splat_bits(b, y) {
        Some(0) => {
            let left = value(left);
            is_not = !is_not;
            left
        }
        Some(1) => value(left),
        Some(_) => return None,
        None => {
            let right = flag(b, y, 0)?;
            let (left, right) = (value(left), value(right));
            is_not = !is_not;
            b.int2(Opcode::Xor, left, right)
        }
    };
    Some(if is_not { b.int1(Opcode::Not, result) } else { result })
}

/// The Boolean that a flag was made of.
fn flag(b: &Builder<'_>, x: Value, depth: u32) -> Option<Flag> {
    if depth == MAX_DEPTH {
        return None;
    }
    if let Some(select) = defined_by(b, x, Opcode::Select) {
        let [condition, then, otherwise] = *select.args.as_slice() else { return None };
        if b.ty(condition).lanes() != b.ty(x).lanes() {
            return None;
        }
        return match (splat_bits(b, then), splat_bits(b, otherwise)) {
            (Some(1), Some(0)) => Some(Flag::Of(condition)),
            (Some(0), Some(1)) => Some(Flag::Not(condition)),
            _ => None,
        };
    }
    if let Some(and) = defined_by(b, x, Opcode::And) {
        return flag(b, and.args[0], depth + 1)
            .filter(|_| splat_bits(b, and.args[1]).is_some_and(|mask| mask & 1 == 1));
    }
    let source = [Opcode::Zext, Opcode::Itrunc].into_iter().find_map(|op| defined_by(b, x, op))?.args[0];
    if b.ty(source).is_bool() { Some(Flag::Of(source)) } else { flag(b, source, depth + 1) }
}
