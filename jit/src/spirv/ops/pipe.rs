//! Pipes: access to packets, reservations, queries. The operations on a pipe's memory are in `builtins/pipe`.

use clift_kir::{AtomicOp, BarrierInfo, BlockCall, GroupInfo, IntCond, MemScope, Opcode, Space, SpaceSet, Type, Value};
use rspirv::spirv::AccessQualifier;

use super::classes::PipeInst;
use super::group::execution_scope;
use crate::builtins::pipe::{self, Count, End, Pipe};
use crate::spirv::consts::ConstValue;
use crate::spirv::lower::{FuncCx, MemAccess, Val};
use crate::spirv::types::{MAX_ALIGN, TypeKind};
use crate::spirv::words::{Inst, InstError};

/// The operands of most instructions: a pipe, others, and at the end size and alignment of a packet.
#[derive(Clone, Copy)]
struct Operands {
    pipe: Pipe,
    /// Known alignment of each packet.
    align: u32,
}

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: PipeInst) -> Result<(), InstError> {
    match op {
        PipeInst::ReadPipe => access(cx, inst, End::Read),
        PipeInst::WritePipe => access(cx, inst, End::Write),
        PipeInst::ReservedReadPipe => reserved_access(cx, inst, End::Read),
        PipeInst::ReservedWritePipe => reserved_access(cx, inst, End::Write),
        PipeInst::ReserveReadPipePackets => reserve(cx, inst, End::Read),
        PipeInst::ReserveWritePipePackets => reserve(cx, inst, End::Write),
        PipeInst::GroupReserveReadPipePackets => group_reserve(cx, inst, End::Read),
        PipeInst::GroupReserveWritePipePackets => group_reserve(cx, inst, End::Write),
        PipeInst::CommitReadPipe => commit(cx, inst, End::Read),
        PipeInst::CommitWritePipe => commit(cx, inst, End::Write),
        PipeInst::GroupCommitReadPipe => group_commit(cx, inst, End::Read),
        PipeInst::GroupCommitWritePipe => group_commit(cx, inst, End::Write),
        PipeInst::IsValidReserveId => {
            let number = reservation(cx, inst.id(0)?)?;
            let valid = pipe::is_valid(&mut cx.b, number);
            cx.set(inst, valid)
        }
        PipeInst::GetNumPipePackets => {
            let operands = operands(cx, inst, 0, None, 1)?;
            let count = operands.pipe.num_packets(&mut cx.b);
            cx.set(inst, count)
        }
        PipeInst::GetMaxPipePackets => {
            let operands = operands(cx, inst, 0, None, 1)?;
            let count = operands.pipe.max_packets(&mut cx.b);
            cx.set(inst, count)
        }
        PipeInst::CreatePipeFromPipeStorage => {
            let storage = inst.id(0)?;
            if cx.type_info(cx.type_of(storage)?)?.kind != TypeKind::PipeStorage {
                return Err(InstError::malformed("the operand is not pipe storage"));
            }
            let header = cx.value(storage)?;
            cx.set(inst, header)
        }
    }
}

/// Reads the operands `at` (the pipe) and `size_at` (size and alignment of a packet). `end` is the end that the instruction uses.
fn operands(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    at: usize,
    end: Option<End>,
    size_at: usize,
) -> Result<Operands, InstError> {
    let id = inst.id(at)?;
    let TypeKind::Pipe { access } = cx.type_info(cx.type_of(id)?)?.kind else {
        return Err(InstError::malformed("the operand is not a pipe"));
    };
    match (end, access) {
        (None, _)
        | (Some(End::Read), AccessQualifier::ReadOnly)
        | (Some(End::Write), AccessQualifier::WriteOnly)
        | (Some(_), AccessQualifier::ReadWrite) => {}
        (Some(End::Read), AccessQualifier::WriteOnly) => {
            return Err(InstError::malformed("the pipe is write-only"));
        }
        (Some(End::Write), AccessQualifier::ReadOnly) => {
            return Err(InstError::malformed("the pipe is read-only"));
        }
    }
    let (packet_bytes, align) =
        packet(cx.unit.consts.integer(inst.id(size_at)?)?, cx.unit.consts.integer(inst.id(size_at + 1)?)?)?;
    let header = cx.value(id)?;
    Ok(Operands { pipe: Pipe { header, packet_bytes }, align })
}

/// Size of a packet in bytes and the alignment of packets that follow one another, from a module's size and alignment.
pub(in crate::spirv) fn packet(size: u64, align: u64) -> Result<(u64, u32), InstError> {
    if size == 0 || size > u32::MAX.into() {
        return Err(InstError::malformed(format!("packets of {size} bytes")));
    }
    if !align.is_power_of_two() {
        return Err(InstError::malformed(format!("the packet alignment {align} is not a power of two")));
    }
    let of_size = 1 << size.trailing_zeros();
    Ok((size, align.min(of_size).min(MAX_ALIGN.into()) as u32))
}

/// A reservation.
fn reservation(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    if cx.type_info(cx.type_of(id)?)?.kind != TypeKind::ReserveId {
        return Err(InstError::malformed("the operand is not a reservation"));
    }
    cx.value(id)
}

/// A 32-bit integer.
fn number(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.scalar_int(id)?;
    if cx.b.ty(value) == Type::I32 {
        Ok(value)
    } else {
        Err(InstError::malformed("the operand is not a 32-bit integer"))
    }
}

/// `OpReadPipe`, `OpWritePipe`: one packet, reserved and committed at once.
fn access(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let operands = operands(cx, inst, 0, Some(end), 2)?;
    let pointer = cx.pointer(inst.id(1)?)?;
    let one = cx.b.iconst(Type::I32, 1);
    let reserved = operands.pipe.reserve(&mut cx.b, end, Count::Same(one));
    when(cx, reserved.succeeded, |cx| {
        let packet = operands.pipe.packet(&mut cx.b, reserved.position);
        copy(cx, end, operands, inst.id(1)?, pointer, packet)?;
        let one = cx.b.iconst(Type::I64, 1);
        operands.pipe.commit(&mut cx.b, end, one);
        Ok(())
    })?;
    status(cx, inst, reserved.succeeded)
}

/// `OpReservedReadPipe`, `OpReservedWritePipe`: one packet of a reservation.
fn reserved_access(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let operands = operands(cx, inst, 0, Some(end), 4)?;
    let (reserved, index) = (reservation(cx, inst.id(1)?)?, number(cx, inst.id(2)?)?);
    let pointer = cx.pointer(inst.id(3)?)?;
    let (inside, packet) = operands.pipe.reserved_packet(&mut cx.b, reserved, index);
    when(cx, inside, |cx| copy(cx, end, operands, inst.id(3)?, pointer, packet))?;
    status(cx, inst, inside)
}

/// A reservation by a work-item.
fn reserve(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let operands = operands(cx, inst, 0, Some(end), 2)?;
    let packets = number(cx, inst.id(1)?)?;
    let constant = cx.unit.consts.get(inst.id(1)?).map(|constant| &constant.value);
    let count = match constant {
        Some(ConstValue::Lanes(_)) => Count::Same(packets),
        Some(_) | None => Count::Any(packets),
    };
    let reserved = operands.pipe.reserve(&mut cx.b, end, count);
    let number = operands.pipe.number(&mut cx.b, reserved, packets);
    cx.set(inst, number)
}

/// A reservation by a work-group or sub-group: its first work-item makes it for all.
fn group_reserve(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let scope = execution_scope(cx, inst.id(0)?)?;
    let operands = operands(cx, inst, 1, Some(end), 3)?;
    let packets = number(cx, inst.id(2)?)?;
    let first = is_first(cx, scope);
    let (make, all) = (cx.b.func.append_block(), cx.b.func.append_block());
    let made = cx.b.func.dfg.append_param(all, Type::I64);
    let none = cx.b.iconst(Type::I64, 0);
    cx.b.branch(first, BlockCall::new(make, &[]), BlockCall::new(all, &[none]));
    cx.b.switch_to(make);
    let reserved = operands.pipe.reserve(&mut cx.b, end, Count::Same(packets));
    let number = operands.pipe.number(&mut cx.b, reserved, packets);
    cx.b.jump(all, &[number]);
    cx.b.switch_to(all);
    let info = GroupInfo { scope, op: AtomicOp::Or, cluster: 0 };
    let number = cx.b.group(Opcode::GroupReduce, info, made);
    cx.set(inst, number)
}

/// A commit by a work-item.
fn commit(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let operands = operands(cx, inst, 0, Some(end), 2)?;
    let reserved = reservation(cx, inst.id(1)?)?;
    let packets = pipe::packets(&mut cx.b, reserved);
    operands.pipe.commit(&mut cx.b, end, packets);
    Ok(())
}

/// A commit by a work-group or sub-group: when all have made their accesses, the first work-item commits.
fn group_commit(cx: &mut FuncCx<'_>, inst: &Inst, end: End) -> Result<(), InstError> {
    let scope = execution_scope(cx, inst.id(0)?)?;
    let operands = operands(cx, inst, 1, Some(end), 3)?;
    let reserved = reservation(cx, inst.id(2)?)?;
    let id = cx.b.func.fresh_barrier();
    cx.b.barrier(BarrierInfo { id, execution: scope, memory: scope, spaces: SpaceSet::GLOBAL });
    let first = is_first(cx, scope);
    when(cx, first, |cx| {
        let packets = pipe::packets(&mut cx.b, reserved);
        operands.pipe.commit(&mut cx.b, end, packets);
        Ok(())
    })
}

/// Whether this is the first work-item of a work-group or sub-group.
fn is_first(cx: &mut FuncCx<'_>, scope: MemScope) -> Value {
    let query = if scope == MemScope::SubGroup { Opcode::SubGroupLocalId } else { Opcode::LocalLinearId };
    let number = cx.b.query_linear(query);
    let zero = cx.b.iconst(cx.b.ty(number), 0);
    cx.b.icmp(IntCond::Eq, number, zero)
}

/// Code that is executed if a condition is true.
fn when(
    cx: &mut FuncCx<'_>,
    condition: Value,
    body: impl FnOnce(&mut FuncCx<'_>) -> Result<(), InstError>,
) -> Result<(), InstError> {
    let (then, after) = (cx.b.func.append_block(), cx.b.func.append_block());
    cx.b.branch(condition, BlockCall::new(then, &[]), BlockCall::new(after, &[]));
    cx.b.switch_to(then);
    body(cx)?;
    cx.b.jump(after, &[]);
    cx.b.switch_to(after);
    Ok(())
}

/// The result of an access: 0, or -1 if it failed.
fn status(cx: &mut FuncCx<'_>, inst: &Inst, succeeded: Value) -> Result<(), InstError> {
    let (success, failure) = (cx.b.iconst(Type::I32, 0), cx.b.iconst(Type::I32, -1));
    let status = cx.b.select(succeeded, success, failure);
    cx.set(inst, status)
}

/// Copies a packet to or from the program's memory, as a value of the pointee type if that is a packet's.
fn copy(
    cx: &mut FuncCx<'_>,
    end: End,
    operands: Operands,
    pointer_id: u32,
    pointer: Value,
    packet: Value,
) -> Result<(), InstError> {
    let Operands { pipe, align } = operands;
    let (to, from) = match end {
        End::Read => (pointer, packet),
        End::Write => (packet, pointer),
    };
    debug_assert_eq!(cx.b.ty(packet), Type::ptr(Space::Global));
    let access = MemAccess::aligned(align);
    let (_, pointee) = cx.unit.types.any_pointer(cx.type_of(pointer_id)?)?;
    if let Some(ty) = pointee {
        let info = cx.type_info(ty)?;
        if info.is_sized() && info.is_flat() && info.size == pipe.packet_bytes {
            let val: Val = cx.load(ty, from, access)?;
            return cx.store(ty, to, &val, access);
        }
    }
    cx.copy(to, from, pipe.packet_bytes, access);
    Ok(())
}
