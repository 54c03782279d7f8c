//! Yields: in loops in which a work-item may wait for another sub-group of its work-group, each iteration lets the others go on.
//!
//! One thread runs all sub-groups of a work-group, one after the other. One that waits in a loop for memory to change would keep
//! those from running that change it. With `yield` at the end of the loop, the work-group loops leave the pack there and come
//! back to it when the others have had their turn (`workgroup/loops/round_robin.rs`). So sub-groups make progress independently
//! (`CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS`), and kernels without such loops have none of this.
//!
//! A loop that only perhaps waits ([`Waiting::Perhaps`]) yields every [`PATIENCE`] iterations:
//!
//! ```text
//! latch(n):  n & (PATIENCE - 1) == PATIENCE - 1 ? rest : next     rest: yield; jump next     next: jump header(n + 1)
//! ```
//!
//! Deliberately not here: which loops these are ([`crate::spmd::analysis::polling`]).

use clift_kir::analysis::Cfg;
use clift_kir::inst::{BlockCall, Imm};
use clift_kir::{Block, Builder, Function, Inst, IntCond, Opcode, Type, Value};
use cranelift_entity::EntitySet;

use super::normalize;
use crate::spmd::analysis::polling::{Waiting, is_ordered_read, may_poll, waiting_loops};

/// The number of iterations after which a loop that perhaps waits lets others go on, a power of two.
const PATIENCE: i64 = 32;

/// Inserts yields into a canonical kernel. Returns whether there are any.
pub(crate) fn run(func: &mut Function, required_local_size: Option<[u64; 3]>) -> bool {
    if !may_poll(func) {
        return false;
    }
    let Some(normal) = normalize::run(func) else { return in_irreducible_loops(func) };
    let loops = waiting_loops(&normal, required_local_size);
    if loops.is_empty() {
        return false;
    }
    let mut made = normal.func.clone();
    for (id, latch, waiting) in loops {
        match waiting {
            Waiting::Surely => before_terminator(&mut made, latch),
            Waiting::Perhaps => {
                let header = normal.loops.get(id).header;
                sometimes(&mut made, normal.cfg.preds(header), header, latch);
            }
        }
    }
    *func = made;
    true
}

/// Inserts a yield at the end of a block.
fn before_terminator(func: &mut Function, block: Block) {
    let index = func.layout.insts(block).len().saturating_sub(1);
    Builder::before(func, block, index).inst(Opcode::Yield, &[], Imm::None, &[]);
}

/// Lets a loop count its iterations and yield in some of them.
fn sometimes(func: &mut Function, preds: &[Block], header: Block, latch: Block) {
    let Some(back) = func.layout.terminator(latch) else { return };
    let count = func.dfg.append_param(header, Type::I32);
    let (rest, next) = (func.dfg.make_block(), func.dfg.make_block());
    func.layout.insert_block_after(rest, latch);
    func.layout.insert_block_after(next, rest);
    let index = func.layout.insts(latch).len() - 1;
    func.layout.split_off(latch, index, next);
    let mut b = Builder::at_end(func, latch);
    let [one, mask, zero] = [1, PATIENCE - 1, 0].map(|n| b.iconst(Type::I32, n));
    let more = b.int2(Opcode::Iadd, count, one);
    let low = b.int2(Opcode::And, more, mask);
    let now = b.icmp(IntCond::Eq, low, zero);
    b.branch(now, BlockCall::new(rest, &[]), BlockCall::new(next, &[]));
    b.switch_to(rest);
    b.inst(Opcode::Yield, &[], Imm::None, &[]);
    b.jump(next, &[]);
    pass(func, back, header, more);
    for &pred in preds.iter().filter(|&&pred| pred != latch) {
        let Some(enter) = func.layout.terminator(pred) else { continue };
        let start = Builder::before(func, pred, func.layout.insts(pred).len() - 1).iconst(Type::I32, 0);
        pass(func, enter, header, start);
    }
}

/// Passes one more argument to a block.
fn pass(func: &mut Function, branch: Inst, to: Block, value: Value) {
    for call in func.dfg.targets_mut(branch) {
        if call.block == to {
            call.args.push(value);
        }
    }
}

/// Inserts a yield before each read that may end an irreducible loop: where such a loop begins is not known.
fn in_irreducible_loops(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let mut any = false;
    for &block in cfg.rpo() {
        let reads = func.layout.insts(block).iter().position(|&inst| is_ordered_read(func, inst));
        if let Some(index) = reads.filter(|_| reaches_itself(&cfg, block)) {
            Builder::before(func, block, index).inst(Opcode::Yield, &[], Imm::None, &[]);
            any = true;
        }
    }
    any
}

/// Whether a block is in a cycle.
fn reaches_itself(cfg: &Cfg, block: Block) -> bool {
    let mut seen: EntitySet<Block> = EntitySet::new();
    let mut open = cfg.succs(block).to_vec();
    while let Some(at) = open.pop() {
        if at == block {
            return true;
        }
        if seen.insert(at) {
            open.extend(cfg.succs(at));
        }
    }
    false
}
