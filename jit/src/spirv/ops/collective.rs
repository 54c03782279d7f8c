//! Operations in which the work-items of a group or sub-group exchange values: votes, reductions, scans, broadcasts, shuffles.
//!
//! Kir has few of them. A vote is a reduction of Booleans; a broadcast in a work-group is the bitwise or of the value and zeros
//! for all other work-items; all shuffles are the shuffle by work-item number. Ballots and operations on them are in `ballot.rs`.

use clift_kir::{AtomicOp, Elem, FloatCond, GroupInfo, IntCond, MemScope, Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::GroupOperation;

use super::ballot::first_here;
use super::classes::{CollectiveInst, CombineInst};
use super::group::execution_scope;
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: CollectiveInst) -> Result<(), InstError> {
    let scope = execution_scope(cx, inst.id(0)?)?;
    let value = match op {
        CollectiveInst::GroupAll | CollectiveInst::GroupNonUniformAll => {
            let truth = truth(cx, inst.id(1)?)?;
            reduce(cx, scope, AtomicOp::And, truth)
        }
        CollectiveInst::GroupAny | CollectiveInst::GroupNonUniformAny => {
            let truth = truth(cx, inst.id(1)?)?;
            reduce(cx, scope, AtomicOp::Or, truth)
        }
        CollectiveInst::GroupNonUniformAllEqual => {
            sub_group(scope)?;
            let value = exchanged(cx, inst.id(1)?)?;
            let first = first_here(cx);
            let other = cx.b.group_shuffle(value, first);
            let mut same = if cx.b.ty(value).is_float() {
                cx.b.fcmp(FloatCond::Oeq, value, other)
            } else {
                cx.b.icmp(IntCond::Eq, value, other)
            };
            if cx.b.ty(same).is_vector() {
                same = cx.b.all(same);
            }
            reduce(cx, scope, AtomicOp::And, same)
        }
        CollectiveInst::GroupBroadcast if scope == MemScope::WorkGroup => broadcast(cx, inst)?,
        CollectiveInst::GroupBroadcast
        | CollectiveInst::GroupNonUniformBroadcast
        | CollectiveInst::GroupNonUniformShuffle => {
            sub_group(scope)?;
            let value = exchanged(cx, inst.id(1)?)?;
            let number = number(cx, inst.id(2)?)?;
            cx.b.group_shuffle(value, number)
        }
        CollectiveInst::GroupNonUniformBroadcastFirst => {
            sub_group(scope)?;
            let value = exchanged(cx, inst.id(1)?)?;
            let first = first_here(cx);
            cx.b.group_shuffle(value, first)
        }
        CollectiveInst::GroupNonUniformShuffleXor => shuffle(cx, inst, scope, Opcode::Xor)?,
        CollectiveInst::GroupNonUniformShuffleUp => shuffle(cx, inst, scope, Opcode::Isub)?,
        CollectiveInst::GroupNonUniformShuffleDown => shuffle(cx, inst, scope, Opcode::Iadd)?,
        CollectiveInst::GroupNonUniformRotateKHR => rotate(cx, inst, scope)?,
    };
    cx.set(inst, value)
}

/// The class of an operation's operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandClass {
    Int,
    Float,
    Bool,
}

/// Imports a reduction or a scan.
pub(super) fn combine(cx: &mut FuncCx<'_>, inst: &Inst, op: CombineInst) -> Result<(), InstError> {
    let (class, operation) = match op {
        CombineInst::GroupIAdd | CombineInst::GroupNonUniformIAdd => (OperandClass::Int, AtomicOp::Add),
        CombineInst::GroupIMulKHR | CombineInst::GroupNonUniformIMul => (OperandClass::Int, AtomicOp::Mul),
        CombineInst::GroupUMin | CombineInst::GroupNonUniformUMin => (OperandClass::Int, AtomicOp::Umin),
        CombineInst::GroupSMin | CombineInst::GroupNonUniformSMin => (OperandClass::Int, AtomicOp::Smin),
        CombineInst::GroupUMax | CombineInst::GroupNonUniformUMax => (OperandClass::Int, AtomicOp::Umax),
        CombineInst::GroupSMax | CombineInst::GroupNonUniformSMax => (OperandClass::Int, AtomicOp::Smax),
        CombineInst::GroupBitwiseAndKHR | CombineInst::GroupNonUniformBitwiseAnd => (OperandClass::Int, AtomicOp::And),
        CombineInst::GroupBitwiseOrKHR | CombineInst::GroupNonUniformBitwiseOr => (OperandClass::Int, AtomicOp::Or),
        CombineInst::GroupBitwiseXorKHR | CombineInst::GroupNonUniformBitwiseXor => (OperandClass::Int, AtomicOp::Xor),
        CombineInst::GroupFAdd | CombineInst::GroupNonUniformFAdd => (OperandClass::Float, AtomicOp::Fadd),
        CombineInst::GroupFMulKHR | CombineInst::GroupNonUniformFMul => (OperandClass::Float, AtomicOp::Fmul),
        CombineInst::GroupFMin | CombineInst::GroupNonUniformFMin => (OperandClass::Float, AtomicOp::Fmin),
        CombineInst::GroupFMax | CombineInst::GroupNonUniformFMax => (OperandClass::Float, AtomicOp::Fmax),
        CombineInst::GroupLogicalAndKHR | CombineInst::GroupNonUniformLogicalAnd => (OperandClass::Bool, AtomicOp::And),
        CombineInst::GroupLogicalOrKHR | CombineInst::GroupNonUniformLogicalOr => (OperandClass::Bool, AtomicOp::Or),
        CombineInst::GroupLogicalXorKHR | CombineInst::GroupNonUniformLogicalXor => (OperandClass::Bool, AtomicOp::Xor),
    };
    let scope = execution_scope(cx, inst.id(0)?)?;
    let Operand::GroupOperation(how) = *inst.operand(1)? else {
        return Err(InstError::malformed("the group operation is missing"));
    };
    let value = cx.value(inst.id(2)?)?;
    let ty = cx.b.ty(value);
    let fits = match class {
        OperandClass::Int => ty.is_int(),
        OperandClass::Float => ty.is_float(),
        OperandClass::Bool => ty.is_bool(),
    };
    if !fits {
        return Err(InstError::malformed(format!("the instruction cannot combine values of type {ty}")));
    }
    let info = GroupInfo { scope, op: operation, cluster: 0 };
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others, of vendors' extensions, are refused")]
    let value = match how {
        GroupOperation::Reduce => cx.b.group(Opcode::GroupReduce, info, value),
        GroupOperation::InclusiveScan => cx.b.group(Opcode::GroupScan, info, value),
        GroupOperation::ExclusiveScan => cx.b.group(Opcode::GroupScanExclusive, info, value),
        GroupOperation::ClusteredReduce => {
            sub_group(scope)?;
            let cluster = cluster(cx, inst.id(3)?)?;
            cx.b.group(Opcode::GroupReduce, GroupInfo { cluster, ..info }, value)
        }
        other => return Err(InstError::unsupported(format!("group operation {other:?}"))),
    };
    cx.set(inst, value)
}

/// Work-items per cluster, from a constant.
fn cluster(cx: &mut FuncCx<'_>, id: u32) -> Result<u32, InstError> {
    let size = cx.unit.consts.integer(id).map_err(|_| InstError::malformed("the cluster size is not constant"))?;
    match u32::try_from(size) {
        Ok(size) if size.is_power_of_two() => Ok(size),
        _ => Err(InstError::malformed(format!("the cluster size {size} is not a power of two"))),
    }
}

pub(super) fn reduce(cx: &mut FuncCx<'_>, scope: MemScope, op: AtomicOp, value: Value) -> Value {
    cx.b.group(Opcode::GroupReduce, GroupInfo { scope, op, cluster: 0 }, value)
}

/// Rejects work-group scope.
pub(super) fn sub_group(scope: MemScope) -> Result<(), InstError> {
    if scope == MemScope::SubGroup {
        Ok(())
    } else {
        Err(InstError::unsupported("this instruction with work-group scope"))
    }
}

/// A scalar Boolean operand.
pub(super) fn truth(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.value(id)?;
    if cx.b.ty(value) == Type::B1 { Ok(value) } else { Err(InstError::malformed("the predicate is not a Boolean")) }
}

/// An operand that may be exchanged between work-items: not a pointer.
pub(super) fn exchanged(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.value(id)?;
    if cx.b.ty(value).is_ptr() { Err(InstError::malformed("the operand is a pointer")) } else { Ok(value) }
}

/// A work-item's number in its sub-group, or a difference of two.
pub(super) fn number(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.scalar_int(id)?;
    Ok(cx.b.int_resize(value, Elem::I32, false))
}

/// The value of the work-item whose number is this work-item's number combined with an operand.
fn shuffle(cx: &mut FuncCx<'_>, inst: &Inst, scope: MemScope, op: Opcode) -> Result<Value, InstError> {
    sub_group(scope)?;
    let value = exchanged(cx, inst.id(1)?)?;
    let by = number(cx, inst.id(2)?)?;
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    let number = cx.b.int2(op, own, by);
    Ok(cx.b.group_shuffle(value, number))
}

/// The value of the work-item that is a number of places further on, modulo the cluster size or the maximum sub-group size.
fn rotate(cx: &mut FuncCx<'_>, inst: &Inst, scope: MemScope) -> Result<Value, InstError> {
    sub_group(scope)?;
    let value = exchanged(cx, inst.id(1)?)?;
    let by = number(cx, inst.id(2)?)?;
    let size = match inst.len() {
        0..=3 => cx.b.query_linear(Opcode::MaxSubGroupSize),
        _ => {
            let cluster = cluster(cx, inst.id(3)?)?;
            cx.b.iconst(Type::I32, i64::from(cluster))
        }
    };
    let one = cx.b.iconst(Type::I32, 1);
    let within = cx.b.int2(Opcode::Isub, size, one);
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    let sum = cx.b.int2(Opcode::Iadd, own, by);
    let place = cx.b.int2(Opcode::And, sum, within);
    let outside = cx.b.int1(Opcode::Not, within);
    let cluster = cx.b.int2(Opcode::And, own, outside);
    let number = cx.b.int2(Opcode::Or, place, cluster);
    Ok(cx.b.group_shuffle(value, number))
}

/// The value of one work-item of a work-group for all work-items: a bitwise or in which all other values are zero.
fn broadcast(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<Value, InstError> {
    let value = exchanged(cx, inst.id(1)?)?;
    let id = cx.value(inst.id(2)?)?;
    let id_ty = cx.b.ty(id);
    if !id_ty.is_int() || id_ty.lanes() > 3 {
        return Err(InstError::malformed("the local id is not an integer or a vector of two or three integers"));
    }
    // No group has as many work-items as need more than 32 bits.
    let mut here = None;
    for dim in 0..3 {
        let wanted = match dim {
            dim if dim < id_ty.lanes() => {
                let wanted = cx.b.extract(id, dim);
                cx.b.int_resize(wanted, Elem::I32, false)
            }
            _ => cx.b.iconst(Type::I32, 0),
        };
        let own = cx.b.query(Opcode::LocalId, dim as u8);
        let own = cx.b.cast(Opcode::Itrunc, own, Type::I32);
        let same = cx.b.icmp(IntCond::Eq, own, wanted);
        here = Some(match here {
            None => same,
            Some(here) => cx.b.int2(Opcode::And, here, same),
        });
    }
    let Some(here) = here else { unreachable!("broken invariant: a type without lanes") };
    let ty = cx.b.ty(value);
    let bits_ty = if ty.is_float() { ty.as_int() } else { ty };
    let bits = if bits_ty == ty { value } else { cx.b.cast(Opcode::Bitcast, value, bits_ty) };
    let zero = cx.b.iconst(bits_ty, 0);
    let own = cx.b.select(here, bits, zero);
    let bits = reduce(cx, MemScope::WorkGroup, AtomicOp::Or, own);
    Ok(if bits_ty == ty { bits } else { cx.b.cast(Opcode::Bitcast, bits, ty) })
}
