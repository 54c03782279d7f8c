//! Shuffles, selections, printf.

use clift_kir::{Builder, Elem, IntCond, Opcode, Type, Value};

use crate::builtins::{BuiltinArgs, expect_count, splat_scalars};

/// Checks for a vector and a mask of unsigned integers.
pub(in crate::builtins) fn check_shuffle(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 2)?;
    check_mask(b, args, 1)
}

/// Checks for two vectors and a mask of unsigned integers.
pub(in crate::builtins) fn check_shuffle2(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 3)?;
    if b.ty(args.values[0]) != b.ty(args.values[1]) {
        return Err("the vectors must have the same type".into());
    }
    if b.ty(args.values[0]).lanes() * 2 > Type::MAX_LANES {
        return Err("the vectors are too long".into());
    }
    check_mask(b, args, 2)
}

fn check_mask(b: &Builder<'_>, args: &BuiltinArgs, at: usize) -> Result<(), String> {
    let (source, mask) = (b.ty(args.values[0]), b.ty(args.values[at]));
    if !mask.is_int() || mask.lanes() != args.result.lanes() || source.elem != args.result.elem || !source.is_vector() {
        return Err("the operands must be vectors and an integer mask with the result's number of components".into());
    }
    Ok(())
}

/// Lanes of a vector by index, modulo the number of its lanes.
pub(in crate::builtins) fn shuffle(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    Some(pick(b, args.values[0], args.values[1]))
}

/// Lanes of the concatenation of two vectors by index, modulo the number of lanes of both.
pub(in crate::builtins) fn shuffle2(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
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

/// Checks for a pointer to the format; the other operands may be any values.
pub(in crate::builtins) fn check_printf(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    match args.values.first() {
        Some(&format) if b.ty(format).is_ptr() && !b.ty(format).is_vector() && args.result == Type::I32 => Ok(()),
        _ => Err("the first operand must be a pointer to the format, the result an int".into()),
    }
}

/// `printf`; Booleans are printed as integers.
pub(in crate::builtins) fn printf(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let values: Vec<Value> = args.values[1..]
        .iter()
        .map(|&v| if b.ty(v).is_bool() { b.cast(Opcode::Zext, v, b.ty(v).with_elem(Elem::I32)) } else { v })
        .collect();
    Some(b.printf(args.values[0], &values))
}

/// Operands: a pointer and a count.
pub(in crate::builtins) fn check_prefetch(_: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 2)
}

/// Checks for three operands of the result's type, floats or integers.
pub(in crate::builtins) fn check_bitselect(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 3)?;
    let ty = args.result;
    let fits = (ty.is_int() || ty.is_float()) && args.values.iter().all(|&v| b.ty(v) == ty);
    if fits { Ok(()) } else { Err("the operands must have the result's type".into()) }
}

/// The bits of the second operand where those of the third are set, else the bits of the first.
pub(in crate::builtins) fn bitselect(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
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

/// Checks for two operands of the result's type and an integer for each lane.
pub(in crate::builtins) fn check_select(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 3)?;
    let ty = args.result;
    splat_scalars(b, &mut args.values[..2], ty.lanes());
    let condition = b.ty(args.values[2]);
    let fits = !ty.is_bool()
        && b.ty(args.values[0]) == ty
        && b.ty(args.values[1]) == ty
        && condition.is_int()
        && condition.lanes() == ty.lanes();
    if fits {
        Ok(())
    } else {
        Err("the operands must be two of the result's type and an integer with as many components".into())
    }
}

/// The second operand where the third selects it: a scalar condition if it is not zero, a lane of a vector if its top bit is set.
pub(in crate::builtins) fn select(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let condition = args.values[2];
    let zero = b.iconst(b.ty(condition), 0);
    let cond = if args.result.is_vector() { IntCond::Slt } else { IntCond::Ne };
    let chosen = b.icmp(cond, condition, zero);
    Some(b.select(chosen, args.values[1], args.values[0]))
}
