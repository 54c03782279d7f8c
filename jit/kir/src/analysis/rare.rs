//! Blocks that are executed seldom: those that the layout notes, and what they dominate.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::{Cfg, DomTree};
use crate::entities::Block;
use crate::function::Function;

/// For each block that is executed seldom the outermost such block that dominates it.
#[derive(Clone, Debug)]
pub struct Rare {
    heads: SecondaryMap<Block, PackedOption<Block>>,
    any: bool,
}

impl Rare {
    /// Looks at all blocks that can be reached.
    pub fn new(func: &Function, cfg: &Cfg) -> Rare {
        let mut rare = Rare { heads: SecondaryMap::new(), any: false };
        if !func.layout.blocks().iter().any(|&block| func.layout.is_rare(block)) {
            return rare;
        }
        let dom = DomTree::new(cfg);
        // A dominator comes before what it dominates.
        for &block in cfg.rpo() {
            let above = dom.parent(block).and_then(|parent| rare.heads[parent].expand());
            let head = above.or(func.layout.is_rare(block).then_some(block));
            rare.any |= head.is_some();
            rare.heads[block] = head.into();
        }
        rare
    }

    /// Whether a block is executed seldom.
    pub fn contains(&self, block: Block) -> bool {
        self.heads[block].is_some()
    }

    /// The first of the blocks that are executed when this one is, and seldom: it dominates the others.
    pub fn head(&self, block: Block) -> Option<Block> {
        self.heads[block].expand()
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.any
    }
}
