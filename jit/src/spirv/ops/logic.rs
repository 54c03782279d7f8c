//! Comparisons, classifications, logic and selection.

use clift_kir::{Elem, FloatCond, FpFlags, IntCond, Opcode, Type, Value};

use super::arith::float;
use super::classes::{ClassifyInst, LogicInst};
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, Val};
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: LogicInst) -> Result<(), InstError> {
    let value = match op {
        LogicInst::Any | LogicInst::All => {
            let mut mask = cx.value(inst.id(0)?)?;
            let ty = cx.b.ty(mask);
            if ty.is_int() {
                // Not valid SPIR-V, but clang's back end writes it for OpenCL C's `any` and `all`, which test the sign bits.
                let zero = cx.b.iconst(ty, 0);
                mask = cx.b.icmp(IntCond::Slt, mask, zero);
            } else if !ty.is_bool() {
                return Err(InstError::malformed("the operand is not a vector of Booleans"));
            }
            if !ty.is_vector() {
                mask
            } else if op == LogicInst::Any {
                cx.b.any(mask)
            } else {
                cx.b.all(mask)
            }
        }
        LogicInst::LogicalEqual => logical(cx, inst, |cx, a, b| cx.b.icmp(IntCond::Eq, a, b))?,
        LogicInst::LogicalNotEqual => logical(cx, inst, |cx, a, b| cx.b.icmp(IntCond::Ne, a, b))?,
        LogicInst::LogicalOr => logical(cx, inst, |cx, a, b| cx.b.int2(Opcode::Or, a, b))?,
        LogicInst::LogicalAnd => logical(cx, inst, |cx, a, b| cx.b.int2(Opcode::And, a, b))?,
        LogicInst::LogicalNot => {
            let a = cx.value(inst.id(0)?)?;
            if !cx.b.ty(a).is_bool() {
                return Err(InstError::malformed("the operand is not a Boolean"));
            }
            cx.b.int1(Opcode::Not, a)
        }
        LogicInst::Select => return select(cx, inst),
        LogicInst::IEqual => compare(cx, inst, IntCond::Eq)?,
        LogicInst::INotEqual => compare(cx, inst, IntCond::Ne)?,
        LogicInst::UGreaterThan => compare(cx, inst, IntCond::Ugt)?,
        LogicInst::SGreaterThan => compare(cx, inst, IntCond::Sgt)?,
        LogicInst::UGreaterThanEqual => compare(cx, inst, IntCond::Uge)?,
        LogicInst::SGreaterThanEqual => compare(cx, inst, IntCond::Sge)?,
        LogicInst::ULessThan => compare(cx, inst, IntCond::Ult)?,
        LogicInst::SLessThan => compare(cx, inst, IntCond::Slt)?,
        LogicInst::ULessThanEqual => compare(cx, inst, IntCond::Ule)?,
        LogicInst::SLessThanEqual => compare(cx, inst, IntCond::Sle)?,
        LogicInst::Ordered => compare_floats(cx, inst, FloatCond::Ord)?,
        LogicInst::Unordered => compare_floats(cx, inst, FloatCond::Uno)?,
        LogicInst::LessOrGreater | LogicInst::FOrdNotEqual => compare_floats(cx, inst, FloatCond::One)?,
        LogicInst::FOrdEqual => compare_floats(cx, inst, FloatCond::Oeq)?,
        LogicInst::FUnordEqual => compare_floats(cx, inst, FloatCond::Ueq)?,
        LogicInst::FUnordNotEqual => compare_floats(cx, inst, FloatCond::Une)?,
        LogicInst::FOrdLessThan => compare_floats(cx, inst, FloatCond::Olt)?,
        LogicInst::FUnordLessThan => compare_floats(cx, inst, FloatCond::Ult)?,
        LogicInst::FOrdGreaterThan => compare_floats(cx, inst, FloatCond::Ogt)?,
        LogicInst::FUnordGreaterThan => compare_floats(cx, inst, FloatCond::Ugt)?,
        LogicInst::FOrdLessThanEqual => compare_floats(cx, inst, FloatCond::Ole)?,
        LogicInst::FUnordLessThanEqual => compare_floats(cx, inst, FloatCond::Ule)?,
        LogicInst::FOrdGreaterThanEqual => compare_floats(cx, inst, FloatCond::Oge)?,
        LogicInst::FUnordGreaterThanEqual => compare_floats(cx, inst, FloatCond::Uge)?,
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
    let (cond, a, b) = of_quotient(cx, cond, a, b).unwrap_or((cond, a, b));
    Ok(cx.b.icmp(cond, a, b))
}

/// `x < y` for the comparison `x / y == 0` of unsigned integers, and `x >= y` for `x / y != 0`. For a divisor of zero the
/// module's comparison has no specified result; this one is what LLVM's compilers give, on which programs rely. (In the kernel
/// IR such a quotient is 0, so that no later pass may do this.)
fn of_quotient(cx: &FuncCx<'_>, cond: IntCond, a: Value, b: Value) -> Option<(IntCond, Value, Value)> {
    let dfg = &cx.b.func.dfg;
    let (quotient, cond) = match cond {
        IntCond::Eq if dfg.as_splat_bits(b) == Some(0) => (a, IntCond::Ult),
        IntCond::Eq if dfg.as_splat_bits(a) == Some(0) => (b, IntCond::Ult),
        IntCond::Ne | IntCond::Ugt if dfg.as_splat_bits(b) == Some(0) => (a, IntCond::Uge),
        IntCond::Ne | IntCond::Ult if dfg.as_splat_bits(a) == Some(0) => (b, IntCond::Uge),
        IntCond::Eq
        | IntCond::Ne
        | IntCond::Ult
        | IntCond::Ule
        | IntCond::Ugt
        | IntCond::Uge
        | IntCond::Slt
        | IntCond::Sle
        | IntCond::Sgt
        | IntCond::Sge => return None,
    };
    let data = dfg.inst(dfg.def_inst(quotient)?);
    (data.op == Opcode::Udiv).then(|| (cond, data.args[0], data.args[1]))
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
pub(super) fn classify(cx: &mut FuncCx<'_>, inst: &Inst, op: ClassifyInst) -> Result<(), InstError> {
    let a = cx.value(inst.id(0)?)?;
    float(cx, a)?;
    let ty = cx.b.ty(a);
    let int = ty.as_int();
    let (infinity, least_normal) = match ty.elem {
        Elem::F16 => (0x7c00, 0x0400),
        Elem::F32 => (0x7f80_0000, 0x0080_0000),
        Elem::F64 => (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: {ty} is not a float")
        }
    };
    let bits = cx.b.cast(Opcode::Bitcast, a, int);
    let magnitude = cx.b.iconst(int, (ty.elem.mask() >> 1) as i64);
    let magnitude = cx.b.int2(Opcode::And, bits, magnitude);
    let infinity = cx.b.iconst(int, infinity);
    let value = match op {
        ClassifyInst::SignBitSet => {
            let zero = cx.b.iconst(int, 0);
            cx.b.icmp(IntCond::Slt, bits, zero)
        }
        ClassifyInst::IsNan => cx.b.icmp(IntCond::Ugt, magnitude, infinity),
        ClassifyInst::IsInf => cx.b.icmp(IntCond::Eq, magnitude, infinity),
        ClassifyInst::IsFinite => cx.b.icmp(IntCond::Ult, magnitude, infinity),
        ClassifyInst::IsNormal => {
            let least = cx.b.iconst(int, least_normal);
            let (above, below) =
                (cx.b.icmp(IntCond::Uge, magnitude, least), cx.b.icmp(IntCond::Ult, magnitude, infinity));
            cx.b.int2(Opcode::And, above, below)
        }
    };
    cx.set(inst, value)
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
