//! Operations in which the work-items of a group or sub-group exchange values: votes, reductions, scans, broadcasts, shuffles.
//!
//! Kir has few of them. A vote is a reduction of truth values; a broadcast in a work-group is the bitwise or of the one value
//! that is not zeroed; every shuffle is the one by number. Ballots and what is computed from them are in `ballot.rs`.

use clift_kir::{AtomicOp, Elem, FloatCond, GroupInfo, IntCond, MemScope, Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{GroupOperation, Op};

use super::ballot::first_here;
use super::group::execution_scope;
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Fault, Inst};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), Fault> {
    let scope = execution_scope(cx, inst.id(0)?)?;
    let value = match inst.op() {
        Op::GroupAll | Op::GroupNonUniformAll => {
            let truth = truth(cx, inst.id(1)?)?;
            reduce(cx, scope, AtomicOp::And, truth)
        }
        Op::GroupAny | Op::GroupNonUniformAny => {
            let truth = truth(cx, inst.id(1)?)?;
            reduce(cx, scope, AtomicOp::Or, truth)
        }
        Op::GroupNonUniformAllEqual => {
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
        Op::GroupBroadcast if scope == MemScope::WorkGroup => broadcast(cx, inst)?,
        Op::GroupBroadcast | Op::GroupNonUniformBroadcast | Op::GroupNonUniformShuffle => {
            sub_group(scope)?;
            let value = exchanged(cx, inst.id(1)?)?;
            let number = number(cx, inst.id(2)?)?;
            cx.b.group_shuffle(value, number)
        }
        Op::GroupNonUniformBroadcastFirst => {
            sub_group(scope)?;
            let value = exchanged(cx, inst.id(1)?)?;
            let first = first_here(cx);
            cx.b.group_shuffle(value, first)
        }
        Op::GroupNonUniformShuffleXor => shuffle(cx, inst, scope, Opcode::Xor)?,
        Op::GroupNonUniformShuffleUp => shuffle(cx, inst, scope, Opcode::Isub)?,
        Op::GroupNonUniformShuffleDown => shuffle(cx, inst, scope, Opcode::Iadd)?,
        Op::GroupNonUniformRotateKHR => rotate(cx, inst, scope)?,
        op => match operation(op) {
            Some((class, operation)) => combine(cx, inst, scope, class, operation)?,
            None => unreachable!("broken invariant: {} exchanges no values", inst.name()),
        },
    };
    cx.set(inst, value)
}

/// What an operation combines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Int,
    Float,
    Bool,
}

/// What an instruction's reductions and scans combine, and how.
fn operation(op: Op) -> Option<(Class, AtomicOp)> {
    Some(match op {
        Op::GroupIAdd | Op::GroupNonUniformIAdd => (Class::Int, AtomicOp::Add),
        Op::GroupIMulKHR | Op::GroupNonUniformIMul => (Class::Int, AtomicOp::Mul),
        Op::GroupUMin | Op::GroupNonUniformUMin => (Class::Int, AtomicOp::Umin),
        Op::GroupSMin | Op::GroupNonUniformSMin => (Class::Int, AtomicOp::Smin),
        Op::GroupUMax | Op::GroupNonUniformUMax => (Class::Int, AtomicOp::Umax),
        Op::GroupSMax | Op::GroupNonUniformSMax => (Class::Int, AtomicOp::Smax),
        Op::GroupBitwiseAndKHR | Op::GroupNonUniformBitwiseAnd => (Class::Int, AtomicOp::And),
        Op::GroupBitwiseOrKHR | Op::GroupNonUniformBitwiseOr => (Class::Int, AtomicOp::Or),
        Op::GroupBitwiseXorKHR | Op::GroupNonUniformBitwiseXor => (Class::Int, AtomicOp::Xor),
        Op::GroupFAdd | Op::GroupNonUniformFAdd => (Class::Float, AtomicOp::Fadd),
        Op::GroupFMulKHR | Op::GroupNonUniformFMul => (Class::Float, AtomicOp::Fmul),
        Op::GroupFMin | Op::GroupNonUniformFMin => (Class::Float, AtomicOp::Fmin),
        Op::GroupFMax | Op::GroupNonUniformFMax => (Class::Float, AtomicOp::Fmax),
        Op::GroupLogicalAndKHR | Op::GroupNonUniformLogicalAnd => (Class::Bool, AtomicOp::And),
        Op::GroupLogicalOrKHR | Op::GroupNonUniformLogicalOr => (Class::Bool, AtomicOp::Or),
        Op::GroupLogicalXorKHR | Op::GroupNonUniformLogicalXor => (Class::Bool, AtomicOp::Xor),
        _ => return None,
    })
}

/// A reduction or a scan.
fn combine(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    scope: MemScope,
    class: Class,
    operation: AtomicOp,
) -> Result<Value, Fault> {
    let Operand::GroupOperation(how) = *inst.operand(1)? else {
        return Err(Fault::malformed("the group operation is missing"));
    };
    let value = cx.value(inst.id(2)?)?;
    let ty = cx.b.ty(value);
    let fits = match class {
        Class::Int => ty.is_int(),
        Class::Float => ty.is_float(),
        Class::Bool => ty.is_bool(),
    };
    if !fits {
        return Err(Fault::malformed(format!("the instruction cannot combine values of type {ty}")));
    }
    let info = GroupInfo { scope, op: operation, cluster: 0 };
    Ok(match how {
        GroupOperation::Reduce => cx.b.group(Opcode::GroupReduce, info, value),
        GroupOperation::InclusiveScan => cx.b.group(Opcode::GroupScan, info, value),
        GroupOperation::ExclusiveScan => cx.b.group(Opcode::GroupScanExclusive, info, value),
        GroupOperation::ClusteredReduce => {
            sub_group(scope)?;
            let cluster = cluster(cx, inst.id(3)?)?;
            cx.b.group(Opcode::GroupReduce, GroupInfo { cluster, ..info }, value)
        }
        other => return Err(Fault::unsupported(format!("group operation {other:?}"))),
    })
}

/// Work-items per cluster, from a constant.
fn cluster(cx: &mut FuncCx<'_>, id: u32) -> Result<u32, Fault> {
    let size = cx
        .unit
        .consts
        .integer(id)
        .map_err(|_| Fault::malformed("the cluster size is not constant"))?;
    match u32::try_from(size) {
        Ok(size) if size.is_power_of_two() => Ok(size),
        _ => Err(Fault::malformed(format!("the cluster size {size} is not a power of two"))),
    }
}

pub(super) fn reduce(cx: &mut FuncCx<'_>, scope: MemScope, op: AtomicOp, value: Value) -> Value {
    cx.b.group(Opcode::GroupReduce, GroupInfo { scope, op, cluster: 0 }, value)
}

/// Refuses whole work-groups.
pub(super) fn sub_group(scope: MemScope) -> Result<(), Fault> {
    if scope == MemScope::SubGroup { Ok(()) } else { Err(Fault::unsupported("this instruction with work-group scope")) }
}

/// A scalar truth value.
pub(super) fn truth(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, Fault> {
    let value = cx.value(id)?;
    if cx.b.ty(value) == Type::B1 { Ok(value) } else { Err(Fault::malformed("the predicate is not a Boolean")) }
}

/// A value that may go from one work-item to another.
pub(super) fn exchanged(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, Fault> {
    let value = cx.value(id)?;
    if cx.b.ty(value).is_ptr() { Err(Fault::malformed("the operand is a pointer")) } else { Ok(value) }
}

/// A work-item's number in its sub-group, or a difference of two.
pub(super) fn number(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, Fault> {
    let value = cx.scalar_int(id)?;
    Ok(cx.b.int_resize(value, Elem::I32, false))
}

/// The value of the work-item whose number is this one's combined with an operand.
fn shuffle(cx: &mut FuncCx<'_>, inst: &Inst, scope: MemScope, op: Opcode) -> Result<Value, Fault> {
    sub_group(scope)?;
    let value = exchanged(cx, inst.id(1)?)?;
    let by = number(cx, inst.id(2)?)?;
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    let number = cx.b.int2(op, own, by);
    Ok(cx.b.group_shuffle(value, number))
}

/// The value of the work-item so many places further on, around the cluster or the largest possible sub-group.
fn rotate(cx: &mut FuncCx<'_>, inst: &Inst, scope: MemScope) -> Result<Value, Fault> {
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

/// The value of one work-item of a work-group for all: all others' are made zero, and the bits combined.
fn broadcast(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<Value, Fault> {
    let value = exchanged(cx, inst.id(1)?)?;
    let id = cx.value(inst.id(2)?)?;
    let id_ty = cx.b.ty(id);
    if !id_ty.is_int() || id_ty.lanes() > 3 {
        return Err(Fault::malformed("the local id is not an integer or a vector of two or three integers"));
    }
    let mut here = None;
    for dim in 0..3 {
        let wanted = match dim {
            dim if dim < id_ty.lanes() => {
                let wanted = cx.b.extract(id, dim);
                cx.b.int_resize(wanted, Elem::I64, false)
            }
            _ => cx.b.iconst(Type::I64, 0),
        };
        let own = cx.b.query(Opcode::LocalId, dim as u8);
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
