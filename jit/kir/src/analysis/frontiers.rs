//! Dominance frontiers.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::{Cfg, DomTree};
use crate::entities::Block;

/// A graph with its dominators and the dominance frontier of each block: the blocks that it does not dominate strictly, though it
/// dominates a predecessor (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm").
#[derive(Clone, Debug)]
pub struct Frontiers<'a> {
    cfg: &'a Cfg,
    dom: DomTree,
    frontiers: SecondaryMap<Block, SmallVec<[Block; 2]>>,
}

impl<'a> Frontiers<'a> {
    /// Finds all frontiers of a graph.
    pub fn new(cfg: &'a Cfg) -> Frontiers<'a> {
        let dom = DomTree::new(cfg);
        let mut frontiers: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::new();
        for &join in cfg.rpo() {
            if cfg.preds(join).len() < 2 {
                continue;
            }
            let top = dom.parent(join);
            for &pred in cfg.preds(join) {
                let mut at = Some(pred);
                // If a block has the join already, so have those above it.
                while let Some(block) = at
                    && at != top
                    && frontiers[block].last() != Some(&join)
                {
                    frontiers[block].push(join);
                    at = dom.parent(block);
                }
            }
        }
        Frontiers { cfg, dom, frontiers }
    }

    /// The graph.
    pub fn cfg(&self) -> &Cfg {
        self.cfg
    }

    /// Its dominators.
    pub fn dom(&self) -> &DomTree {
        &self.dom
    }

    /// A block's frontier.
    pub fn of(&self, block: Block) -> &[Block] {
        &self.frontiers[block]
    }
}
