//! Which lanes execute a block: the blocks that need a mask of their own, and those that share one.
//!
//! Every block has a *root*, a block whose mask is its own. The entry's root is the entry, where all lanes of the pack that exist
//! are active. A block shares the mask of
//!
//! 1. the nearest block of the same loop that dominates it, if it is executed whenever that one is;
//! 2. its predecessors, behind uniform branches, if they share one and it is never deferred: the pack goes there as a whole;
//! 3. the preheader, if it is the header of a loop that lanes leave together.
//!
//! All others are roots: lanes that go there are collected in a mask of its own until it executes. The order of execution
//! ([`super::order`]) makes sure that whatever comes between a block and its root is dominated by the root.

use clift_kir::Block;
use clift_kir::analysis::DomTree;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::linearize::Plan;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::transform::normalize::Prepared;

/// Roots of all blocks.
#[derive(Debug)]
pub(crate) struct Masks {
    roots: SecondaryMap<Block, PackedOption<Block>>,
    entry: Block,
}

impl Masks {
    /// Finds the roots.
    pub(crate) fn new(prepared: &Prepared, divergence: &Divergence, plan: &Plan) -> Masks {
        let Prepared { cfg, .. } = prepared;
        let post = DomTree::post(cfg);
        let Some(&entry) = plan.order.first() else { unreachable!("broken invariant: a kernel without blocks") };
        let mut masks = Masks { roots: SecondaryMap::new(), entry };
        for &block in &plan.order {
            let shared = shares_with(prepared, divergence, plan, &post, &masks, block);
            let root = match shared {
                Some(other) => masks.root(other),
                None => block,
            };
            masks.roots[block] = Some(root).into();
        }
        masks
    }

    /// The block whose mask a block has.
    pub(crate) fn root(&self, block: Block) -> Block {
        self.roots[block].expand().unwrap_or(block)
    }

    /// Whether all lanes of the pack execute a block.
    pub(crate) fn is_full(&self, block: Block) -> bool {
        self.root(block) == self.entry
    }
}

/// An earlier block of the order with the same mask.
fn shares_with(
    prepared: &Prepared,
    divergence: &Divergence,
    plan: &Plan,
    post: &DomTree,
    masks: &Masks,
    block: Block,
) -> Option<Block> {
    let Prepared { cfg, dom, loops, .. } = prepared;
    let level = loops.innermost(block);
    if let Some(id) = level
        && loops.get(id).header == block
    {
        let preheader = cfg.preds(block).iter().copied().find(|pred| !loops.contains(id, *pred));
        return preheader.filter(|_| !plan.divergent_loops.contains(&id));
    }
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
