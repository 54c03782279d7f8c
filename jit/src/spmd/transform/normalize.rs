//! Brings a kernel into normal form before its work-items become lanes.
//!
//! Everything from [`crate::spmd::vectorize::order`] to [`crate::spmd::vectorize::widen`] relies on this:
//!
//! - constants, arguments and queries are in the entry block, and the entry block has no predecessors;
//! - one block returns (`unreachable` goes there too);
//! - every loop has one *preheader* (its only predecessor from outside, whose only successor is the header) and one *latch* (the
//!   only source of a back edge, which has no other successor);
//! - no edge is critical except exits of a loop: otherwise a block with several targets is the only predecessor of each of them;
//!   no two targets are the same block;
//! - all exits of a loop to one destination go through one block, which has no other predecessors: lanes that have left there, in
//!   any iteration and from any block, are one set;
//! - a value that is defined in a loop and used outside is a parameter of the exit block (loop-closed form): lanes that left in
//!   an earlier iteration keep their value.
//!
//! What the kernel computes does not change.

use std::cell::RefCell;
use std::iter;
use std::rc::Rc;

use clift_include::abi::{MAX_LOCAL_SIZE, PACKED_ID_BOUND};
use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::inst::BlockCall;
use clift_kir::ssa::remove_trivial_params;
use clift_kir::{Block, Builder, Function, Inst, Value};
use rustc_hash::FxHashMap;

use super::single_lane_regions::SingleLaneRegions;
use crate::passes::loop_form::{add_blocks, analyze, close_loops, outermost_left};
use crate::spmd::analysis::assumptions::{Assume, Assumed};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Assumptions, Scope};
use crate::spmd::class::{Class, class};

/// A kernel in normal form, with its graph.
#[derive(Clone, Debug)]
pub(crate) struct NormalForm {
    pub(crate) func: Function,
    pub(crate) cfg: Cfg,
    pub(crate) dom: DomTree,
    pub(crate) loops: LoopForest,
    /// Instructions about which packs assume something that was tested before; see [`super::versioning`].
    pub(crate) assumed: Assumed,
    /// How many pieces of the kernel have versions.
    pub(crate) pieces: usize,
    /// The regions that the kernel calls.
    pub(crate) single_lane: SingleLaneRegions,
    /// Loops that execute several iterations at once, by their headers; see [`super::row_loops`].
    pub(crate) several: FxHashMap<Block, Several>,
    /// The blocks that versions have, and those that they are copies of; see [`super::versioning`].
    pub(crate) copies: FxHashMap<Block, Block>,
    /// What [`Self::divergence`] has returned since the last change.
    divergences: RefCell<Vec<(DivergenceKey, Rc<Divergence>)>>,
}

/// The packs for which divergence is analysed: their lanes, and what is known of them.
type DivergenceKey = (u32, KnownOfPacks);

/// What is known of the packs of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownOfPacks {
    /// Nothing: they begin anywhere, and ids have any size.
    Nothing,
    /// Ids are below [`PACKED_ID_BOUND`], those of idle lanes, too.
    BoundedIds,
    /// As in [`Packing::whole`](crate::spmd::workgroup::Packing::whole).
    Whole,
}

/// A loop that executes several iterations of another one at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Several {
    pub(crate) iterations: u32,
    /// The header of the other loop, which is left with the rest.
    pub(crate) rest: Block,
    /// How often it is executed at most, if a loop of more iterations at once leaves no more.
    pub(crate) at_most: Option<u32>,
}

impl NormalForm {
    /// As [`Self::divergence_in`], for packs that are whole or of which nothing is known.
    pub(crate) fn divergence(&self, lanes: u32, whole: bool) -> Rc<Divergence> {
        self.divergence_in(lanes, if whole { KnownOfPacks::Whole } else { KnownOfPacks::Nothing })
    }

    /// Divergence in packs of so many lanes. It is analysed once until the kernel changes.
    pub(crate) fn divergence_in(&self, lanes: u32, packs: KnownOfPacks) -> Rc<Divergence> {
        let key: DivergenceKey = (lanes, packs);
        let analyze = || self.divergence_assuming(lanes, packs, &self.assumed);
        let known = self.divergences.borrow().iter().find(|(at, _)| *at == key).map(|(_, known)| known.clone());
        if let Some(known) = known {
            debug_assert!(*known == analyze(), "the kernel was changed otherwise than through `func_mut`");
            return known;
        }
        let divergence = Rc::new(analyze());
        self.divergences.borrow_mut().push((key, divergence.clone()));
        divergence
    }

    /// The kernel, for changes that keep its graph.
    pub(crate) fn func_mut(&mut self) -> &mut Function {
        self.divergences.get_mut().clear();
        &mut self.func
    }

    /// This kernel, in which these loops execute several iterations at once.
    pub(crate) fn with_several(self, several: FxHashMap<Block, Several>) -> NormalForm {
        NormalForm { several, ..self }
    }

    /// The block of the kernel without versions that a block is a copy of, or is itself.
    pub(crate) fn original(&self, block: Block) -> Block {
        iter::successors(Some(block), |block| self.copies.get(block).copied()).last().unwrap_or(block)
    }

    /// This kernel, which calls these regions.
    pub(crate) fn with_regions(self, single_lane: SingleLaneRegions) -> NormalForm {
        NormalForm { single_lane, ..self }
    }

    /// As [`Self::divergence`], with assumptions about some instructions.
    pub(crate) fn divergence_assuming(&self, lanes: u32, packs: KnownOfPacks, assumed: &Assumed) -> Divergence {
        let assumptions = Assumptions {
            width: lanes,
            packs_aligned: packs == KnownOfPacks::Whole,
            ids_below: (packs != KnownOfPacks::Nothing).then_some(PACKED_ID_BOUND),
            local_below: Some(MAX_LOCAL_SIZE),
        };
        Divergence::assuming(&self.func, &self.cfg, Scope::Pack, &assumptions, Assume::These(assumed))
    }
}

/// Brings a kernel into normal form; `None` if it has an irreducible loop.
pub(crate) fn run(kernel: &Function) -> Option<NormalForm> {
    run_owned(kernel.clone())
}

/// As [`run`], without a copy of the kernel.
pub(crate) fn run_owned(mut func: Function) -> Option<NormalForm> {
    unify_returns(&mut func);
    hoist_leaves(&mut func);
    let analyses = analyze(&func);
    if analyses.2.irreducible() {
        return None;
    }
    add_blocks(&mut func, analyses);
    split_critical_edges(&mut func);
    let (cfg, _, loops) = analyze(&func);
    close_loops(&mut func, &cfg, &loops);
    remove_trivial_exit_free_params(&mut func, &loops);
    let (cfg, dom, loops) = analyze(&func);
    Some(NormalForm {
        func,
        cfg,
        dom,
        loops,
        assumed: Assumed::default(),
        pieces: 0,
        single_lane: SingleLaneRegions::default(),
        several: FxHashMap::default(),
        copies: FxHashMap::default(),
        divergences: RefCell::default(),
    })
}

/// Lets all ends of the kernel go to one block.
fn unify_returns(func: &mut Function) {
    let ends: Vec<(Block, Inst)> = func
        .layout
        .blocks()
        .iter()
        .filter_map(|&block| Some((block, func.layout.terminator(block)?)))
        .filter(|&(_, inst)| class(func.dfg.inst(inst).op) == Class::End)
        .collect();
    let exit = func.append_block();
    // The kernel of a loop's iterations returns values (`super::loop_vectorizer`).
    let returns = func.returns.clone();
    let params: Vec<Value> = returns.iter().map(|&ty| func.dfg.append_param(exit, ty)).collect();
    for (block, inst) in ends {
        let mut values = func.dfg.inst(inst).args.to_vec();
        func.layout.remove_inst(inst);
        let mut b = Builder::at_end(func, block);
        values.extend(returns.iter().skip(values.len()).map(|&ty| b.undef(ty)));
        b.jump(exit, &values);
    }
    Builder::at_end(func, exit).ret(&params);
}

/// Moves instructions without operands and effects to a new entry block.
fn hoist_leaves(func: &mut Function) {
    let Some(old) = func.layout.entry() else { return };
    let entry = func.dfg.make_block();
    let mut order = vec![entry];
    order.extend(func.layout.blocks());
    func.layout.append_block(entry);
    for block in func.layout.blocks().to_vec() {
        let leaves: Vec<Inst> = func
            .layout
            .insts(block)
            .iter()
            .copied()
            .filter(|&inst| match class(func.dfg.inst(inst).op) {
                Class::Constant
                | Class::Arg
                | Class::ArgAddr
                | Class::SlotAddr
                | Class::GlobalAddr
                | Class::Query(_) => true,
                Class::InSpace
                | Class::Cheap
                | Class::Load
                | Class::Plain
                | Class::Barrier
                | Class::NamedBarrier
                | Class::Yield
                | Class::Collective
                | Class::Branch
                | Class::End
                | Class::Image => false,
            })
            .collect();
        if leaves.is_empty() {
            continue;
        }
        let taken: rustc_hash::FxHashSet<Inst> = leaves.iter().copied().collect();
        func.layout.retain(block, |inst| !taken.contains(&inst));
        for inst in leaves {
            func.layout.append_inst(entry, inst);
        }
    }
    Builder::at_end(func, entry).jump(old, &[]);
    func.layout.set_order(order);
}

/// Splits every edge from a block with several targets to a block with several predecessors, unless it leaves a loop.
fn split_critical_edges(func: &mut Function) {
    let (cfg, _, loops) = analyze(func);
    // Switches may have many targets, and blocks many predecessors.
    let mut only_exits: FxHashMap<Block, bool> = FxHashMap::default();
    for &block in cfg.rpo() {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        let calls: Vec<BlockCall> = func.dfg.targets(terminator).into_iter().cloned().collect();
        if calls.len() < 2 {
            continue;
        }
        let mut replaced: Vec<Option<Block>> = Vec::with_capacity(calls.len());
        let mut made: FxHashMap<BlockCall, Block> = FxHashMap::default();
        let mut times: FxHashMap<Block, usize> = FxHashMap::default();
        for call in &calls {
            *times.entry(call.block).or_default() += 1;
        }
        for call in &calls {
            let preds = cfg.preds(call.block);
            let mut all_leave = || {
                let leaves = |&pred: &Block| outermost_left(&loops, pred, call.block).is_some();
                *only_exits.entry(call.block).or_insert_with(|| preds.iter().all(leaves))
            };
            if times[&call.block] == 1 && (preds.len() < 2 || all_leave()) {
                replaced.push(None);
                continue;
            }
            let middle = *made.entry(call.clone()).or_insert_with(|| {
                let middle = func.append_block();
                Builder::at_end(func, middle).jump(call.block, &call.args);
                middle
            });
            replaced.push(Some(middle));
        }
        for (target, middle) in func.dfg.targets_mut(terminator).into_iter().zip(replaced) {
            if let Some(middle) = middle {
                *target = BlockCall::new(middle, &[]);
            }
        }
    }
}

/// Removes the trivial parameters that SSA construction makes. Those that close a loop must stay, so only functions without loops
/// are cleaned.
fn remove_trivial_exit_free_params(func: &mut Function, loops: &LoopForest) {
    if loops.iter().next().is_none() {
        remove_trivial_params(func);
    }
}
