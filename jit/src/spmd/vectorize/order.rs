//! The order in which blocks of different work-items may be executed one after the other.
//!
//! A topological order of a function in [`crate::spmd::transform::normalize`]'s normal form in which the blocks of a loop are contiguous and, at
//! each level of loops, the blocks dominated by a block follow it contiguously (an inner loop counting as one block). So
//! whatever stands between a block and one it dominates is dominated by it too: no foreign code comes between a branch and the
//! place where its ways meet. The block that returns is last.

use clift_kir::Block;
use clift_kir::analysis::LoopId;
use rustc_hash::FxHashMap;

use crate::spmd::transform::normalize::Prepared;

/// A block, or a whole loop by its header: children of a header that lie in its loop hang on the block, the others on the loop.
type Node = Block;

/// The order.
pub(crate) fn order(prepared: &Prepared) -> Vec<Block> {
    // Children in the dominator tree of each level, by level.
    let mut children: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
    let Prepared { cfg, dom, loops, .. } = prepared;
    for &block in cfg.rpo() {
        // A header stands for its loop in the level around it; the loop's own level begins with it.
        let level = match loops.innermost(block) {
            Some(id) if loops.get(id).header == block => loops.get(id).parent,
            other => other,
        };
        let Some(parent) = dom.parent(block) else { continue };
        children.entry(node_at(prepared, parent, level)).or_default().push(block);
    }
    let mut out = Vec::with_capacity(cfg.rpo().len());
    if let Some(&entry) = cfg.rpo().first() {
        visit(prepared, &children, entry, &mut out);
    }
    // Only a loop that never ends can keep the return from being last.
    let is_return = |b: &Block| cfg.succs(*b).is_empty();
    let (returns, mut rest): (Vec<Block>, Vec<Block>) = out.into_iter().partition(is_return);
    rest.extend(returns);
    rest
}

/// The node that a block is part of at a level: itself, or the loop directly inside the level that contains it.
fn node_at(prepared: &Prepared, block: Block, level: Option<LoopId>) -> Node {
    let loops = &prepared.loops;
    let mut at = loops.innermost(block);
    if at == level {
        return block;
    }
    while let Some(id) = at {
        let parent = loops.get(id).parent;
        if parent == level {
            return loops.get(id).header;
        }
        at = parent;
    }
    block
}

fn visit(prepared: &Prepared, children: &FxHashMap<Node, Vec<Node>>, node: Block, out: &mut Vec<Block>) {
    let loops = &prepared.loops;
    let mut stack = vec![node];
    while let Some(block) = stack.pop() {
        out.push(block);
        let mut below = children.get(&block).cloned().unwrap_or_default();
        let own_loop = loops.innermost(block).filter(|&id| loops.get(id).header == block);
        // A header's children inside its loop come before those outside.
        let is_outside = |b: Block| own_loop.is_some_and(|id| !loops.contains(id, b));
        below.sort_by_key(|&b| (is_outside(b), prepared.cfg.number(b)));
        stack.extend(below.into_iter().rev());
    }
}
