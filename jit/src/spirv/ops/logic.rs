//! Comparisons, classifications, logic and selection.

use clift_kir::{Elem, FloatCond, FpFlags, IntCond, Opcode, Type, Value};
use rspirv::spirv::Op;

use super::arith::float;
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, Val};
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let value = match inst.op() {
        Op::Any | Op::All => {
            let mut mask = cx.value(inst.id(0)?)?;
            let ty = cx.b.ty(mask);
            if ty.is_int() {
                // Not valid SPIR-V, but clang's back end writes it for OpenCL C's `any` and `all`, which test the sign bits.
                let zero = cx.b.iconst(ty, 0);
                mask = cx.b.icmp(IntCond::Slt, mask, zero);
            } else if !ty.is_bool() {
                return Err(InstError::malformed("the operand is not a vector of Booleans"));
            }
            match inst.op() {
                _ if !ty.is_vector() => mask,
                Op::Any => cx.b.any(mask),
                _ => cx.b.all(mask),
            }
        }
        Op::IsNan | Op::IsInf | Op::IsFinite | Op::IsNormal | Op::SignBitSet => classify(cx, inst)?,
        Op::LogicalEqual => logical(cx, inst, |cx, a, b| cx.b.icmp(IntCond::Eq, a, b))?,
        Op::LogicalNotEqual => logical(cx, inst, |cx, a, b| cx.b.icmp(IntCond::Ne, a, b))?,
        Op::LogicalOr => logical(cx, inst, |cx, a, b| cx.b.int2(Opcode::Or, a, b))?,
        Op::LogicalAnd => logical(cx, inst, |cx, a, b| cx.b.int2(Opcode::And, a, b))?,
        Op::LogicalNot => {
            let a = cx.value(inst.id(0)?)?;
            if !cx.b.ty(a).is_bool() {
                return Err(InstError::malformed("the operand is not a Boolean"));
            }
            cx.b.int1(Opcode::Not, a)
        }
        Op::Select => return select(cx, inst),
        Op::IEqual => compare(cx, inst, IntCond::Eq)?,
        Op::INotEqual => compare(cx, inst, IntCond::Ne)?,
        Op::UGreaterThan => compare(cx, inst, IntCond::Ugt)?,
        Op::SGreaterThan => compare(cx, inst, IntCond::Sgt)?,
        Op::UGreaterThanEqual => compare(cx, inst, IntCond::Uge)?,
        Op::SGreaterThanEqual => compare(cx, inst, IntCond::Sge)?,
        Op::ULessThan => compare(cx, inst, IntCond::Ult)?,
        Op::SLessThan => compare(cx, inst, IntCond::Slt)?,
        Op::ULessThanEqual => compare(cx, inst, IntCond::Ule)?,
        Op::SLessThanEqual => compare(cx, inst, IntCond::Sle)?,
        Op::Ordered => compare_floats(cx, inst, FloatCond::Ord)?,
        Op::Unordered => compare_floats(cx, inst, FloatCond::Uno)?,
        Op::LessOrGreater | Op::FOrdNotEqual => compare_floats(cx, inst, FloatCond::One)?,
        Op::FOrdEqual => compare_floats(cx, inst, FloatCond::Oeq)?,
        Op::FUnordEqual => compare_floats(cx, inst, FloatCond::Ueq)?,
        Op::FUnordNotEqual => compare_floats(cx, inst, FloatCond::Une)?,
        Op::FOrdLessThan => compare_floats(cx, inst, FloatCond::Olt)?,
        Op::FUnordLessThan => compare_floats(cx, inst, FloatCond::Ult)?,
        Op::FOrdGreaterThan => compare_floats(cx, inst, FloatCond::Ogt)?,
        Op::FUnordGreaterThan => compare_floats(cx, inst, FloatCond::Ugt)?,
        Op::FOrdLessThanEqual => compare_floats(cx, inst, FloatCond::Ole)?,
        Op::FUnordLessThanEqual => compare_floats(cx, inst, FloatCond::Ule)?,
        Op::FOrdGreaterThanEqual => compare_floats(cx, inst, FloatCond::Oge)?,
        Op::FUnordGreaterThanEqual => compare_floats(cx, inst, FloatCond::Uge)?,
        _ => unreachable!("broken invariant: {} is not logic", inst.name()),
    };
    cx.set(inst, value)
}

/// An op on two Booleans, or vectors of them.
fn logical(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    op: impl Fn(&mut FuncCx<'_>, Value, Value) -> Value,
) -> Result<Value, InstError> {
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    if !cx.b.ty(a).is_bool() {
        return Err(InstError::malformed("the operands are not Booleans"));
    }
    Ok(op(cx, a, b))
}

/// A comparison of integers, or of pointers, for which some producers use the same instructions.
fn compare(cx: &mut FuncCx<'_>, inst: &Inst, cond: IntCond) -> Result<Value, InstError> {
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    let ty = cx.b.ty(a);
    if ty.is_ptr() {
        let int = ty.as_int();
        let (a, b) = (cx.b.cast(Opcode::PtrToInt, a, int), cx.b.cast(Opcode::PtrToInt, b, int));
        return Ok(cx.b.icmp(cond, a, b));
    }
    if ty.is_float() && cx.unit.module.generator == llvm_backend::GENERATOR && matches!(cond, IntCond::Eq | IntCond::Ne)
    {
        // Clang's back end compares floats with integer comparisons to test whether a compare-exchange succeeded.
        let [a, b] = [a, b].map(|value| cx.b.cast(Opcode::Bitcast, value, ty.as_int()));
        return Ok(cx.b.icmp(cond, a, b));
    }
    if !ty.is_int() {
        return Err(InstError::malformed("the operands are not integers"));
    }
    Ok(cx.b.icmp(cond, a, b))
}

/// A comparison of floats.
fn compare_floats(cx: &mut FuncCx<'_>, inst: &Inst, cond: FloatCond) -> Result<Value, InstError> {
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    float(cx, a)?;
    cx.set_fp(inst);
    if matches!(cond, FloatCond::Ord | FloatCond::Uno) {
        // Tests for NaN must work even if the build options exclude NaN.
        let flags = cx.b.fp_flags() - (FpFlags::NO_NAN | FpFlags::NO_INF);
        cx.b.set_fp_flags(flags);
    }
    Ok(cx.b.fcmp(cond, a, b))
}

/// Instructions that classify floats. They test bits, so that fast-math flags do not affect the result.
fn classify(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<Value, InstError> {
    let a = cx.value(inst.id(0)?)?;
    float(cx, a)?;
    let ty = cx.b.ty(a);
    let int = ty.as_int();
    let (infinity, least_normal) = match ty.elem {
        Elem::F16 => (0x7c00, 0x0400),
        Elem::F32 => (0x7f80_0000, 0x0080_0000),
        Elem::F64 => (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: {ty} is no float")
        }
    };
    let bits = cx.b.cast(Opcode::Bitcast, a, int);
    if inst.op() == Op::SignBitSet {
        let zero = cx.b.iconst(int, 0);
        return Ok(cx.b.icmp(IntCond::Slt, bits, zero));
    }
    let magnitude = cx.b.iconst(int, (ty.elem.mask() >> 1) as i64);
    let magnitude = cx.b.int2(Opcode::And, bits, magnitude);
    let infinity = cx.b.iconst(int, infinity);
    Ok(match inst.op() {
        Op::IsNan => cx.b.icmp(IntCond::Ugt, magnitude, infinity),
        Op::IsInf => cx.b.icmp(IntCond::Eq, magnitude, infinity),
        Op::IsFinite => cx.b.icmp(IntCond::Ult, magnitude, infinity),
        Op::IsNormal => {
            let least = cx.b.iconst(int, least_normal);
            let (above, below) =
                (cx.b.icmp(IntCond::Uge, magnitude, least), cx.b.icmp(IntCond::Ult, magnitude, infinity));
            cx.b.int2(Opcode::And, above, below)
        }
        _ => unreachable!("broken invariant: {} classifies nothing", inst.name()),
    })
}

/// Selection between values of any type.
fn select(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let ty = inst.result_type()?;
    let cond = cx.value(inst.id(0)?)?;
    let cond_ty = cx.b.ty(cond);
    if !cond_ty.is_bool() {
        return Err(InstError::malformed("the condition is not a Boolean"));
    }
    for operand in [1, 2] {
        let id = inst.id(operand)?;
        if !cx.unit.types.same_shape(cx.type_of(id)?, ty)? {
            return Err(InstError::malformed("an object does not have the result type"));
        }
    }
    let (a, b) = (cx.val(inst.id(1)?)?, cx.val(inst.id(2)?)?);
    match (a, b) {
        (Val::Leaves(a), Val::Leaves(b)) => {
            let fits = |v: &Value| cond_ty == Type::B1 || cx.b.ty(*v).as_mask() == cond_ty;
            if !a.iter().all(fits) || (cond_ty.is_vector() && a.len() != 1) {
                return Err(InstError::malformed("condition and objects have different numbers of components"));
            }
            let leaves = a.iter().zip(&b).map(|(&a, &b)| cx.b.select(cond, a, b)).collect();
            cx.set_val(inst, Val::Leaves(leaves))
        }
        (a @ (Val::Leaves(_) | Val::Memory(_)), b @ (Val::Leaves(_) | Val::Memory(_))) => {
            if cond_ty.is_vector() {
                return Err(InstError::malformed("the condition for composites is not a scalar Boolean"));
            }
            let (a, b) = (private_copy(cx, ty, &a)?, private_copy(cx, ty, &b)?);
            let address = cx.b.select(cond, a, b);
            cx.set_val(inst, Val::Memory(address))
        }
        (Val::BuiltIn(_), _) | (_, Val::BuiltIn(_)) => {
            let (a, b) = (cx.value(inst.id(1)?)?, cx.value(inst.id(2)?)?);
            if cond_ty.is_vector() {
                return Err(InstError::malformed("condition and objects have different numbers of components"));
            }
            let pointer = cx.b.select(cond, a, b);
            cx.set(inst, pointer)
        }
    }
}

/// The address of private memory that holds a large value.
pub(super) fn private_copy(cx: &mut FuncCx<'_>, ty: u32, val: &Val) -> Result<Value, InstError> {
    let address = cx.in_memory(ty, val)?;
    if cx.b.ty(address) == Type::ptr(clift_kir::Space::Private) {
        return Ok(address);
    }
    let info = cx.type_info(ty)?;
    cx.copy_to_slot(address, info, crate::spirv::lower::MemAccess::aligned(info.align))
}
