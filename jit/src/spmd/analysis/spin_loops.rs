//! Finds loops in which a lane may wait for another lane of its pack: spin locks, and flags that another work-item sets.
//!
//! `while (atomic_cmpxchg(lock, 0, 1) != 0);` ends when work-items run one after another, because each releases the lock after
//! the loop. In a pack, the lane that has acquired the lock waits after the loop until all lanes have left it, which they never
//! do. OpenCL does not guarantee forward progress between work-items (OpenCL C 3.0, 3.2.1), but programs rely on it and other
//! implementations provide it. So a kernel with such a loop has one lane per pack. The analysis looks for a loop
//!
//! 1. with an exit that depends on a read of shared memory, by an atomic or volatile access at an address that stays the same,
//!    or by a plain access in a loop with a fence ([`super::polling`]). A loop that ends after a number of iterations in any
//!    case, and does work in them, such as a search that another work-item's success ends early, does not wait, unless it tries
//!    to acquire something;
//! 2. in which a lane can be while other lanes of the pack are elsewhere: after the loop, or on another path of a branch;
//! 3. whose memory these other lanes may write before they reach a barrier, where they wait for the lane in any case.

use clift_kir::analysis::DomTree;
use clift_kir::{Block, Effects, Function, Inst, Loc, Meeting, MemScope, Opcode};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use super::divergence::Divergence;
use super::polling::{PollingLoop, may_write};
use crate::spmd::transform::normalize::NormalForm;

/// A read that lanes may spin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockingRead {
    /// The op of the access.
    pub(crate) op: Opcode,
    /// The source location of the access.
    pub(crate) loc: Loc,
}

/// The first read on which lanes may spin until another lane of the pack has written.
pub(crate) fn find_blocking_read(normal: &NormalForm, divergence: &Divergence) -> Option<BlockingRead> {
    let polling: Vec<PollingLoop<'_>> =
        normal.loops.iter().filter_map(|(id, _)| PollingLoop::new(normal, id)).collect();
    if polling.is_empty() {
        return None;
    }
    let post = DomTree::post(&normal.cfg);
    polling.into_iter().find_map(|polling| SpinLoopSearch { normal, divergence, post: &post, polling }.run())
}

/// Whether an instruction accesses memory without changing it: it acquires no lock.
fn only_reads(func: &Function, inst: Inst) -> bool {
    match func.dfg.inst(inst).op.info().effects {
        Effects::Read => true,
        Effects::Pure | Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => {
            func.dfg.inst(inst).op == Opcode::AtomicLoad
        }
    }
}

/// Whether the lanes of a pack wait for each other at an instruction.
fn synchronizes_lanes(func: &Function, inst: Inst) -> bool {
    let scope = match func.dfg.inst(inst).meeting() {
        Some(Meeting::Barrier(info) | Meeting::NamedBarrier(info)) => info.execution,
        Some(Meeting::Exchange(scope)) => scope,
        None => return false,
    };
    match scope {
        MemScope::WorkItem => false,
        MemScope::SubGroup | MemScope::WorkGroup | MemScope::Device | MemScope::AllDevices => true,
    }
}

/// The analysis of one loop.
struct SpinLoopSearch<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    post: &'a DomTree,
    polling: PollingLoop<'a>,
}

impl SpinLoopSearch<'_> {
    fn run(&self) -> Option<BlockingRead> {
        let NormalForm { func, dom, loops, .. } = self.normal;
        let data = loops.get(self.polling.id);
        // If all lanes go through the loop together, none waits for another one of the pack.
        if !self.divergence.in_divergent_region(data.header)
            || self.polling.synchronizes_in_each_iteration()
            || self.polling.is_retry_loop()
        {
            return None;
        }
        let is_finite = self.polling.is_finite_work();
        let may_wait = |inst: Inst| !is_finite || !only_reads(func, inst);
        let read = self.polling.reads_before_exits().into_iter().find(|&inst| {
            let address = func.dfg.inst(inst).args[0];
            may_wait(inst)
                && self.polling.is_invariant_address(address)
                && !self.polling.is_only_added_to(inst)
                && !self.polling.is_exchange_pair(inst)
                && self.other_lanes_write(inst)
        })?;
        debug_assert!(func.layout.block_of(read).is_some_and(|block| dom.dominates(data.header, block)));
        Some(BlockingRead { op: func.dfg.inst(read).op, loc: func.locs[read] })
    }

    /// Whether lanes that are elsewhere may write the memory that is read before all work-items meet at a barrier.
    fn other_lanes_write(&self, read: Inst) -> bool {
        let NormalForm { func, cfg, loops, .. } = self.normal;
        let data = loops.get(self.polling.id);
        let synchronizes = |block: Block| func.layout.insts(block).iter().any(|&inst| synchronizes_lanes(func, inst));
        let mut starts: Vec<Block> = Vec::new();
        if data.blocks.iter().any(|&block| self.divergence.diverges(block) && self.diverging_paths_leave(block)) {
            starts.extend(data.blocks.iter().flat_map(|&block| self.polling.exits(block)));
        }
        // Divergent branches on the paths to the loop.
        let mut above: EntitySet<Block> = EntitySet::new();
        let mut open: Vec<Block> = vec![data.header];
        while let Some(block) = open.pop() {
            for &pred in cfg.preds(block) {
                if self.polling.contains(pred) || !above.insert(pred) {
                    continue;
                }
                if self.divergence.diverges(pred) {
                    let others = |&succ: &Block| !self.post.dominates(data.header, succ);
                    starts.extend(cfg.succs(pred).iter().copied().filter(others));
                }
                if !synchronizes(pred) {
                    open.push(pred);
                }
            }
        }
        let mut seen: EntitySet<Block> = EntitySet::new();
        while let Some(block) = starts.pop() {
            if self.polling.contains(block) || !seen.insert(block) {
                continue;
            }
            for &inst in func.layout.insts(block) {
                if may_write(func, inst, read) {
                    return true;
                }
                if synchronizes_lanes(func, inst) {
                    break;
                }
            }
            if !synchronizes(block) {
                starts.extend(cfg.succs(block));
            }
        }
        false
    }

    /// Whether paths that diverge at a block of the loop lead out of it before they have all met again.
    fn diverging_paths_leave(&self, block: Block) -> bool {
        let cfg = &self.normal.cfg;
        let stop = self.post.parent(block);
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut open: Vec<Block> = cfg.succs(block).to_vec();
        while let Some(at) = open.pop() {
            if Some(at) == stop && self.polling.contains(at) || !seen.insert(at) {
                continue;
            }
            if !self.polling.contains(at) {
                return true;
            }
            open.extend(cfg.succs(at));
        }
        false
    }
}
