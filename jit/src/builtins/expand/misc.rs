//! Shuffles, selections, printf.

use clift_kir::{Builder, Elem, IntCond, Opcode, Type, Value};

use crate::builtins::{Args, expect_count, spread};

/// A vector and a mask of unsigned integers.
pub(in crate::builtins) fn check_shuffle(b: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    expect_count(args, 2)?;
    check_mask(b, args, 1)
}

/// Two vectors and a mask of unsigned integers.
pub(in crate::builtins) fn check_shuffle2(b: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    expect_count(args, 3)?;
    if b.ty(args.values[0]) != b.ty(args.values[1]) {
        return Err("the vectors must be of one type".into());
    }
    if b.ty(args.values[0]).lanes() * 2 > Type::MAX_LANES {
        return Err("the vectors are too long".into());
    }
    check_mask(b, args, 2)
}

fn check_mask(b: &Builder<'_>, args: &Args, at: usize) -> Result<(), String> {
    let (source, mask) = (b.ty(args.values[0]), b.ty(args.values[at]));
    if !mask.is_int() || mask.lanes() != args.result.lanes() || source.elem != args.result.elem || !source.is_vector() {
        return Err("a vector and a mask with the lanes of the result wanted".into());
    }
    Ok(())
}

/// Lanes of one vector by number, taken modulo its lanes.
pub(in crate::builtins) fn shuffle(b: &mut Builder<'_>, args: &Args) -> Option<Value> {
    Some(pick(b, args.values[0], args.values[1]))
}

/// Lanes of two vectors by number, taken modulo their lanes together.
pub(in crate::builtins) fn shuffle2(b: &mut Builder<'_>, args: &Args) -> Option<Value> {
    let lanes: Vec<u8> = (0..b.ty(args.values[0]).lanes() * 2).map(|l| l as u8).collect();
    let both = b.shuffle(args.values[0], args.values[1], &lanes);
    Some(pick(b, both, args.values[2]))
}

fn pick(b: &mut Builder<'_>, source: Value, mask: Value) -> Value {
    let elements: Vec<Value> = (0..b.ty(mask).lanes())
        .map(|lane| {
            let number = b.extract(mask, lane);
            let number = b.int_resize(number, Elem::I32, false);
            b.extract_dyn(source, number)
        })
        .collect();
    b.vec(&elements)
}

/// A pointer to the format and any values.
pub(in crate::builtins) fn check_printf(b: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    match args.values.first() {
        Some(&format) if b.ty(format).is_ptr() && !b.ty(format).is_vector() && args.result == Type::I32 => Ok(()),
        _ => Err("a pointer to the format wanted, and an int result".into()),
    }
}

/// Formats and prints; truth values print as integers.
pub(in crate::builtins) fn printf(b: &mut Builder<'_>, args: &Args) -> Option<Value> {
    let values: Vec<Value> = args.values[1..]
        .iter()
        .map(|&v| if b.ty(v).is_bool() { b.cast(Opcode::Zext, v, b.ty(v).with_elem(Elem::I32)) } else { v })
        .collect();
    Some(b.printf(args.values[0], &values))
}

/// A pointer and a count.
pub(in crate::builtins) fn check_prefetch(_: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    expect_count(args, 2)
}

/// Three operands of the result's type, floats or integers.
pub(in crate::builtins) fn check_bitselect(b: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    expect_count(args, 3)?;
    let ty = args.result;
    let fits = (ty.is_int() || ty.is_float()) && args.values.iter().all(|&v| b.ty(v) == ty);
    if fits { Ok(()) } else { Err("operands must be of the result's type".into()) }
}

/// Bits of the second where the third is set, else of the first.
pub(in crate::builtins) fn bitselect(b: &mut Builder<'_>, args: &Args) -> Option<Value> {
    let int = args.result.as_int();
    let bits = |b: &mut Builder<'_>, v: Value| if b.ty(v) == int { v } else { b.cast(Opcode::Bitcast, v, int) };
    let x = bits(b, args.values[0]);
    let y = bits(b, args.values[1]);
    let mask = bits(b, args.values[2]);
    let differing = b.int2(Opcode::Xor, x, y);
    let taken = b.int2(Opcode::And, differing, mask);
    let value = b.int2(Opcode::Xor, x, taken);
    Some(if int == args.result { value } else { b.cast(Opcode::Bitcast, value, args.result) })
}

/// Two operands of the result's type and an integer for each lane.
pub(in crate::builtins) fn check_select(b: &mut Builder<'_>, args: &mut Args) -> Result<(), String> {
    expect_count(args, 3)?;
    let ty = args.result;
    spread(b, &mut args.values[..2], ty.lanes());
    let condition = b.ty(args.values[2]);
    let fits = !ty.is_bool()
        && b.ty(args.values[0]) == ty
        && b.ty(args.values[1]) == ty
        && condition.is_int()
        && condition.lanes() == ty.lanes();
    if fits { Ok(()) } else { Err("two operands of the result's type and an integer wanted".into()) }
}

/// The second where the third says so: a scalar by not being zero, a vector's lane by its top bit.
pub(in crate::builtins) fn select(b: &mut Builder<'_>, args: &Args) -> Option<Value> {
    let condition = args.values[2];
    let zero = b.iconst(b.ty(condition), 0);
    let cond = if args.result.is_vector() { IntCond::Slt } else { IntCond::Ne };
    let chosen = b.icmp(cond, condition, zero);
    Some(b.select(chosen, args.values[1], args.values[0]))
}
