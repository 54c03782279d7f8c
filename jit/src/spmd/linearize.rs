//! Partial linearization: in which order a pack executes the blocks of a kernel, and which branches it keeps.
//!
//! A pack executes blocks in the order of [`super::order`]. While it executes one, others may be *deferred*: lanes wait for
//! them. Where the branch at a block's end is uniform, the pack goes to the first of its target and the deferred blocks; where it
//! is divergent, all targets are waited for and the pack goes to the first of them all. The rest stays deferred. The latch of a
//! loop goes back while any lane wants to, and to the first deferred block when none does. (After Moll and Hack, "Partial
//! Control-Flow Linearization", with the lanes that wait kept in one mask per block rather than derived from edges.)
//!
//! This file decides; [`super::masks`] says who executes a block, [`super::widen`] makes the code. Deferred sets are the union
//! over all ways to a block: a block in one may have no lane waiting for it, which its mask then tells.

use clift_kir::Block;
use clift_kir::analysis::LoopId;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::divergence::Divergence;
use super::order::order;
use super::prepare::Prepared;

/// Blocks by their place in the order, ascending.
pub(super) type Pending = SmallVec<[u32; 4]>;

/// How a pack goes through the blocks.
#[derive(Debug)]
pub(super) struct Plan {
    /// The order of execution.
    pub(super) order: Vec<Block>,
    /// Each block's place in it.
    pub(super) place: SecondaryMap<Block, u32>,
    /// What is deferred while a block executes.
    pub(super) deferred: SecondaryMap<Block, Pending>,
    /// Blocks that are deferred somewhere.
    pub(super) ever_deferred: EntitySet<Block>,
    /// Loops that lanes leave in different iterations.
    pub(super) divergent_loops: FxHashSet<LoopId>,
    /// Loops by their latch.
    pub(super) latches: SecondaryMap<Block, Option<LoopId>>,
}

impl Plan {
    /// Plans the execution of a kernel.
    pub(super) fn new(prepared: &Prepared, divergence: &Divergence) -> Plan {
        let Prepared { cfg, loops, .. } = prepared;
        let order = order(prepared);
        let mut place = SecondaryMap::new();
        for (i, &block) in order.iter().enumerate() {
            place[block] = i as u32;
        }
        let mut latches = SecondaryMap::new();
        for (id, data) in loops.iter() {
            for &latch in &data.latches {
                latches[latch] = Some(id);
            }
        }
        let mut plan = Plan {
            order,
            place,
            deferred: SecondaryMap::new(),
            ever_deferred: EntitySet::new(),
            divergent_loops: FxHashSet::default(),
            latches,
        };
        // Around a loop more may become deferred at its header: until nothing changes.
        while plan.round(prepared, divergence) {}
        for (id, data) in loops.iter() {
            let before = cfg
                .preds(data.header)
                .iter()
                .find(|pred| !data.latches.contains(pred))
                .map(|&preheader| plan.deferred[preheader].clone())
                .unwrap_or_default();
            if data.latches.iter().any(|&latch| plan.deferred[latch].iter().any(|b| !before.contains(b))) {
                plan.divergent_loops.insert(id);
            }
        }
        plan
    }

    /// Goes over all blocks once; whether a header came to have more deferred than the round began with.
    fn round(&mut self, prepared: &Prepared, divergence: &Divergence) -> bool {
        let Prepared { cfg, loops, .. } = prepared;
        let mut again = false;
        for i in 0..self.order.len() {
            let block = self.order[i];
            let deferred = self.deferred[block].clone();
            if let Some(id) = self.latches[block] {
                let header = loops.get(id).header;
                again |= self.defer(header, &deferred);
                self.send(&deferred);
            } else if divergence.diverges(block) {
                let mut pending = deferred;
                for &succ in cfg.succs(block) {
                    insert(&mut pending, self.place[succ]);
                }
                self.send(&pending);
            } else {
                for &succ in cfg.succs(block) {
                    let mut pending = deferred.clone();
                    insert(&mut pending, self.place[succ]);
                    self.send(&pending);
                }
            }
        }
        again
    }

    /// Blocks that wait together: each is entered with those behind it deferred.
    fn send(&mut self, pending: &[u32]) {
        for (i, &first) in pending.iter().enumerate() {
            let block = self.order[first as usize];
            if i > 0 {
                self.ever_deferred.insert(block);
            }
            self.defer(block, &pending[i + 1..]);
        }
    }

    fn defer(&mut self, at: Block, blocks: &[u32]) -> bool {
        let own = self.place[at];
        let set = &mut self.deferred[at];
        let before = set.len();
        for &block in blocks {
            // What comes before has been executed; it waits for the next iteration, if at all.
            if block > own {
                insert(set, block);
            }
        }
        set.len() > before
    }

    /// The block at a place of the order.
    pub(super) fn at(&self, place: u32) -> Block {
        self.order[place as usize]
    }
}

/// Adds to an ascending list.
pub(super) fn insert(pending: &mut Pending, place: u32) {
    if let Err(index) = pending.binary_search(&place) {
        pending.insert(index, place);
    }
}
