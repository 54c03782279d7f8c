//! Atomic instructions.

use clift_kir::{AtomicInfo, AtomicOp, IntCond, MemOrder, Opcode, Type, Value};

use super::classes::{AtomicInst, UpdateInst};
use super::group::{order, scope};
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: AtomicInst) -> Result<(), InstError> {
    let pointer = cx.pointer(inst.id(0)?)?;
    let info = AtomicInfo { op: AtomicOp::Xchg, order: order(cx, inst.id(2)?)?, scope: scope(cx, inst.id(1)?)? };
    match op {
        AtomicInst::AtomicLoad => {
            let ty = cx.kir_type(inst.result_type()?)?;
            check(ty, true)?;
            let order = match info.order {
                MemOrder::Relaxed | MemOrder::Release => MemOrder::Relaxed,
                MemOrder::Acquire | MemOrder::AcqRel => MemOrder::Acquire,
                MemOrder::SeqCst => MemOrder::SeqCst,
            };
            let value = cx.b.atomic_load(ty, pointer, AtomicInfo { order, ..info });
            cx.set(inst, value)
        }
        AtomicInst::AtomicStore => {
            let value = operand(cx, inst, 3, true)?;
            let order = match info.order {
                MemOrder::Relaxed | MemOrder::Acquire => MemOrder::Relaxed,
                MemOrder::Release | MemOrder::AcqRel => MemOrder::Release,
                MemOrder::SeqCst => MemOrder::SeqCst,
            };
            cx.b.atomic_store(pointer, value, AtomicInfo { order, ..info });
            Ok(())
        }
        AtomicInst::AtomicExchange => {
            let value = operand(cx, inst, 3, true)?;
            let old = cx.b.atomic_rmw(pointer, value, info);
            cx.set(inst, old)
        }
        AtomicInst::AtomicCompareExchange | AtomicInst::AtomicCompareExchangeWeak => {
            // A weak exchange may fail spuriously; this one does not.
            let unequal = order(cx, inst.id(3)?)?;
            let (new, expected) = (operand(cx, inst, 4, true)?, operand(cx, inst, 5, true)?);
            let ty = cx.b.ty(new);
            if ty != cx.b.ty(expected) {
                return Err(InstError::malformed("value and comparator have different types"));
            }
            let info = AtomicInfo { order: stronger(info.order, unequal), ..info };
            if !ty.is_float() {
                let old = cx.b.atomic_cmpxchg(pointer, expected, new, info);
                return cx.set(inst, old);
            }
            // Not valid SPIR-V, but clang's back end writes it for OpenCL C's compare-exchange of floats, which compares bits.
            let [new, expected] = [new, expected].map(|value| cx.b.cast(Opcode::Bitcast, value, ty.as_int()));
            let old = cx.b.atomic_cmpxchg(pointer, expected, new, info);
            let old = cx.b.cast(Opcode::Bitcast, old, ty);
            cx.set(inst, old)
        }
        AtomicInst::AtomicFlagTestAndSet => {
            let one = cx.b.iconst(Type::I32, 1);
            let old = cx.b.atomic_rmw(pointer, one, info);
            let zero = cx.b.iconst(Type::I32, 0);
            let was_set = cx.b.icmp(IntCond::Ne, old, zero);
            cx.set(inst, was_set)
        }
        AtomicInst::AtomicFlagClear => {
            let zero = cx.b.iconst(Type::I32, 0);
            let order = match info.order {
                MemOrder::Relaxed | MemOrder::Acquire => MemOrder::Relaxed,
                MemOrder::Release | MemOrder::AcqRel => MemOrder::Release,
                MemOrder::SeqCst => MemOrder::SeqCst,
            };
            cx.b.atomic_store(pointer, zero, AtomicInfo { order, ..info });
            Ok(())
        }
    }
}

/// Imports atomic read-modify-write arithmetic.
pub(super) fn update(cx: &mut FuncCx<'_>, inst: &Inst, op: UpdateInst) -> Result<(), InstError> {
    let (op, operands) = match op {
        UpdateInst::AtomicIIncrement => (AtomicOp::Add, Updated::ByOne),
        UpdateInst::AtomicIDecrement => (AtomicOp::Sub, Updated::ByOne),
        UpdateInst::AtomicIAdd => (AtomicOp::Add, Updated::Integer),
        UpdateInst::AtomicISub => (AtomicOp::Sub, Updated::Integer),
        UpdateInst::AtomicSMin => (AtomicOp::Smin, Updated::Integer),
        UpdateInst::AtomicUMin => (AtomicOp::Umin, Updated::Integer),
        UpdateInst::AtomicSMax => (AtomicOp::Smax, Updated::Integer),
        UpdateInst::AtomicUMax => (AtomicOp::Umax, Updated::Integer),
        UpdateInst::AtomicAnd => (AtomicOp::And, Updated::Integer),
        UpdateInst::AtomicOr => (AtomicOp::Or, Updated::Integer),
        UpdateInst::AtomicXor => (AtomicOp::Xor, Updated::Integer),
        UpdateInst::AtomicFAddEXT => (AtomicOp::Fadd, Updated::Float),
        UpdateInst::AtomicFMinEXT => (AtomicOp::Fmin, Updated::Float),
        UpdateInst::AtomicFMaxEXT => (AtomicOp::Fmax, Updated::Float),
    };
    let pointer = cx.pointer(inst.id(0)?)?;
    let info = AtomicInfo { op, order: order(cx, inst.id(2)?)?, scope: scope(cx, inst.id(1)?)? };
    let value = match operands {
        Updated::ByOne => {
            let ty = cx.kir_type(inst.result_type()?)?;
            check(ty, false)?;
            cx.b.iconst(ty, 1)
        }
        Updated::Integer | Updated::Float => {
            let float = operands == Updated::Float;
            let value = operand(cx, inst, 3, float)?;
            if cx.b.ty(value).is_float() != float {
                let class = if float { "a float" } else { "an integer" };
                return Err(InstError::malformed(format!("the value is not {class}")));
            }
            value
        }
    };
    let old = cx.b.atomic_rmw(pointer, value, info);
    cx.set(inst, old)
}

/// What an atomic object is updated with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Updated {
    ByOne,
    Integer,
    Float,
}

/// The stronger of two orders, for a compare-exchange that has one order for each outcome.
fn stronger(equal: MemOrder, unequal: MemOrder) -> MemOrder {
    match (equal, unequal) {
        (MemOrder::Release, MemOrder::Acquire) => MemOrder::AcqRel,
        _ => equal.max(unequal),
    }
}

/// Checks the type of an atomic object.
fn check(ty: Type, float: bool) -> Result<(), InstError> {
    let class = ty.is_int() || (float && ty.is_float());
    if ty.is_vector() || !class {
        return Err(InstError::malformed(format!("the instruction cannot access {ty}")));
    }
    let has_atomics = match ty.elem.bits() {
        32 | 64 => true,
        // There are atomics for 16-bit floats, but not for 16-bit integers.
        16 => ty.is_float(),
        _ => false,
    };
    if !has_atomics {
        return Err(InstError::unsupported(format!("atomic accesses to {ty}")));
    }
    Ok(())
}

/// A value operand.
fn operand(cx: &mut FuncCx<'_>, inst: &Inst, index: usize, float: bool) -> Result<Value, InstError> {
    let value = cx.value(inst.id(index)?)?;
    check(cx.b.ty(value), float)?;
    Ok(value)
}
