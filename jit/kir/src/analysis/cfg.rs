//! The control-flow graph: predecessors and successors.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::entities::Block;
use crate::function::Function;

/// Predecessors, successors and a reverse postorder of the reachable blocks.
#[derive(Clone, Debug)]
pub struct Cfg {
    preds: SecondaryMap<Block, SmallVec<[Block; 4]>>,
    succs: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    rpo: Vec<Block>,
    number: SecondaryMap<Block, u32>,
}

/// [`Cfg::number`] of a block that the entry does not reach.
const UNREACHED: u32 = u32::MAX;

impl Cfg {
    /// Walks the function. Blocks that the entry does not reach are in none of the lists.
    pub fn new(func: &Function) -> Cfg {
        Self::of_graph(func.layout.entry(), func.layout.blocks().len(), |block| distinct(func, block))
    }

    /// Walks a graph from its entry, if it has one. `distinct` gives the successors of a block, each once; `blocks` is about the
    /// number of blocks.
    pub fn of_graph(entry: Option<Block>, blocks: usize, distinct: impl Fn(Block) -> SmallVec<[Block; 2]>) -> Cfg {
        let mut succs: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::new();
        let mut postorder = Vec::with_capacity(blocks);
        let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
        if let Some(entry) = entry {
            seen[entry] = true;
            succs[entry] = distinct(entry);
            let mut stack = vec![(entry, 0)];
            while let Some((block, next)) = stack.last_mut() {
                if let Some(&succ) = succs[*block].get(*next) {
                    *next += 1;
                    if !seen[succ] {
                        seen[succ] = true;
                        succs[succ] = distinct(succ);
                        stack.push((succ, 0));
                    }
                } else {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        let rpo = postorder;
        let mut number = SecondaryMap::with_default(UNREACHED);
        let mut preds: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
        for (i, &block) in rpo.iter().enumerate() {
            number[block] = i as u32;
            for &succ in &succs[block] {
                preds[succ].push(block);
            }
        }
        Cfg { preds, succs, rpo, number }
    }

    /// Blocks that may come before, each once, in reverse postorder of theirs. An edge that a terminator has twice counts once.
    pub fn preds(&self, block: Block) -> &[Block] {
        &self.preds[block]
    }

    /// Blocks that may come next, each once, in the order of the terminator's targets.
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.succs[block]
    }

    /// Reachable blocks in reverse postorder, entry first.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// Position in [`Self::rpo`]; `None` when the entry does not reach the block.
    pub fn number(&self, block: Block) -> Option<u32> {
        Some(self.number[block]).filter(|&n| n != UNREACHED)
    }

    /// Whether the entry reaches the block.
    pub fn reaches(&self, block: Block) -> bool {
        self.number[block] != UNREACHED
    }
}

fn distinct(func: &Function, block: Block) -> SmallVec<[Block; 2]> {
    let mut list: SmallVec<[Block; 2]> = SmallVec::new();
    // A switch may have thousands of cases to few blocks: linear search is fine up to a point, a set beyond.
    let mut seen = rustc_hash::FxHashSet::default();
    for succ in func.successors(block) {
        let new = if list.len() < 8 { !list.contains(&succ) } else { true };
        if new && (list.len() < 8 || seen.insert(succ)) {
            list.push(succ);
            if list.len() == 8 {
                seen.extend(list.iter().copied());
            }
        }
    }
    list
}
