//! Barriers, fences and asynchronous copies. Operations that exchange values are in `collective.rs` and `ballot.rs`.

use clift_kir::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Elem, IntCond, MemOrder, MemScope, Opcode, SpaceSet, Type, Value,
};
use rspirv::spirv::MemorySemantics;

use super::classes::GroupInst;
use crate::spirv::lower::{FuncCx, MemAccess};
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: GroupInst) -> Result<(), InstError> {
    match op {
        GroupInst::ControlBarrier => {
            let execution = execution_scope(cx, inst.id(0)?)?;
            let memory = scope(cx, inst.id(1)?)?;
            let spaces = spaces(cx, inst.id(2)?)?;
            barrier(cx, execution, memory, spaces);
            Ok(())
        }
        // The work-items of a group wait where they wait for all to have arrived; what they do in between may be done before.
        GroupInst::ControlBarrierArriveINTEL => {
            execution_scope(cx, inst.id(0)?)?;
            scope(cx, inst.id(1)?)?;
            spaces(cx, inst.id(2)?)?;
            Ok(())
        }
        GroupInst::ControlBarrierWaitINTEL => {
            let execution = execution_scope(cx, inst.id(0)?)?;
            let memory = scope(cx, inst.id(1)?)?;
            let spaces = spaces(cx, inst.id(2)?)?;
            barrier(cx, execution, memory, spaces);
            Ok(())
        }
        GroupInst::MemoryBarrier => {
            let info =
                AtomicInfo { op: AtomicOp::Xchg, scope: scope(cx, inst.id(0)?)?, order: order(cx, inst.id(1)?)? };
            cx.b.fence(info);
            Ok(())
        }
        GroupInst::GroupAsyncCopy | GroupInst::UntypedGroupAsyncCopyKHR => {
            async_copy(cx, inst, op == GroupInst::UntypedGroupAsyncCopyKHR)
        }
        GroupInst::GroupWaitEvents => {
            let execution = execution_scope(cx, inst.id(0)?)?;
            cx.scalar_int(inst.id(1)?)?;
            cx.pointer(inst.id(2)?)?;
            barrier(cx, execution, execution, SpaceSet::LOCAL | SpaceSet::GLOBAL);
            Ok(())
        }
    }
}

fn barrier(cx: &mut FuncCx<'_>, execution: MemScope, memory: MemScope, spaces: SpaceSet) {
    let id = cx.b.func.fresh_barrier();
    cx.b.barrier(BarrierInfo { id, execution, memory, spaces });
}

/// The scope of a constant id; the widest scope if the id is not constant.
pub(super) fn scope(cx: &mut FuncCx<'_>, id: u32) -> Result<MemScope, InstError> {
    let Ok(number) = cx.unit.consts.integer(id) else {
        cx.scalar_int(id)?;
        return Ok(MemScope::AllDevices);
    };
    match number {
        0 => Ok(MemScope::AllDevices),
        1 => Ok(MemScope::Device),
        2 => Ok(MemScope::WorkGroup),
        3 => Ok(MemScope::SubGroup),
        4 => Ok(MemScope::WorkItem),
        _ => Err(InstError::malformed(format!("scope {number} does not exist"))),
    }
}

/// The execution scope of a constant id.
pub(super) fn execution_scope(cx: &mut FuncCx<'_>, id: u32) -> Result<MemScope, InstError> {
    let number =
        cx.unit.consts.integer(id).map_err(|_| InstError::unsupported("an execution scope that is not constant"))?;
    match number {
        2 => Ok(MemScope::WorkGroup),
        3 => Ok(MemScope::SubGroup),
        _ => Err(InstError::unsupported(format!("execution scope {number}"))),
    }
}

/// Memory semantics; `None` if they are not constant.
fn semantics(cx: &mut FuncCx<'_>, id: u32) -> Result<Option<MemorySemantics>, InstError> {
    match cx.unit.consts.integer(id) {
        Ok(bits) => Ok(Some(MemorySemantics::from_bits_truncate(bits as u32))),
        Err(_) => {
            cx.scalar_int(id)?;
            Ok(None)
        }
    }
}

/// The memory order of memory semantics; the strongest order if they are not constant.
pub(super) fn order(cx: &mut FuncCx<'_>, id: u32) -> Result<MemOrder, InstError> {
    let Some(semantics) = semantics(cx, id)? else { return Ok(MemOrder::SeqCst) };
    let named = [
        (MemorySemantics::ACQUIRE, MemOrder::Acquire),
        (MemorySemantics::RELEASE, MemOrder::Release),
        (MemorySemantics::ACQUIRE_RELEASE, MemOrder::AcqRel),
        (MemorySemantics::SEQUENTIALLY_CONSISTENT, MemOrder::SeqCst),
    ];
    let mut found = named.iter().filter(|(bit, _)| semantics.contains(*bit));
    match (found.next(), found.next()) {
        (None, _) => Ok(MemOrder::Relaxed),
        (Some((_, order)), None) => Ok(*order),
        (Some(_), Some(_)) => Err(InstError::malformed("the memory semantics name more than one order")),
    }
}

/// The address spaces whose accesses a barrier orders.
pub(super) fn spaces(cx: &mut FuncCx<'_>, id: u32) -> Result<SpaceSet, InstError> {
    let Some(semantics) = semantics(cx, id)? else { return Ok(SpaceSet::all()) };
    let mut spaces = SpaceSet::empty();
    spaces.set(SpaceSet::LOCAL, semantics.contains(MemorySemantics::WORKGROUP_MEMORY));
    spaces.set(SpaceSet::GLOBAL, semantics.contains(MemorySemantics::CROSS_WORKGROUP_MEMORY));
    spaces.set(SpaceSet::IMAGE, semantics.contains(MemorySemantics::IMAGE_MEMORY));
    Ok(spaces)
}

/// The elements of an asynchronous copy.
enum Element {
    /// Values of a type.
    Type(u32),
    /// A number of bytes.
    Bytes(u64),
}

/// An asynchronous copy: each work-item copies its share immediately; waiting for the event is a barrier.
fn async_copy(cx: &mut FuncCx<'_>, inst: &Inst, untyped: bool) -> Result<(), InstError> {
    if execution_scope(cx, inst.id(0)?)? != MemScope::WorkGroup {
        return Err(InstError::unsupported("an asynchronous copy whose execution scope is not the work-group"));
    }
    let (to, from) = (cx.pointer(inst.id(1)?)?, cx.pointer(inst.id(2)?)?);
    // Elements have a type, or a size in bytes in an operand before the number of elements.
    let elem = if untyped {
        Element::Bytes(cx.unit.consts.integer(inst.id(3)?)?)
    } else {
        let (_, elem) = cx.unit.types.any_pointer(cx.type_of(inst.id(1)?)?)?;
        // The SPIR-V-LLVM translator writes copies of untyped pointers without an element size.
        let elem = elem.ok_or_else(|| InstError::unsupported("an asynchronous copy to an untyped pointer"))?;
        if !cx.unit.types.same_shape(cx.pointee(inst.id(2)?)?, elem)? || !cx.type_info(elem)?.is_sized() {
            return Err(InstError::malformed("the pointers point to different types"));
        }
        Element::Type(elem)
    };
    let rest = if let Element::Bytes(_) = elem { 4 } else { 3 };
    let (count, stride) = (cx.scalar_int(inst.id(rest)?)?, cx.scalar_int(inst.id(rest + 1)?)?);
    let event = cx.value(inst.id(rest + 2)?)?;
    let count = cx.b.int_resize(count, Elem::I64, false);
    let stride = cx.b.int_resize(stride, Elem::I64, false);
    let one = cx.b.iconst(Type::I64, 1);
    // The stride applies to the pointer to global memory.
    let into_local = cx.b.ty(to) == Type::ptr(clift_kir::Space::Local);
    let (to_stride, from_stride) = if into_local { (one, stride) } else { (stride, one) };
    let first = cx.b.query_linear(Opcode::LocalLinearId);
    let step = (1..3).fold(cx.b.query(Opcode::LocalSize, 0), |product, dim| {
        let size = cx.b.query(Opcode::LocalSize, dim);
        cx.b.int2(Opcode::Imul, product, size)
    });
    let (head, body, done) = (cx.b.func.append_block(), cx.b.func.append_block(), cx.b.func.append_block());
    let number = cx.b.func.dfg.append_param(head, Type::I64);
    cx.b.jump(head, &[first]);
    cx.b.switch_to(head);
    let inside = cx.b.icmp(IntCond::Ult, number, count);
    cx.b.branch(inside, BlockCall::new(body, &[]), BlockCall::new(done, &[]));
    cx.b.switch_to(body);
    let size = match elem {
        Element::Type(ty) => cx.type_info(ty)?.size,
        Element::Bytes(bytes) => bytes,
    };
    let address = |cx: &mut FuncCx<'_>, base: Value, stride: Value| {
        let index = cx.b.int2(Opcode::Imul, number, stride);
        cx.b.addr(base, Some(index), size, 0)
    };
    let (target, source) = (address(cx, to, to_stride), address(cx, from, from_stride));
    match elem {
        Element::Type(ty) => {
            let access = MemAccess::aligned(cx.type_info(ty)?.align);
            let val = cx.load(ty, source, access)?;
            cx.store(ty, target, &val, access)?;
        }
        Element::Bytes(bytes) => cx.copy(target, source, bytes, MemAccess::aligned(1)),
    }
    let next = cx.b.int2(Opcode::Iadd, number, step);
    cx.b.jump(head, &[next]);
    cx.b.switch_to(done);
    cx.set(inst, event)
}
