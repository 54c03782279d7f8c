//! Named barriers: barriers for some of a work-group's sub-groups, in divergent control flow.
//!
//! A named barrier is a variable in local memory, one for each instruction that initializes one. It holds the number of sub-groups
//! that take part, the number that have arrived, and how often all have arrived. The initialization is an operation of the whole
//! work-group between two work-group barriers: no sub-group still waits at the previous barrier in the same variable, and none
//! arrives before the initialization is complete.

use clift_kir::module::GlobalInit;
use clift_kir::{BarrierInfo, BlockCall, GlobalData, IntCond, MemInfo, MemScope, Opcode, Space, SpaceSet, Type};
use rspirv::spirv::Op;

use super::group;
use crate::spirv::function::InlinedCopies;
use crate::spirv::lower::FuncCx;
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    match inst.op() {
        Op::NamedBarrierInitialize => make(cx, inst),
        Op::MemoryNamedBarrier => {
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
        _ => unreachable!("broken invariant: {} is no named barrier's instruction", inst.name()),
    }
}

/// Initializes a named barrier.
fn make(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let count = cx.scalar_int(inst.id(0)?)?;
    if cx.b.ty(count) != Type::I32 {
        return Err(InstError::malformed("the number of sub-groups is not a 32-bit integer"));
    }
    if cx.copies != InlinedCopies::One {
        return Err(InstError::unsupported("a named barrier in a function that is called from several places"));
    }
    let data = GlobalData {
        name: String::from("named_barrier"),
        space: Space::Local,
        size: 12,
        align: 4,
        init: GlobalInit::default(),
    };
    let global = cx.shared.add_global(data)?;
    let at = cx.b.global_addr(global, Space::Local);
    whole_group(cx);
    let number = cx.b.query_linear(Opcode::LocalLinearId);
    let zero = cx.b.iconst(Type::I64, 0);
    let is_first = cx.b.icmp(IntCond::Eq, number, zero);
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

/// A work-group barrier for local memory.
fn whole_group(cx: &mut FuncCx<'_>) {
    let id = cx.b.func.fresh_barrier();
    let (execution, memory) = (MemScope::WorkGroup, MemScope::WorkGroup);
    cx.b.barrier(BarrierInfo { id, execution, memory, spaces: SpaceSet::LOCAL });
}
