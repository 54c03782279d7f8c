//! Shifts, bitwise logic and bit fields.

use clift_kir::{IntCond, Opcode, Type, Value, WrapFlags};

use super::arith::{int, int2};
use super::classes::BitInst;
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: BitInst) -> Result<(), InstError> {
    let value = match op {
        BitInst::ShiftRightLogical => shift(cx, inst, Opcode::Lshr)?,
        BitInst::ShiftRightArithmetic => shift(cx, inst, Opcode::Ashr)?,
        BitInst::ShiftLeftLogical => shift(cx, inst, Opcode::Shl)?,
        BitInst::BitwiseOr => int2(cx, inst, Opcode::Or)?,
        BitInst::BitwiseXor => int2(cx, inst, Opcode::Xor)?,
        BitInst::BitwiseAnd => int2(cx, inst, Opcode::And)?,
        BitInst::Not => int1(cx, inst, Opcode::Not)?,
        BitInst::BitReverse => int1(cx, inst, Opcode::Bitrev)?,
        BitInst::BitCount => {
            let count = int1(cx, inst, Opcode::Popcnt)?;
            let to = cx.kir_type(inst.result_type()?)?;
            if !to.is_int() {
                return Err(InstError::malformed("the result type is not an integer"));
            }
            cx.b.int_resize(count, to.elem, false)
        }
        BitInst::BitFieldInsert => {
            let (base, insert) = cx.pair(inst.id(0)?, inst.id(1)?)?;
            let field = BitField::new(cx, inst, base, 2)?;
            let mask = field.mask(cx);
            let insert = cx.b.int2(Opcode::And, insert, mask);
            let insert = cx.b.int2(Opcode::Shl, insert, field.offset);
            let hole = cx.b.int2(Opcode::Shl, mask, field.offset);
            let hole = cx.b.int1(Opcode::Not, hole);
            let rest = cx.b.int2(Opcode::And, base, hole);
            cx.b.int2(Opcode::Or, rest, insert)
        }
        BitInst::BitFieldUExtract => {
            let base = cx.value(inst.id(0)?)?;
            let field = BitField::new(cx, inst, base, 1)?;
            let mask = field.mask(cx);
            let low = cx.b.int2(Opcode::Lshr, base, field.offset);
            cx.b.int2(Opcode::And, low, mask)
        }
        BitInst::BitFieldSExtract => {
            let base = cx.value(inst.id(0)?)?;
            let field = BitField::new(cx, inst, base, 1)?;
            let mask = field.mask(cx);
            let low = cx.b.int2(Opcode::Lshr, base, field.offset);
            let low = cx.b.int2(Opcode::And, low, mask);
            // Shift counts are taken modulo the width: an empty field, which is already zero, is shifted by 0.
            let width = cx.b.iconst(field.ty, field.ty.elem.bits().into());
            let up = cx.b.int2(Opcode::Isub, width, field.count);
            let high = cx.b.int2(Opcode::Shl, low, up);
            cx.b.int2(Opcode::Ashr, high, up)
        }
    };
    cx.set(inst, value)
}

/// An op on one integer.
fn int1(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<Value, InstError> {
    let a = cx.value(inst.id(0)?)?;
    int(cx, a)?;
    Ok(cx.b.int1(op, a))
}

/// A shift; the count may have a different width than the value.
fn shift(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<Value, InstError> {
    let (base, count) = (cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?);
    int(cx, base)?;
    int(cx, count)?;
    let ty = cx.b.ty(base);
    if cx.b.ty(count).lanes() != ty.lanes() {
        return Err(InstError::malformed("base and shift have different numbers of components"));
    }
    let count = cx.b.int_resize(count, ty.elem, false);
    let flags = if op == Opcode::Shl { cx.wrap_flags(inst) } else { WrapFlags::empty() };
    Ok(cx.b.int2_wrap(op, base, count, flags))
}

/// Offset and size of a bit field, in each lane of the base type.
struct BitField {
    ty: Type,
    offset: Value,
    count: Value,
}

impl BitField {
    fn new(cx: &mut FuncCx<'_>, inst: &Inst, base: Value, operand: usize) -> Result<BitField, InstError> {
        int(cx, base)?;
        let ty = cx.b.ty(base);
        let mut lanes = |index| -> Result<Value, InstError> {
            let value = cx.scalar_int(inst.id(index)?)?;
            let value = cx.b.int_resize(value, ty.elem, false);
            Ok(cx.b.splat(value, ty.lanes()))
        };
        Ok(BitField { ty, offset: lanes(operand)?, count: lanes(operand + 1)? })
    }

    /// A mask with as many low bits set as the field has.
    fn mask(&self, cx: &mut FuncCx<'_>) -> Value {
        let (ones, one) = (cx.b.iconst(self.ty, -1), cx.b.iconst(self.ty, 1));
        let width = cx.b.iconst(self.ty, self.ty.elem.bits().into());
        let partial = cx.b.int2(Opcode::Shl, one, self.count);
        let partial = cx.b.int2(Opcode::Isub, partial, one);
        let whole = cx.b.icmp(IntCond::Uge, self.count, width);
        cx.b.select(whole, ones, partial)
    }
}
