//! Cold blocks: those that the layout marks, and the blocks that they dominate.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::{Cfg, DomTree};
use crate::entities::Block;
use crate::function::Function;

/// For each cold block, the outermost cold block that dominates it.
#[derive(Clone, Debug)]
pub struct Cold {
    heads: SecondaryMap<Block, PackedOption<Block>>,
    any: bool,
}

impl Cold {
    /// Analyses all reachable blocks.
    pub fn new(func: &Function, cfg: &Cfg) -> Cold {
        let mut cold = Cold { heads: SecondaryMap::new(), any: false };
        if !func.layout.blocks().iter().any(|&block| func.layout.is_cold(block)) {
            return cold;
        }
        let dom = DomTree::new(cfg);
        // A dominator comes before what it dominates.
        for &block in cfg.rpo() {
            let above = dom.parent(block).and_then(|parent| cold.heads[parent].expand());
            let head = above.or(func.layout.is_cold(block).then_some(block));
            cold.any |= head.is_some();
            cold.heads[block] = head.into();
        }
        cold
    }

    /// Whether a block is cold.
    pub fn contains(&self, block: Block) -> bool {
        self.heads[block].is_some()
    }

    /// The outermost cold block that dominates this one; `None` if this block is not cold.
    pub fn head(&self, block: Block) -> Option<Block> {
        self.heads[block].expand()
    }

    /// Whether there is any cold block.
    pub fn any(&self) -> bool {
        self.any
    }
}
