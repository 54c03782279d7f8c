//! Expands named barriers to code on counters and a region in which packs wait.
//!
//! ```text
//!     ...                             ...
//!     named_barrier p                 arrived = [p.arrived] + 1; full = arrived >= [p.count]
//!     rest                            [p.arrived] = full ? 0 : arrived
//!                                     old = [p.times]; [p.times] = old + full
//!                                     -> wait(old)
//!                               wait: [p.times] == old ? wait : rest
//! ```
//!
//! `wait` begins a region whose packs test for themselves whether they may pass. No other pack runs in between, so the counters
//! need no atomics.
//!
//! The packs of such a kernel reach barriers of the work-group at different times. A collective operation of the work-group needs
//! all its packs in one pass of the loops. So a barrier is inserted before it, and each pack copies the result of a reduction in
//! the following pass.

use clift_kir::{
    BarrierInfo, Block, BlockCall, Builder, Function, Imm, Inst, IntCond, MemInfo, MemScope, Opcode, SpaceSet, Type,
};
use rustc_hash::FxHashMap;

use super::collectives::{Collective, CollectiveKind};
use crate::spmd::class::{Class, class};

/// Expands a kernel's named barriers. Returns the blocks in which packs wait, with the memory scopes of their barriers.
pub(crate) fn expand(func: &mut Function) -> FxHashMap<Block, MemScope> {
    let mut wait_blocks = FxHashMap::default();
    for block in func.layout.blocks().to_vec() {
        let mut at = block;
        while let Some(index) = func.layout.insts(at).iter().position(|&inst| is_named(func, inst)) {
            let (wait, rest, scope) = expand_one(func, at, index);
            wait_blocks.insert(wait, scope);
            at = rest;
        }
    }
    wait_blocks
}

/// Lets all packs of the work-group arrive at its collective operations in one pass, for round-robin scheduling.
pub(crate) fn synchronize_collectives(func: &mut Function) {
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.insts(block).to_vec() {
            if let Some(operation) = Collective::of(func, inst) {
                synchronize_collective(func, block, operation);
            }
        }
    }
}

fn is_named(func: &Function, inst: Inst) -> bool {
    class(func.dfg.inst(inst).op) == Class::NamedBarrier
}

/// Expands one barrier. Returns the block that waits, the block after it, and the memory scope.
fn expand_one(func: &mut Function, block: Block, index: usize) -> (Block, Block, MemScope) {
    let inst = func.layout.insts(block)[index];
    let data = func.dfg.inst(inst).clone();
    let Imm::Barrier(info) = data.imm else { unreachable!("broken invariant: a barrier without its scopes") };
    let place = data.args[0];
    let (wait, rest) = (func.dfg.make_block(), func.dfg.make_block());
    func.layout.insert_block_after(wait, block);
    func.layout.insert_block_after(rest, wait);
    func.layout.split_off(block, index + 1, rest);
    func.layout.remove_inst(inst);
    let access = MemInfo::aligned(4);
    let mut b = Builder::at_end(func, block);
    let one = b.iconst(Type::I32, 1);
    let zero = b.iconst(Type::I32, 0);
    let count = b.load(Type::I32, place, access);
    let arrived_at = b.addr(place, None, 1, 4);
    let times_at = b.addr(place, None, 1, 8);
    let before = b.load(Type::I32, arrived_at, access);
    let arrived = b.int2(Opcode::Iadd, before, one);
    let full = b.icmp(IntCond::Uge, arrived, count);
    let left = b.select(full, zero, arrived);
    b.store(arrived_at, left, access);
    let old = b.load(Type::I32, times_at, access);
    let more = b.cast(Opcode::Zext, full, Type::I32);
    let times = b.int2(Opcode::Iadd, old, more);
    b.store(times_at, times, access);
    b.jump(wait, &[old]);
    let own_times = func.dfg.append_param(wait, Type::I32);
    let mut b = Builder::at_end(func, wait);
    let times_at = b.addr(place, None, 1, 8);
    let now = b.load(Type::I32, times_at, access);
    let same = b.icmp(IntCond::Eq, now, own_times);
    b.branch(same, BlockCall::new(wait, &[own_times]), BlockCall::new(rest, &[]));
    (wait, rest, info.memory)
}

/// Inserts a barrier before a collective operation of the work-group, and a copy of its result after it.
fn synchronize_collective(func: &mut Function, block: Block, operation: Collective) {
    let Some(index) = func.layout.insts(block).iter().position(|&inst| inst == operation.inst) else { return };
    let id = func.fresh_barrier();
    let info =
        BarrierInfo { id, execution: MemScope::WorkGroup, memory: MemScope::WorkGroup, spaces: SpaceSet::empty() };
    Builder::before(func, block, index).barrier(info);
    if operation.kind != CollectiveKind::Reduction {
        return;
    }
    let result = func.dfg.result(operation.inst);
    let mut b = Builder::before(func, block, index + 2);
    let always = b.iconst(Type::B1, 1);
    let copy = b.select(always, result, result);
    let copying = func.dfg.def_inst(copy);
    for block in func.layout.blocks().to_vec() {
        for i in 0..func.layout.insts(block).len() {
            let inst = func.layout.insts(block)[i];
            if Some(inst) != copying {
                func.dfg.map_uses(inst, |value| if value == result { copy } else { value });
            }
        }
    }
}
