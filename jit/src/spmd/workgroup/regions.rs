//! Regions: the pieces of a kernel between barriers.
//!
//! A region begins at the kernel's entry, after a barrier or a collective operation of the work-group, where a pack waits at a
//! named barrier, after a yield, or at a *seam*. It contains everything that is reached from there before the next of these or
//! the end of the work-item. A block that is reached from several starts belongs to each of their regions and is copied into
//! all of them. Seams limit that: if the copies would grow the code too much, a block that all work-items pass together becomes
//! a start of its own and is shared.
//!
//! Nothing here changes what the kernel computes; [`super::loops`] makes the loops around the regions.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::inst::Imm;
use clift_kir::{Block, Builder, Function, Inst, MemScope, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

use super::collectives::{Collective, CollectiveKind};
use super::named_barriers;
use super::stable_loads::stable_loads;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::class::{Class, class};

/// The number of a region: its index in [`Regions::list`].
pub(crate) type RegionId = usize;

/// How much copies may grow a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// A factor of its size,
    pub(crate) factor: usize,
    /// and so many more instructions.
    pub(crate) slack: usize,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth { factor: 2, slack: 200 }
    }
}

/// Which of the work-items that wait for a region may run it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryRule {
    /// Any of them.
    Any,
    /// All of the group together: none before the last one has arrived. Needed only for round-robin scheduling; otherwise the
    /// regions before a barrier run before those after it anyway.
    All,
    /// Those that the region's first block lets pass; it sends the others back to itself.
    Checked,
}

/// One region.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The first block. No edge inside the region leads to it.
    pub(crate) start: Block,
    /// The fence before the region, for a barrier that orders memory beyond the work-group.
    pub(crate) fence: Option<MemScope>,
    /// Which work-items may run the region.
    pub(crate) entry_rule: EntryRule,
    /// The blocks in reverse postorder, `start` first.
    pub(crate) blocks: Vec<Block>,
    /// The regions that may be next, in order; `None` (last) is the end of the work-item.
    pub(crate) next: Vec<Option<RegionId>>,
}

/// A kernel that has been cut into regions.
#[derive(Debug)]
pub(crate) struct Regions {
    /// The kernel. Each work-group barrier has been removed at the end of its block; each collective operation of the work-group
    /// is at the end of its block.
    pub(crate) func: Function,
    /// Its graph.
    pub(crate) cfg: Cfg,
    /// Shapes in the scope of the group.
    pub(crate) divergence: Divergence,
    /// The regions; the first is the entry, the others in reverse postorder of their starts.
    pub(crate) list: Vec<Region>,
    /// Which region starts at a block.
    pub(crate) at: SecondaryMap<Block, Option<RegionId>>,
    /// Whether all work-items of a group provably go from region to region together.
    pub(crate) lockstep: bool,
    /// Whether the kernel has a work-group barrier.
    pub(crate) has_barrier: bool,
    /// Whether the kernel has named barriers or yields. Then regions are scheduled round-robin, because a pack may wait for one
    /// that is ahead of it.
    pub(crate) round_robin: bool,
}

/// For each start, the fence before its region and which work-items may run it.
type RegionEntries = SecondaryMap<Block, Option<(Option<MemScope>, EntryRule)>>;

impl Regions {
    /// Cuts a kernel into regions.
    pub(crate) fn new(kernel: &Function, growth: Growth) -> Regions {
        let mut func = kernel.clone();
        let wait_blocks = named_barriers::expand(&mut func);
        let round_robin = !wait_blocks.is_empty() || has_yields(&func);
        if round_robin {
            named_barriers::synchronize_collectives(&mut func);
        }
        let mut has_barrier = !wait_blocks.is_empty();
        let mut entries = RegionEntries::new();
        let mut ends = EntitySet::new();
        let mut starts: Vec<Block> = func.layout.entry().into_iter().collect();
        for block in func.layout.blocks().to_vec() {
            if let Some(&memory) = wait_blocks.get(&block) {
                starts.push(block);
                entries[block] = Some((beyond_group(memory), EntryRule::Checked));
            }
            split_at_barriers(&mut func, block, |barrier_block, start, end| {
                has_barrier |= match end {
                    RegionEnd::Barrier(_) | RegionEnd::Operation => true,
                    RegionEnd::Yield => false,
                };
                if let Some(start) = start {
                    ends.insert(barrier_block);
                    starts.push(start);
                    entries[start] = Some(match end {
                        RegionEnd::Barrier(memory) if round_robin => (beyond_group(memory), EntryRule::All),
                        RegionEnd::Barrier(memory) => (beyond_group(memory), EntryRule::Any),
                        RegionEnd::Operation | RegionEnd::Yield => (None, EntryRule::Any),
                    });
                }
            });
        }
        let cfg = Cfg::new(&func);
        starts.retain(|&b| cfg.reaches(b));
        let is_lockstep = |divergence: &Divergence| {
            !round_robin && cfg.rpo().iter().all(|&b| !(ends.contains(b) && divergence.in_divergent_region(b)))
        };
        let stable = if round_robin { EntitySet::new() } else { stable_loads(&func, &cfg, &starts) };
        let mut divergence = Divergence::of_groups(&func, &cfg, &stable);
        let mut lockstep = is_lockstep(&divergence);
        if !lockstep && !stable.is_empty() {
            divergence = Divergence::of_groups(&func, &cfg, &EntitySet::new());
            lockstep = is_lockstep(&divergence);
        }
        let mut regions = Regions {
            func,
            cfg,
            divergence,
            list: Vec::new(),
            at: SecondaryMap::new(),
            lockstep,
            has_barrier,
            round_robin,
        };
        regions.find(&starts, &entries);
        regions.add_seams(&mut starts, &entries, growth);
        regions
    }

    /// Whether a value is the result of a reduction over the work-group, the same for all work-items.
    pub(crate) fn is_reduction_result(&self, value: Value) -> bool {
        let operation = self.func.dfg.def_inst(value).and_then(|inst| Collective::of(&self.func, inst));
        operation.is_some_and(|operation| operation.kind == CollectiveKind::Reduction)
    }

    /// The collective operation of the work-group that ends a block.
    pub(crate) fn collective(&self, block: Block) -> Option<Collective> {
        let insts = self.func.layout.insts(block);
        insts.iter().rev().nth(1).and_then(|&inst| Collective::of(&self.func, inst))
    }

    /// The values that a region computes: all definitions in its blocks except the parameters of its start, which are its inputs.
    pub(crate) fn defined_in(&self, region: &Region) -> EntitySet<Value> {
        let mut defined = EntitySet::new();
        for &block in &region.blocks {
            if block != region.start {
                defined.extend(self.func.dfg.params(block).iter().copied());
            }
            for &inst in self.func.layout.insts(block) {
                defined.extend(self.func.dfg.results(inst).iter().copied());
            }
        }
        defined
    }

    /// Whether a block begins a region.
    fn is_start(&self, block: Block) -> bool {
        self.at[block].is_some()
    }

    /// Collects the regions of a set of starts.
    fn find(&mut self, starts: &[Block], entries: &RegionEntries) {
        let mut order = starts.to_vec();
        order.sort_by_key(|&b| self.cfg.number(b));
        self.at = SecondaryMap::new();
        for (id, &start) in order.iter().enumerate() {
            self.at[start] = Some(id);
        }
        self.list = order.iter().map(|&start| self.region(start, entries[start])).collect();
    }

    /// The region of a start.
    fn region(&self, start: Block, entry: Option<(Option<MemScope>, EntryRule)>) -> Region {
        let (fence, entry_rule) = entry.unwrap_or((None, EntryRule::Any));
        let mut seen = EntitySet::new();
        seen.insert(start);
        let mut blocks = vec![start];
        let mut next = Vec::new();
        let mut ends = false;
        let mut i = 0;
        while let Some(&block) = blocks.get(i) {
            i += 1;
            let succs = self.cfg.succs(block);
            ends |= succs.is_empty();
            for &succ in succs {
                match self.at[succ] {
                    Some(id) => next.push(Some(id)),
                    None => {
                        if seen.insert(succ) {
                            blocks.push(succ);
                        }
                    }
                }
            }
        }
        blocks.sort_by_key(|&b| self.cfg.number(b));
        // A start may be late in the order of the function, but it is the first block of its region.
        blocks.retain(|&b| b != start);
        blocks.insert(0, start);
        next.sort_unstable();
        next.dedup();
        if ends {
            next.push(None);
        }
        Region { start, fence, entry_rule, blocks, next }
    }

    fn size(&self, blocks: &[Block]) -> usize {
        blocks.iter().map(|&b| 1 + self.func.layout.insts(b).len()).sum()
    }

    /// Makes shared blocks regions of their own until the copies stay within limits.
    fn add_seams(&mut self, starts: &mut Vec<Block>, entries: &RegionEntries, growth: Growth) {
        let limit = growth.factor * self.size(self.cfg.rpo()) + growth.slack;
        let loops = LoopForest::new(&self.cfg, &DomTree::new(&self.cfg));
        loop {
            let total: usize = self.list.iter().map(|r| self.size(&r.blocks)).sum();
            if total <= limit {
                return;
            }
            let mut copies: SecondaryMap<Block, usize> = SecondaryMap::new();
            for region in &self.list {
                for &block in &region.blocks {
                    copies[block] += 1;
                }
            }
            let mut best: Option<(usize, Block)> = None;
            for &block in self.cfg.rpo() {
                if copies[block] < 2
                    || self.is_start(block)
                    || (self.lockstep && self.divergence.in_divergent_region(block))
                {
                    continue;
                }
                // Inside a loop without a barrier, each iteration would pass through the loops of the group.
                let in_plain_loop =
                    loops.innermost(block).is_some_and(|id| !loops.get(id).blocks.iter().any(|&b| self.is_start(b)));
                if in_plain_loop {
                    continue;
                }
                let saved = (copies[block] - 1) * self.size(&self.region(block, None).blocks);
                if best.is_none_or(|(most, _)| saved > most) {
                    best = Some((saved, block));
                }
            }
            let Some((_, seam)) = best else { return };
            starts.push(seam);
            self.find(starts, entries);
        }
    }
}

/// Whether packs let others go on while they wait.
fn has_yields(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| class(func.dfg.inst(inst).op) == Class::Yield)
}

/// What ends a region: a barrier with its memory scope, a collective operation of the work-group, or a yield.
#[derive(Clone, Copy)]
enum RegionEnd {
    Barrier(MemScope),
    Operation,
    Yield,
}

/// Splits a block after each of its work-group barriers, collective operations of the work-group, and yields. Removes barriers
/// and yields; collective operations stay at the end of their block. Calls `found` with the block, the block after it, and what
/// ends there.
///
/// A barrier right before the end of the work-item orders nothing within it and becomes a fence at most.
fn split_at_barriers(func: &mut Function, block: Block, mut found: impl FnMut(Block, Option<Block>, RegionEnd)) {
    let insts = func.layout.insts(block);
    let end = |(index, &inst): (usize, &Inst)| {
        let data = func.dfg.inst(inst);
        match (class(data.op), &data.imm) {
            (Class::Barrier, Imm::Barrier(info)) if is_group_barrier(info.execution) => {
                Some((index, inst, RegionEnd::Barrier(info.memory)))
            }
            (Class::Collective, _) => Some((index, inst, RegionEnd::Operation)),
            (Class::Yield, _) => Some((index, inst, RegionEnd::Yield)),
            _ => None,
        }
    };
    let mut ends: Vec<_> = insts.iter().enumerate().filter_map(end).collect();
    let is_last = |index: usize| insts.get(index + 1).is_some_and(|&inst| class(func.dfg.inst(inst).op) == Class::End);
    let last = ends.pop_if(|&mut (index, _, end)| matches!(end, RegionEnd::Barrier(_)) && is_last(index));
    let rests: Vec<Block> = ends.iter().map(|_| func.dfg.make_block()).collect();
    if !rests.is_empty() {
        func.layout.insert_blocks_after(&rests, block);
    }
    // From the end, so that each instruction moves once.
    for (&(index, ..), &rest) in ends.iter().zip(&rests).rev() {
        func.layout.split_off(block, index + 1, rest);
    }
    let mut at = block;
    for (&(_, inst, end), &rest) in ends.iter().zip(&rests) {
        match end {
            RegionEnd::Barrier(_) | RegionEnd::Yield => func.layout.remove_inst(inst),
            RegionEnd::Operation => {}
        }
        Builder::at_end(func, at).jump(rest, &[]);
        found(at, Some(rest), end);
        at = rest;
    }
    if let Some((_, barrier, RegionEnd::Barrier(memory))) = last {
        found(at, None, RegionEnd::Barrier(memory));
        func.layout.remove_inst(barrier);
        if let Some(scope) = beyond_group(memory) {
            let before_end = func.layout.insts(at).len() - 1;
            Builder::before(func, at, before_end).fence(super::fence(scope));
        }
    }
}

/// Whether the work-items of a group wait for each other at a barrier. At others, at most those of a sub-group wait, which is one
/// pack.
fn is_group_barrier(execution: MemScope) -> bool {
    match execution {
        MemScope::WorkItem | MemScope::SubGroup => false,
        MemScope::WorkGroup | MemScope::Device | MemScope::AllDevices => true,
    }
}

/// The scope, if it extends beyond the work-group, which one thread runs.
pub(crate) fn beyond_group(memory: MemScope) -> Option<MemScope> {
    match memory {
        MemScope::WorkItem | MemScope::SubGroup | MemScope::WorkGroup => None,
        MemScope::Device | MemScope::AllDevices => Some(memory),
    }
}

/// The scope, if it extends beyond the work-item.
pub(crate) fn beyond_item(memory: MemScope) -> Option<MemScope> {
    match memory {
        MemScope::WorkItem | MemScope::SubGroup => None,
        MemScope::WorkGroup | MemScope::Device | MemScope::AllDevices => Some(memory),
    }
}
