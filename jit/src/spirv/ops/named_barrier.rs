//! Named barriers: barriers for some of a work-group's sub-groups, in divergent control flow.
//!
//! A named barrier is a variable in local memory. It holds the number of sub-groups that take part, the number that have arrived,
//! and how often all have arrived. The initialization is an operation of the whole work-group between two work-group barriers: no
//! sub-group still waits at the previous barrier in the same variable, and none arrives before the initialization is complete.
//!
//! Each instruction that initializes one has a variable of its own, unless its function is called from several places: then each
//! execution takes the next element of an array.

use clift_kir::module::GlobalInit;
use clift_kir::{
    AtomicOp, BarrierInfo, BlockCall, Elem, GlobalData, GroupInfo, IntCond, MemInfo, MemScope, Opcode, Space, SpaceSet,
    Type, Value,
};

use super::classes::NamedBarrierInst;
use super::group;
use crate::spirv::MAX_NAMED_BARRIERS;
use crate::spirv::function::InlinedCopies;
use crate::spirv::lower::FuncCx;
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// Bytes of a named barrier.
const BARRIER_BYTES: u64 = 12;

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: NamedBarrierInst) -> Result<(), InstError> {
    match op {
        NamedBarrierInst::NamedBarrierInitialize => make(cx, inst),
        NamedBarrierInst::MemoryNamedBarrier => {
            let barrier = inst.id(0)?;
            if cx.type_info(cx.type_of(barrier)?)?.kind != TypeKind::NamedBarrier {
                return Err(InstError::malformed("the operand is not a named barrier"));
            }
            let at = cx.value(barrier)?;
            let (memory, spaces) = (group::scope(cx, inst.id(1)?)?, group::spaces(cx, inst.id(2)?)?);
            let id = cx.b.func.fresh_barrier();
            cx.b.named_barrier(at, BarrierInfo { id, execution: MemScope::SubGroup, memory, spaces });
            Ok(())
        }
    }
}

/// Initializes a named barrier.
fn make(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let count = cx.scalar_int(inst.id(0)?)?;
    if cx.b.ty(count) != Type::I32 {
        return Err(InstError::malformed("the number of sub-groups is not a 32-bit integer"));
    }
    let at = match cx.copies {
        InlinedCopies::One => {
            let global = cx.shared.add_global(variable("named_barrier", BARRIER_BYTES))?;
            whole_group(cx);
            cx.b.global_addr(global, Space::Local)
        }
        InlinedCopies::Several => {
            whole_group(cx);
            next_in_array(cx)?
        }
    };
    let is_first = is_first(cx);
    let (first, all) = (cx.b.func.append_block(), cx.b.func.append_block());
    cx.b.branch(is_first, BlockCall::new(first, &[]), BlockCall::new(all, &[]));
    cx.b.switch_to(first);
    let nobody = cx.b.iconst(Type::I32, 0);
    for (offset, value) in [(0, count), (4, nobody), (8, nobody)] {
        let place = cx.b.addr(at, None, 1, offset);
        cx.b.store(place, value, MemInfo::aligned(4));
    }
    cx.b.jump(all, &[]);
    cx.b.switch_to(all);
    whole_group(cx);
    cx.set(inst, at)
}

/// A variable in local memory.
fn variable(name: &str, size: u64) -> GlobalData {
    GlobalData { name: name.to_owned(), space: Space::Local, size, align: 4, init: GlobalInit::default() }
}

/// The next element of the array of named barriers, the same for the whole work-group. After the last one comes the first.
fn next_in_array(cx: &mut FuncCx<'_>) -> Result<Value, InstError> {
    let (count, array) = match cx.shared.named_barriers.get() {
        Some(globals) => globals,
        None => {
            let count = cx.shared.add_global(variable("named_barrier_count", 4))?;
            cx.shared.zeroed.borrow_mut().push(count);
            let bytes = u64::from(MAX_NAMED_BARRIERS) * BARRIER_BYTES;
            let array = cx.shared.add_global(variable("named_barriers", bytes))?;
            cx.shared.named_barriers.set(Some((count, array)));
            (count, array)
        }
    };
    let (first, all) = (cx.b.func.append_block(), cx.b.func.append_block());
    let taken = cx.b.func.dfg.append_param(all, Type::I32);
    let is_first = is_first(cx);
    let zero = cx.b.iconst(Type::I32, 0);
    cx.b.branch(is_first, BlockCall::new(first, &[]), BlockCall::new(all, &[zero]));
    cx.b.switch_to(first);
    let place = cx.b.global_addr(count, Space::Local);
    let number = cx.b.load(Type::I32, place, MemInfo::aligned(4));
    let one = cx.b.iconst(Type::I32, 1);
    let next = cx.b.int2(Opcode::Iadd, number, one);
    cx.b.store(place, next, MemInfo::aligned(4));
    cx.b.jump(all, &[number]);
    cx.b.switch_to(all);
    let info = GroupInfo { scope: MemScope::WorkGroup, op: AtomicOp::Or, cluster: 0 };
    let number = cx.b.group(Opcode::GroupReduce, info, taken);
    let most = cx.b.iconst(Type::I32, MAX_NAMED_BARRIERS.into());
    let number = cx.b.int2(Opcode::Urem, number, most);
    let number = cx.b.int_resize(number, Elem::I64, false);
    let array = cx.b.global_addr(array, Space::Local);
    Ok(cx.b.addr(array, Some(number), BARRIER_BYTES, 0))
}

/// Whether this is the first work-item of the work-group.
fn is_first(cx: &mut FuncCx<'_>) -> Value {
    let number = cx.b.query_linear(Opcode::LocalLinearId);
    let zero = cx.b.iconst(Type::I64, 0);
    cx.b.icmp(IntCond::Eq, number, zero)
}

/// A work-group barrier for local memory.
fn whole_group(cx: &mut FuncCx<'_>) {
    let id = cx.b.func.fresh_barrier();
    let (execution, memory) = (MemScope::WorkGroup, MemScope::WorkGroup);
    cx.b.barrier(BarrierInfo { id, execution, memory, spaces: SpaceSet::LOCAL });
}
