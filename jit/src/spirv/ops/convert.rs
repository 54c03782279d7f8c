//! Conversions.

use clift_kir::{Builder, Convert, FloatCond, Opcode, Rounding, Space, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::FPRoundingMode;

use super::classes::ConvertInst;
use crate::spirv::llvm_backend;
use crate::spirv::lower::{BuiltInPointer, FuncCx, Val};
use crate::spirv::types;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: ConvertInst) -> Result<(), InstError> {
    let to = cx.kir_type(inst.result_type()?)?;
    if matches!(op, ConvertInst::Bitcast | ConvertInst::PtrCastToGeneric | ConvertInst::GenericCastToPtr)
        && to.is_ptr()
        && let Val::BuiltIn(input) = cx.val(inst.id(0)?)?
    {
        let ty = cx.unit.types.any_pointer(inst.result_type()?)?.1.unwrap_or(input.ty);
        cx.define(inst.result()?, Val::BuiltIn(BuiltInPointer { ty, ..input }));
        return Ok(());
    }
    let from = cx.value(inst.id(0)?)?;
    let source = cx.b.ty(from);
    let decorations = cx.unit.module.decorations.of(inst.result()?);
    let saturate = decorations.saturate;
    let how = |default| Convert { rounding: decorations.rounding.map_or(default, rounding), saturate };
    let same_lanes = || {
        if source.lanes() == to.lanes() {
            Ok(())
        } else {
            Err(InstError::malformed("operand and result have different numbers of components"))
        }
    };
    let classes = |from_class: bool, to_class: bool| {
        if from_class && to_class {
            same_lanes()
        } else {
            Err(InstError::malformed(format!("the instruction cannot convert {source} to {to}")))
        }
    };
    let value = match op {
        ConvertInst::ConvertFToS | ConvertInst::ConvertFToU => {
            classes(source.is_float(), to.is_int())?;
            let opcode = if op == ConvertInst::ConvertFToS { Opcode::FptoS } else { Opcode::FptoU };
            cx.b.convert(opcode, from, to, how(Rounding::TowardZero))
        }
        ConvertInst::ConvertSToF | ConvertInst::ConvertUToF => {
            classes(source.is_int(), to.is_float())?;
            // The back end's `sitofp` has no rounding mode: an instruction that has one is a call of `convert_float_rte` or its
            // kin.
            if op == ConvertInst::ConvertSToF
                && decorations.rounding.is_none()
                && let Some(condition) = llvm_backend::signed_bit(cx, inst)?
            {
                let condition = cx.value(condition)?;
                let (minus_one, zero) = (cx.b.fconst(to, -1.0), cx.b.fconst(to, 0.0));
                let value = cx.b.select(condition, minus_one, zero);
                return cx.set(inst, value);
            }
            let opcode = if op == ConvertInst::ConvertSToF { Opcode::StoFp } else { Opcode::UtoFp };
            cx.b.convert(opcode, from, to, Convert { saturate: false, ..how(Rounding::NearestEven) })
        }
        ConvertInst::FConvert => {
            classes(source.is_float(), to.is_float())?;
            if source == to {
                from
            } else {
                cx.b.convert(Opcode::FptoFp, from, to, Convert { saturate: false, ..how(Rounding::NearestEven) })
            }
        }
        ConvertInst::UConvert | ConvertInst::SConvert => {
            classes(source.is_int(), to.is_int())?;
            let signed = op == ConvertInst::SConvert;
            if saturate {
                saturating(&mut cx.b, from, signed, to, signed)
            } else {
                cx.b.int_resize(from, to.elem, signed)
            }
        }
        ConvertInst::SatConvertSToU => {
            classes(source.is_int(), to.is_int())?;
            saturating(&mut cx.b, from, true, to, false)
        }
        ConvertInst::SatConvertUToS => {
            classes(source.is_int(), to.is_int())?;
            saturating(&mut cx.b, from, false, to, true)
        }
        ConvertInst::ConvertPtrToU => {
            classes(source.is_ptr(), to.is_int())?;
            let address = cx.b.cast(Opcode::PtrToInt, from, source.as_int());
            cx.b.int_resize(address, to.elem, false)
        }
        ConvertInst::ConvertUToPtr => {
            classes(source.is_int(), to.is_ptr())?;
            let address = cx.b.int_resize(from, Type::I64.elem, false);
            cx.b.cast(Opcode::IntToPtr, address, to)
        }
        ConvertInst::PtrCastToGeneric => {
            classes(source.is_ptr(), to == Type::ptr(Space::Generic))?;
            pointer_cast(cx, from, to)
        }
        ConvertInst::GenericCastToPtr => {
            classes(source == Type::ptr(Space::Generic), to.is_ptr())?;
            pointer_cast(cx, from, to)
        }
        ConvertInst::GenericCastToPtrExplicit => {
            classes(source == Type::ptr(Space::Generic), to.is_ptr())?;
            let Operand::StorageClass(class) = *inst.operand(1)? else {
                return Err(InstError::malformed("the storage class is missing"));
            };
            let space = types::space(class)?;
            if to != Type::ptr(space) || !matches!(space, Space::Private | Space::Global | Space::Local) {
                return Err(InstError::malformed(format!(
                    "the result type {to} does not match the storage class {class:?}"
                )));
            }
            let inside = cx.b.in_space(from, space);
            let pointer = cx.b.cast(Opcode::SpaceCast, from, to);
            let null = cx.b.iconst(to, 0);
            cx.b.select(inside, pointer, null)
        }
        ConvertInst::Bitcast => bitcast(cx, from, to)?,
        ConvertInst::ConvertFToBF16INTEL => {
            classes(source.elem == Type::F32.elem, to.elem == Type::I16.elem)?;
            to_bfloat16(&mut cx.b, from)
        }
        ConvertInst::ConvertBF16ToFINTEL => {
            classes(source.elem == Type::I16.elem, to.elem == Type::F32.elem)?;
            let wide = cx.b.int_resize(from, Type::I32.elem, false);
            let half = cx.b.iconst(to.as_int(), 16);
            let bits = cx.b.int2(Opcode::Shl, wide, half);
            cx.b.cast(Opcode::Bitcast, bits, to)
        }
    };
    cx.set(inst, value)
}

/// Floats of 32 bits as the upper halves of floats, rounded to the nearest or even one. NaNs stay NaNs.
fn to_bfloat16(b: &mut Builder<'_>, from: Value) -> Value {
    let ty = b.ty(from).as_int();
    let bits = b.cast(Opcode::Bitcast, from, ty);
    let [half, one, below, quiet] = [16, 1, 0x7fff, 0x40].map(|n| b.iconst(ty, n));
    let upper = b.int2(Opcode::Lshr, bits, half);
    let odd = b.int2(Opcode::And, upper, one);
    let bias = b.int2(Opcode::Iadd, below, odd);
    let sum = b.int2(Opcode::Iadd, bits, bias);
    let rounded = b.int2(Opcode::Lshr, sum, half);
    let nan = b.int2(Opcode::Or, upper, quiet);
    let is_nan = b.fcmp(FloatCond::Uno, from, from);
    let chosen = b.select(is_nan, nan, rounded);
    b.int_resize(chosen, Type::I16.elem, false)
}

/// A pointer converted to another address space.
fn pointer_cast(cx: &mut FuncCx<'_>, from: Value, to: Type) -> Value {
    if cx.b.ty(from) == to { from } else { cx.b.cast(Opcode::SpaceCast, from, to) }
}

/// A value's bits as another type.
fn bitcast(cx: &mut FuncCx<'_>, from: Value, to: Type) -> Result<Value, InstError> {
    let source = cx.b.ty(from);
    if source == to {
        return Ok(from);
    }
    if source.is_bool() || to.is_bool() || source.bits() != to.bits() {
        return Err(InstError::malformed(format!("the instruction cannot convert {source} to {to}")));
    }
    if source.is_ptr() && to.is_ptr() {
        return Ok(pointer_cast(cx, from, to));
    }
    let plain = if source.is_ptr() { cx.b.cast(Opcode::PtrToInt, from, source.as_int()) } else { from };
    if to.is_ptr() {
        let address =
            if cx.b.ty(plain) == to.as_int() { plain } else { cx.b.cast(Opcode::Bitcast, plain, to.as_int()) };
        return Ok(cx.b.cast(Opcode::IntToPtr, address, to));
    }
    Ok(if cx.b.ty(plain) == to { plain } else { cx.b.cast(Opcode::Bitcast, plain, to) })
}

/// An integer clamped to the range of another integer type.
fn saturating(b: &mut Builder<'_>, value: Value, signed: bool, to: Type, to_signed: bool) -> Value {
    let from = b.ty(value);
    let (low, high) = clift_kir::eval::int::signed_range(to.elem);
    let unsigned_high = i128::from(to.elem.mask());
    let mut value = value;
    // Values are clamped in the source's width, so only bounds within its range have an effect.
    if signed {
        let least = if to_signed { low } else { 0 };
        let (own_low, own_high) = clift_kir::eval::int::signed_range(from.elem);
        if least > own_low {
            let bound = b.iconst(from, least as i64);
            value = b.int2(Opcode::Smax, value, bound);
        }
        let most = if to_signed { high } else { unsigned_high };
        if most < own_high {
            let bound = b.iconst(from, most as i64);
            value = b.int2(Opcode::Smin, value, bound);
        }
    } else {
        let most = if to_signed { high } else { unsigned_high };
        if most < i128::from(from.elem.mask()) {
            let bound = b.iconst(from, most as i64);
            value = b.int2(Opcode::Umin, value, bound);
        }
    }
    b.int_resize(value, to.elem, signed)
}

/// The rounding mode of a decoration.
pub(super) fn rounding(mode: FPRoundingMode) -> Rounding {
    match mode {
        FPRoundingMode::RTE => Rounding::NearestEven,
        FPRoundingMode::RTZ => Rounding::TowardZero,
        FPRoundingMode::RTP => Rounding::Up,
        FPRoundingMode::RTN => Rounding::Down,
    }
}
