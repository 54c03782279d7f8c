//! Partial linearization: the order in which a pack executes the blocks of a kernel, and the branches that it keeps.
//!
//! A pack executes blocks in the order of [`super::order`]. While it executes one, others may be *deferred*: lanes wait for them.
//! After a uniform branch, the pack goes to the first block among its target and the deferred blocks. After a divergent branch,
//! all targets become deferred, and the pack goes to the first deferred block. The others stay deferred. The latch of a loop goes
//! back to the header while any lane needs another iteration, and to the first deferred block otherwise. (After Moll and Hack,
//! *Partial Control-Flow Linearization*; but the waiting lanes are kept in one mask per block instead of being derived from
//! edges.)
//!
//! This file makes the plan; [`super::masks`] decides which lanes execute a block, [`super::widen`] emits the code. The deferred
//! set of a block is the union over all paths to it, so no lane may be waiting for a deferred block; its mask is empty then.

use std::ops::Range;

use clift_kir::Block;
use clift_kir::analysis::LoopId;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::order::order;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::transform::normalize::NormalForm;

/// Blocks by their place in the order, ascending.
pub(crate) type Pending = SmallVec<[u32; 4]>;

/// The path of a pack through the blocks.
#[derive(Debug)]
pub(crate) struct LinearizationPlan {
    /// The order of execution.
    pub(crate) order: Vec<Block>,
    /// Each block's place in the order.
    pub(crate) place: SecondaryMap<Block, u32>,
    /// The blocks that are deferred while a block is executed.
    pub(crate) deferred: SecondaryMap<Block, Pending>,
    /// Blocks that are deferred at some time.
    pub(crate) ever_deferred: EntitySet<Block>,
    /// Loops that some lanes may leave while others stay: in different iterations, or through different exits.
    pub(crate) divergent_loops: FxHashSet<LoopId>,
    /// Loops by their latch.
    pub(crate) latches: SecondaryMap<Block, Option<LoopId>>,
    /// The predecessor of each block that comes first in the order.
    pub(crate) first_pred: SecondaryMap<Block, PackedOption<Block>>,
}

impl LinearizationPlan {
    /// Plans the execution of a kernel.
    pub(crate) fn new(normal: &NormalForm, divergence: &Divergence) -> LinearizationPlan {
        let order = order(normal);
        let mut place = SecondaryMap::new();
        for (i, &block) in order.iter().enumerate() {
            place[block] = i as u32;
        }
        let mut latches = SecondaryMap::new();
        for (id, data) in normal.loops.iter() {
            for &latch in &data.latches {
                latches[latch] = Some(id);
            }
        }
        let graph = Graph { normal, divergence, order: &order, place: &place, latches: &latches };
        let mut whole = graph.deferral(0..order.len());
        let ids = normal.loops.iter().map(|(id, _)| id);
        let divergent_loops = ids.filter(|&id| graph.has_divergent_exits(id, &mut whole)).collect();
        let mut deferred = SecondaryMap::new();
        let mut ever_deferred = EntitySet::new();
        for (&block, waiting) in order.iter().zip(whole.blocks) {
            if waiting.is_deferred {
                ever_deferred.insert(block);
            }
            deferred[block] = waiting.deferred;
        }
        let mut first_pred = SecondaryMap::new();
        for &block in &order {
            let preds = normal.cfg.preds(block);
            first_pred[block] = preds.iter().copied().min_by_key(|&pred| place[pred]).into();
        }
        LinearizationPlan { order, place, deferred, ever_deferred, divergent_loops, latches, first_pred }
    }

    /// The block at a place of the order.
    pub(crate) fn at(&self, place: u32) -> Block {
        self.order[place as usize]
    }
}

/// The input of a plan.
struct Graph<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    order: &'a [Block],
    place: &'a SecondaryMap<Block, u32>,
    latches: &'a SecondaryMap<Block, Option<LoopId>>,
}

/// The deferred blocks in a part of the order that is entered at its first block, with nothing deferred before.
struct Deferral {
    part: Range<usize>,
    /// By place in the part.
    blocks: Vec<BlockDeferral>,
}

/// Which blocks are deferred at a block.
#[derive(Clone, Default)]
struct BlockDeferral {
    /// The blocks that are deferred while this one is executed.
    deferred: Pending,
    /// Whether this block is deferred at some time.
    is_deferred: bool,
}

impl Deferral {
    /// The entry of a block, if the block is in the part.
    fn at(&mut self, place: u32) -> Option<&mut BlockDeferral> {
        let index = (place as usize).checked_sub(self.part.start)?;
        self.blocks.get_mut(index)
    }
}

impl Graph<'_> {
    fn deferral(&self, part: Range<usize>) -> Deferral {
        let mut deferral = Deferral { blocks: vec![BlockDeferral::default(); part.len()], part };
        // More blocks may become deferred at the header of a loop: repeat until nothing changes.
        while self.propagate(&mut deferral) {}
        deferral
    }

    /// Whether some lanes may leave a loop while others stay: whether the loop by itself defers a block outside. Blocks deferred
    /// before the loop do not count, because lanes that leave the loop may join others that wait there already.
    fn has_divergent_exits(&self, id: LoopId, whole: &mut Deferral) -> bool {
        let data = self.normal.loops.get(id);
        let Some(first) = data.blocks.iter().map(|&block| self.place[block] as usize).min() else { return false };
        // The blocks of a loop are contiguous.
        let part = first..first + data.blocks.len();
        let may_leave = |deferral: &mut Deferral| {
            let mut latches = data.latches.iter().filter_map(|&latch| deferral.at(self.place[latch]).cloned());
            latches.any(|latch| latch.deferred.iter().any(|&place| !part.contains(&(place as usize))))
        };
        may_leave(whole) && may_leave(&mut self.deferral(part.clone()))
    }

    /// Visits all blocks once. Returns whether more blocks have become deferred at a loop header.
    fn propagate(&self, deferral: &mut Deferral) -> bool {
        let NormalForm { cfg, loops, .. } = self.normal;
        let mut again = false;
        for i in deferral.part.clone() {
            let block = self.order[i];
            let deferred = deferral.at(i as u32).map(|waiting| waiting.deferred.clone()).unwrap_or_default();
            if let Some(id) = self.latches[block] {
                again |= defer(deferral, self.place[loops.get(id).header], &deferred);
                enter_first(deferral, &deferred);
            } else if self.divergence.diverges(block) {
                let mut pending = deferred;
                for &succ in cfg.succs(block) {
                    insert(&mut pending, self.place[succ]);
                }
                enter_first(deferral, &pending);
            } else {
                for &succ in cfg.succs(block) {
                    let mut pending = deferred.clone();
                    insert(&mut pending, self.place[succ]);
                    enter_first(deferral, &pending);
                }
            }
        }
        again
    }
}

/// Enters the first of some pending blocks, with the others deferred. Only the first must be told: it passes on what it defers,
/// wherever it goes.
fn enter_first(deferral: &mut Deferral, pending: &[u32]) {
    let Some((&first, others)) = pending.split_first() else { return };
    for &place in others {
        if let Some(waiting) = deferral.at(place) {
            waiting.is_deferred = true;
        }
    }
    defer(deferral, first, others);
}

/// Adds to the blocks that are deferred at a place. Returns whether that changed anything.
fn defer(deferral: &mut Deferral, at: u32, places: &[u32]) -> bool {
    let Some(BlockDeferral { deferred, .. }) = deferral.at(at) else { return false };
    // Blocks before this place have been executed; lanes wait for them in the next iteration, if at all.
    let places = &places[places.partition_point(|&place| place <= at)..];
    let before = deferred.len();
    if deferred.is_empty() {
        deferred.extend_from_slice(places);
    } else {
        let old = std::mem::take(deferred);
        let (mut old, mut new) = (old.iter().copied().peekable(), places.iter().copied().peekable());
        while let (Some(&a), Some(&b)) = (old.peek(), new.peek()) {
            deferred.push(a.min(b));
            old.next_if_eq(&a.min(b));
            new.next_if_eq(&a.min(b));
        }
        deferred.extend(old.chain(new));
    }
    deferred.len() > before
}

/// Inserts a place into an ascending list.
pub(crate) fn insert(pending: &mut Pending, place: u32) {
    if let Err(index) = pending.binary_search(&place) {
        pending.insert(index, place);
    }
}
