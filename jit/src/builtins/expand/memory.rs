//! Loads and stores of vectors at element alignment, and of halves.

use clift_kir::{Builder, Convert, Elem, MemInfo, Opcode, Rounding, Type, Value};

use crate::builtins::{BuiltinArgs, expect_count};

fn check_place(b: &Builder<'_>, offset: Value, pointer: Value) -> Result<(), String> {
    let (offset, pointer) = (b.ty(offset), b.ty(pointer));
    if offset.is_int() && !offset.is_vector() && pointer.is_ptr() && !pointer.is_vector() {
        Ok(())
    } else {
        Err("the offset must be an integer, the last operand a pointer".into())
    }
}

/// Operands: offset, pointer.
pub(in crate::builtins) fn check_load(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 2)?;
    if args.result.is_bool() {
        return Err("Booleans cannot be loaded or stored".into());
    }
    check_place(b, args.values[0], args.values[1])
}

/// Operands: data, offset, pointer.
pub(in crate::builtins) fn check_store(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 3)?;
    if b.ty(args.values[0]).is_bool() {
        return Err("Booleans cannot be loaded or stored".into());
    }
    check_place(b, args.values[1], args.values[2])
}

/// Operands: offset, pointer to halves; a float result.
pub(in crate::builtins) fn check_half_load(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    check_load(b, args)?;
    if args.result.is_float() { Ok(()) } else { Err("the result must be a float".into()) }
}

/// Operands: float data, offset, pointer to halves [, rounding mode].
pub(in crate::builtins) fn check_half_store(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    check_store(b, args)?;
    if !b.ty(args.values[0]).is_float() {
        return Err("the data must be a float".into());
    }
    if args.literals.first().is_some_and(|&mode| mode > 3) {
        return Err("the rounding mode is unknown".into());
    }
    Ok(())
}

/// `pointer + offset * stride elements`.
fn place(b: &mut Builder<'_>, pointer: Value, offset: Value, elem: Elem, stride: u32) -> Value {
    let index = b.int_resize(offset, Elem::I64, true);
    b.addr(pointer, Some(index), u64::from(elem.bytes() * stride), 0)
}

/// Loads a vector that is aligned like its elements.
pub(in crate::builtins) fn vloadn(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let ty = args.result;
    let pointer = place(b, args.values[1], args.values[0], ty.elem, ty.lanes());
    Some(b.load(ty, pointer, MemInfo::aligned(ty.elem.bytes())))
}

/// Stores a vector that is aligned like its elements.
pub(in crate::builtins) fn vstoren(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let ty = b.ty(args.values[0]);
    let pointer = place(b, args.values[2], args.values[1], ty.elem, ty.lanes());
    b.store(pointer, args.values[0], MemInfo::aligned(ty.elem.bytes()));
    None
}

/// Loads halves and converts them to the result type.
pub(in crate::builtins) fn vload_half(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    Some(load_half(b, args, args.result.lanes(), 2))
}

/// Loads aligned halves and converts them to the result type; vectors of three are padded to four.
pub(in crate::builtins) fn vloada_half(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let stride = args.result.lanes().next_power_of_two();
    Some(load_half(b, args, stride, stride * 2))
}

fn load_half(b: &mut Builder<'_>, args: &BuiltinArgs, stride: u32, align: u32) -> Value {
    let ty: Type = args.result.with_elem(Elem::F16);
    let pointer = place(b, args.values[1], args.values[0], Elem::F16, stride);
    let halves = b.load(ty, pointer, MemInfo::aligned(align));
    if ty == args.result { halves } else { b.convert(Opcode::FptoFp, halves, args.result, Convert::default()) }
}

/// Converts to halves with one rounding and stores them.
pub(in crate::builtins) fn vstore_half(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    store_half(b, args, b.ty(args.values[0]).lanes(), 2)
}

/// Converts to halves with one rounding and stores them aligned; vectors of three are padded to four.
pub(in crate::builtins) fn vstorea_half(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let stride = b.ty(args.values[0]).lanes().next_power_of_two();
    store_half(b, args, stride, stride * 2)
}

fn store_half(b: &mut Builder<'_>, args: &BuiltinArgs, stride: u32, align: u32) -> Option<Value> {
    // SPIR-V's FPRoundingMode.
    let rounding = match args.literals.first() {
        None | Some(0) => Rounding::NearestEven,
        Some(1) => Rounding::TowardZero,
        Some(2) => Rounding::Up,
        Some(_) => Rounding::Down,
    };
    let data = args.values[0];
    let ty = b.ty(data).with_elem(Elem::F16);
    let halves = if b.ty(data) == ty {
        data
    } else {
        b.convert(Opcode::FptoFp, data, ty, Convert { rounding, saturate: false })
    };
    let pointer = place(b, args.values[2], args.values[1], Elem::F16, stride);
    b.store(pointer, halves, MemInfo::aligned(align));
    None
}
