//! Masks: which blocks need a mask of their own, and which share one.
//!
//! Every block has a *root*, the block whose mask it uses. The entry is its own root; there all lanes of the pack that exist are
//! active. A block shares the mask of
//!
//! 1. the nearest block of the same loop that dominates it, if it is executed whenever that one is, in the same iteration;
//! 2. its predecessors after uniform branches, if they share one and the block is never deferred: the pack goes there as a whole;
//! 3. the preheader, if it is the header of a loop that all lanes leave together.
//!
//! All other blocks are roots: each has a mask that collects the lanes that branch to it until it is executed. The order of
//! execution ([`super::order`]) ensures that a root dominates every block between itself and a block that shares its mask.

use clift_kir::Block;
use clift_kir::analysis::{Cfg, DomTree};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::linearize::LinearizationPlan;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::transform::normalize::NormalForm;

/// The roots of all blocks.
#[derive(Debug)]
pub(crate) struct Masks {
    roots: SecondaryMap<Block, PackedOption<Block>>,
    entry: Block,
}

impl Masks {
    /// Finds the roots.
    pub(crate) fn new(normal: &NormalForm, divergence: &Divergence, plan: &LinearizationPlan) -> Masks {
        let post = DomTree::post(&iterations(normal));
        let Some(&entry) = plan.order.first() else { unreachable!("broken invariant: a kernel without blocks") };
        let mut masks = Masks { roots: SecondaryMap::new(), entry };
        for &block in &plan.order {
            let shared = shares_with(normal, divergence, plan, &post, &masks, block);
            let root = match shared {
                Some(other) => masks.root(other),
                None => block,
            };
            masks.roots[block] = Some(root).into();
        }
        masks
    }

    /// The block whose mask a block uses.
    pub(crate) fn root(&self, block: Block) -> Block {
        self.roots[block].expand().unwrap_or(block)
    }

    /// Whether all lanes of the pack execute a block.
    pub(crate) fn is_full(&self, block: Block) -> bool {
        self.root(block) == self.entry
    }
}

/// The control flow of single iterations: after the last block of a loop comes what follows the loop, not the next iteration. A
/// block that all paths pass only because the next iteration does is not executed by all lanes of this one.
fn iterations(normal: &NormalForm) -> Cfg {
    let NormalForm { cfg, loops, .. } = normal;
    let mut exits: FxHashMap<Block, SmallVec<[Block; 2]>> = FxHashMap::default();
    for (id, data) in loops.iter() {
        let exits = exits.entry(data.header).or_default();
        for &succ in data.blocks.iter().flat_map(|&block| cfg.succs(block)) {
            if !loops.contains(id, succ) && !exits.contains(&succ) {
                exits.push(succ);
            }
        }
    }
    let succs = |block: Block| match *cfg.succs(block) {
        // Only a latch leads to the header of a loop around it, and nowhere else.
        [succ]
            if let Some(exits) = exits.get(&succ)
                && loops.innermost(succ).is_some_and(|id| loops.contains(id, block)) =>
        {
            exits.clone()
        }
        ref succs => SmallVec::from_slice(succs),
    };
    Cfg::of_graph(cfg.rpo().first().copied(), cfg.rpo().len(), succs)
}

/// An earlier block of the order with the same mask, if there is one.
fn shares_with(
    normal: &NormalForm,
    divergence: &Divergence,
    plan: &LinearizationPlan,
    post: &DomTree,
    masks: &Masks,
    block: Block,
) -> Option<Block> {
    let NormalForm { cfg, dom, loops, .. } = normal;
    if let Some(id) = loops.headed_by(block) {
        let preheader = cfg.preds(block).iter().copied().find(|pred| !loops.contains(id, *pred));
        return preheader.filter(|_| !plan.divergent_loops.contains(&id));
    }
    let level = loops.innermost(block);
    let mut above = dom.parent(block);
    while let Some(at) = above {
        if loops.innermost(at) == level {
            if post.dominates(block, at) {
                return Some(at);
            }
            break;
        }
        above = dom.parent(at);
    }
    let (&first, rest) = cfg.preds(block).split_first()?;
    let whole = !plan.ever_deferred.contains(block)
        && !cfg.preds(block).iter().any(|&pred| divergence.diverges(pred))
        && rest.iter().all(|&pred| masks.root(pred) == masks.root(first));
    whole.then_some(first)
}
