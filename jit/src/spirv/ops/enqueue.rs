//! Device-side enqueue: each instruction is a [`Request`] to the runtime, except that a range is built in place.

use clift_include::request::{Enqueued, RANGE_WORDS, Request};
use clift_kir::{BlockCall, Elem, IntCond, MemInfo, Opcode, Space, Type, Value};
use rspirv::spirv::Op;

use super::classes::{Class, EnqueueInst};
use crate::spirv::lower::{FuncCx, Leaves, Val};
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// Bytes of an event in memory.
const EVENT_BYTES: u32 = 8;

/// The operand that is the function of a block, for instructions that have one. Its captures, and their size and alignment
/// follow.
pub(in crate::spirv) fn invoked(op: Op) -> Option<usize> {
    let Some(Class::EnqueueInst(op)) = Class::of(op) else { return None };
    match op {
        EnqueueInst::EnqueueKernel => Some(6),
        EnqueueInst::GetKernelNDrangeSubGroupCount
        | EnqueueInst::GetKernelNDrangeMaxSubGroupSize
        | EnqueueInst::GetKernelLocalSizeForSubgroupCount => Some(1),
        EnqueueInst::GetKernelWorkGroupSize
        | EnqueueInst::GetKernelPreferredWorkGroupSizeMultiple
        | EnqueueInst::GetKernelMaxNumSubgroups => Some(0),
        EnqueueInst::EnqueueMarker
        | EnqueueInst::BuildNDRange
        | EnqueueInst::GetDefaultQueue
        | EnqueueInst::CreateUserEvent
        | EnqueueInst::RetainEvent
        | EnqueueInst::ReleaseEvent
        | EnqueueInst::IsValidEvent
        | EnqueueInst::SetUserEventStatus
        | EnqueueInst::CaptureEventProfilingInfo => None,
    }
}

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: EnqueueInst) -> Result<(), InstError> {
    match op {
        EnqueueInst::EnqueueKernel => enqueue_kernel(cx, inst),
        EnqueueInst::EnqueueMarker => enqueue_marker(cx, inst),
        EnqueueInst::BuildNDRange => build_range(cx, inst),
        EnqueueInst::GetDefaultQueue => {
            let queue = request(cx, Request::DefaultQueue, &[]);
            set_handle(cx, inst, queue)
        }
        EnqueueInst::CreateUserEvent => {
            let event = request(cx, Request::CreateUserEvent, &[]);
            set_handle(cx, inst, event)
        }
        EnqueueInst::RetainEvent | EnqueueInst::ReleaseEvent => {
            let event = handle(cx, inst.id(0)?, &TypeKind::Handle)?;
            let what = if op == EnqueueInst::RetainEvent { Request::RetainEvent } else { Request::ReleaseEvent };
            request(cx, what, &[event]);
            Ok(())
        }
        EnqueueInst::IsValidEvent => {
            let event = handle(cx, inst.id(0)?, &TypeKind::Handle)?;
            let valid = request(cx, Request::IsValidEvent, &[event]);
            let valid = is_not_zero(cx, valid);
            cx.set(inst, valid)
        }
        EnqueueInst::SetUserEventStatus => {
            let event = handle(cx, inst.id(0)?, &TypeKind::Handle)?;
            let status = number(cx, inst.id(1)?)?;
            request(cx, Request::SetUserEventStatus, &[event, status]);
            Ok(())
        }
        EnqueueInst::CaptureEventProfilingInfo => {
            let event = handle(cx, inst.id(0)?, &TypeKind::Handle)?;
            let (what, place) = (number(cx, inst.id(1)?)?, cx.pointer(inst.id(2)?)?);
            request(cx, Request::CaptureProfiling, &[event, what, place]);
            Ok(())
        }
        EnqueueInst::GetKernelNDrangeSubGroupCount => query_range(cx, inst, Request::SubGroupCount),
        EnqueueInst::GetKernelNDrangeMaxSubGroupSize => query_range(cx, inst, Request::MaxSubGroupSize),
        EnqueueInst::GetKernelWorkGroupSize => query(cx, inst, Request::WorkGroupSize, &[]),
        EnqueueInst::GetKernelPreferredWorkGroupSizeMultiple => {
            query(cx, inst, Request::PreferredWorkGroupSizeMultiple, &[])
        }
        EnqueueInst::GetKernelMaxNumSubgroups => query(cx, inst, Request::MaxSubGroups, &[]),
        EnqueueInst::GetKernelLocalSizeForSubgroupCount => local_size(cx, inst),
    }
}

fn request(cx: &mut FuncCx<'_>, what: Request, operands: &[Value]) -> Value {
    cx.b.request(what as u32, operands)
}

/// A queue or an event.
fn handle(cx: &mut FuncCx<'_>, id: u32, kind: &TypeKind) -> Result<Value, InstError> {
    if cx.type_info(cx.type_of(id)?)?.kind != *kind {
        let name = cx.unit.module.describe(id);
        let wanted = if *kind == TypeKind::Queue { "a queue" } else { "an event" };
        return Err(InstError::malformed(format!("{name} is not {wanted}")));
    }
    cx.value(id)
}

/// Defines the result as the queue or event that a request gave.
fn set_handle(cx: &mut FuncCx<'_>, inst: &Inst, word: Value) -> Result<(), InstError> {
    let value = cx.b.cast(Opcode::IntToPtr, word, Type::ptr(Space::Host));
    cx.set(inst, value)
}

/// An integer of 32 bits.
fn number(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.scalar_int(id)?;
    if cx.b.ty(value) != Type::I32 {
        return Err(InstError::malformed(format!("{} is not a 32-bit integer", cx.unit.module.describe(id))));
    }
    Ok(value)
}

fn is_not_zero(cx: &mut FuncCx<'_>, word: Value) -> Value {
    let zero = cx.b.iconst(Type::I64, 0);
    cx.b.icmp(IntCond::Ne, word, zero)
}

/// The words of an `ndrange_t`.
fn range(cx: &mut FuncCx<'_>, id: u32) -> Result<Leaves, InstError> {
    let wrong = || InstError::malformed("the range is not a structure of a number and three arrays of sizes");
    let info = cx.type_info(cx.type_of(id)?)?;
    let leaves = match cx.val(id)? {
        Val::Leaves(leaves) => leaves,
        Val::Memory(_) | Val::BuiltIn(_) => return Err(wrong()),
    };
    let types = info.leaves.iter().map(|leaf| leaf.ty);
    let wanted = [Type::I32].into_iter().chain([Type::I64; RANGE_WORDS - 1]);
    if types.eq(wanted) { Ok(leaves) } else { Err(wrong()) }
}

/// `OpBuildNDRange`: global size, local size, offset, of one number or an array of two or three.
fn build_range(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let mut sizes: [Leaves; 3] = Default::default();
    for (operand, sizes) in sizes.iter_mut().enumerate() {
        match cx.val(inst.id(operand)?)? {
            Val::Leaves(leaves) => *sizes = leaves,
            Val::Memory(_) | Val::BuiltIn(_) => return Err(InstError::malformed("a size has more than three parts")),
        }
    }
    let [global, local, offset] = &sizes;
    let dims = global.len();
    let mut parts = sizes.iter().flatten();
    if !(1..=3).contains(&dims)
        || sizes.iter().any(|sizes| sizes.len() != dims)
        || !parts.all(|&part| cx.b.ty(part) == Type::I64)
    {
        return Err(InstError::malformed("the sizes are not one to three 64-bit integers each"));
    }
    let mut leaves = Leaves::new();
    leaves.push(cx.b.iconst(Type::I32, dims as i64));
    for sizes in [offset, global, local] {
        for dim in 0..3 {
            leaves.push(match sizes.get(dim) {
                Some(&size) => size,
                None => cx.b.iconst(Type::I64, 0),
            });
        }
    }
    cx.set_val(inst, Val::Leaves(leaves))
}

/// The number of events to wait for, their address, and whether a new event is wanted. These are three operands from `first` on.
fn events(cx: &mut FuncCx<'_>, inst: &Inst, first: usize) -> Result<[Value; 3], InstError> {
    let (count, list, place) =
        (number(cx, inst.id(first)?)?, cx.pointer(inst.id(first + 1)?)?, cx.pointer(inst.id(first + 2)?)?);
    let place = cx.b.cast(Opcode::PtrToInt, place, Type::I64);
    let wanted = is_not_zero(cx, place);
    let (yes, no) = (cx.b.iconst(Type::I32, 1), cx.b.iconst(Type::I32, 0));
    Ok([count, list, cx.b.select(wanted, yes, no)])
}

/// Stores the event of an [`Enqueued`] if there is one, and defines the result as its status.
fn set_enqueued(cx: &mut FuncCx<'_>, inst: &Inst, word: Value, place: u32) -> Result<(), InstError> {
    let shift = cx.b.iconst(Type::I64, Enqueued::STATUS_BITS.into());
    let event = cx.b.int2(Opcode::Lshr, word, shift);
    let (made, after) = (cx.b.func.append_block(), cx.b.func.append_block());
    let exists = is_not_zero(cx, event);
    cx.b.branch(exists, BlockCall::new(made, &[]), BlockCall::new(after, &[]));
    cx.b.switch_to(made);
    let place = cx.pointer(place)?;
    let event = cx.b.cast(Opcode::IntToPtr, event, Type::ptr(Space::Host));
    cx.b.store(place, event, MemInfo::aligned(EVENT_BYTES));
    cx.b.jump(after, &[]);
    cx.b.switch_to(after);
    let status = cx.b.int_resize(word, Elem::I16, false);
    let status = cx.b.int_resize(status, Elem::I32, true);
    cx.set(inst, status)
}

fn enqueue_kernel(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let mut operands = Leaves::new();
    operands.push(handle(cx, inst.id(0)?, &TypeKind::Queue)?);
    operands.push(number(cx, inst.id(1)?)?);
    operands.extend(range(cx, inst.id(2)?)?);
    operands.extend(events(cx, inst, 3)?);
    let (child, captures) = child(cx, inst)?;
    operands.extend([child, captures]);
    let sizes = inst.ids_from(10)?;
    let function = cx.unit.module.function(inst.id(6)?);
    let params = function.map_or(0, |function| function.params.len());
    if params != sizes.len() + 1 {
        let (found, wanted) = (sizes.len(), params.saturating_sub(1));
        return Err(InstError::malformed(format!("{found} sizes of local memory for {wanted} parameters")));
    }
    for size in sizes {
        operands.push(number(cx, size)?);
    }
    let word = request(cx, Request::EnqueueKernel, &operands);
    set_enqueued(cx, inst, word, inst.id(5)?)
}

fn enqueue_marker(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let queue = handle(cx, inst.id(0)?, &TypeKind::Queue)?;
    let [count, list, wanted] = events(cx, inst, 1)?;
    let word = request(cx, Request::EnqueueMarker, &[queue, count, list, wanted]);
    set_enqueued(cx, inst, word, inst.id(3)?)
}

/// The number of the child kernel that an instruction names, and the address of its captures.
fn child(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(Value, Value), InstError> {
    let Some(operand) = invoked(inst.op()) else { unreachable!("broken invariant: {} names no child", inst.name()) };
    let id = inst.id(operand)?;
    let Some(&number) = cx.unit.children.get(&id) else {
        return Err(InstError::malformed(format!("{} is not a function with a body", cx.unit.module.describe(id))));
    };
    let captures = cx.pointer(inst.id(operand + 1)?)?;
    Ok((cx.b.iconst(Type::I32, number.into()), captures))
}

/// A query of a child kernel that gives a 32-bit number.
fn query(cx: &mut FuncCx<'_>, inst: &Inst, what: Request, operands: &[Value]) -> Result<(), InstError> {
    let (child, _) = child(cx, inst)?;
    let mut operands = operands.to_vec();
    operands.push(child);
    let word = request(cx, what, &operands);
    let value = cx.b.int_resize(word, Elem::I32, false);
    cx.set(inst, value)
}

/// A query of a child kernel and a range.
fn query_range(cx: &mut FuncCx<'_>, inst: &Inst, what: Request) -> Result<(), InstError> {
    let range = range(cx, inst.id(0)?)?;
    query(cx, inst, what, &range)
}

/// `OpGetKernelLocalSizeForSubgroupCount`: a range's local size.
fn local_size(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let count = number(cx, inst.id(0)?)?;
    let (child, _) = child(cx, inst)?;
    let row = request(cx, Request::LocalSizeForSubGroupCount, &[count, child]);
    let row = cx.b.int_resize(row, Elem::I32, false);
    cx.set(inst, row)
}
