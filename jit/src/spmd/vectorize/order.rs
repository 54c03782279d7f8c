//! The order in which a pack executes blocks.
//!
//! This is a topological order of a function in [`crate::spmd::transform::normalize`]'s normal form. The blocks of a loop are
//! contiguous, and at each loop level the blocks that a block dominates follow it contiguously (an inner loop counts as one
//! block). So every block between a block and one that it dominates is dominated by it as well: no unrelated code comes between a
//! branch and the join of its paths. The block that returns is last.

use clift_kir::Block;
use clift_kir::analysis::LoopId;
use rustc_hash::FxHashMap;

use crate::spmd::transform::normalize::NormalForm;

/// A block, or a whole loop, which its header stands for. The dominator-tree children of a header that are in its loop are
/// children of the block; the others are children of the loop.
type LevelNode = Block;

/// Computes the order of a kernel's blocks.
pub(crate) fn order(normal: &NormalForm) -> Vec<Block> {
    // The children of each node in the dominator tree of its level.
    let mut children: FxHashMap<LevelNode, Vec<LevelNode>> = FxHashMap::default();
    let NormalForm { cfg, dom, loops, .. } = normal;
    for &block in cfg.rpo() {
        // In the surrounding level a header stands for its loop; in the loop's own level it is the first block.
        let level = match loops.headed_by(block) {
            Some(id) => loops.get(id).parent,
            None => loops.innermost(block),
        };
        let Some(parent) = dom.parent(block) else { continue };
        children.entry(node_at(normal, parent, level)).or_default().push(block);
    }
    let mut out = Vec::with_capacity(cfg.rpo().len());
    if let Some(&entry) = cfg.rpo().first() {
        visit(normal, &children, entry, &mut out);
    }
    // The return can only fail to be last because of a loop that never ends.
    let is_return = |b: &Block| cfg.succs(*b).is_empty();
    let (returns, mut rest): (Vec<Block>, Vec<Block>) = out.into_iter().partition(is_return);
    rest.extend(returns);
    rest
}

/// The node to which a block belongs at a level: the block itself, or the loop directly inside the level that contains it.
fn node_at(normal: &NormalForm, block: Block, level: Option<LoopId>) -> LevelNode {
    let loops = &normal.loops;
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

fn visit(normal: &NormalForm, children: &FxHashMap<LevelNode, Vec<LevelNode>>, node: Block, out: &mut Vec<Block>) {
    let loops = &normal.loops;
    let mut stack = vec![node];
    while let Some(block) = stack.pop() {
        out.push(block);
        let mut below = children.get(&block).cloned().unwrap_or_default();
        let own_loop = loops.headed_by(block);
        // Children of a header that are in its loop come first.
        let is_outside = |b: Block| own_loop.is_some_and(|id| !loops.contains(id, b));
        below.sort_by_key(|&b| (is_outside(b), normal.cfg.number(b)));
        stack.extend(below.into_iter().rev());
    }
}
