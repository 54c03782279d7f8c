//! Natural loops.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

use super::{Cfg, DomTree};
use crate::entities::Block;

/// A loop of a [`LoopForest`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

/// One natural loop: all back edges to one header.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block through which the loop is entered.
    pub header: Block,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Sources of its back edges.
    pub latches: Vec<Block>,
    /// Its blocks, those of inner loops included, in reverse postorder; the header is first.
    pub blocks: Vec<Block>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// The loops of a function, outer before inner.
#[derive(Clone, Debug)]
pub struct LoopForest {
    loops: PrimaryMap<LoopId, Loop>,
    innermost: SecondaryMap<Block, PackedOption<LoopId>>,
    /// Preorder intervals of the tree of loops.
    spans: SecondaryMap<LoopId, (u32, u32)>,
    irreducible: bool,
}

impl LoopForest {
    /// Finds the loops.
    pub fn new(cfg: &Cfg, dom: &DomTree) -> LoopForest {
        let mut loops: PrimaryMap<LoopId, Loop> = PrimaryMap::new();
        let mut irreducible = false;
        // The header of the last loop that was found to contain each block.
        let mut inside: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
        // Headers in reverse postorder: an outer loop's header comes before those of the loops in it.
        for &header in cfg.rpo() {
            let mut latches = Vec::new();
            for &pred in cfg.preds(header) {
                if dom.dominates(header, pred) {
                    latches.push(pred);
                } else if cfg.number(pred) >= cfg.number(header) {
                    irreducible = true; // an edge back that is not to a dominator
                }
            }
            if latches.is_empty() {
                continue;
            }
            inside[header] = Some(header).into();
            let mut blocks = vec![header];
            let mut stack = latches.clone();
            while let Some(block) = stack.pop() {
                if inside[block].expand() != Some(header) {
                    inside[block] = Some(header).into();
                    blocks.push(block);
                    stack.extend(cfg.preds(block));
                }
            }
            blocks.sort_by_key(|&b| cfg.number(b));
            loops.push(Loop { header, parent: None, latches, blocks, depth: 1 });
        }
        let mut innermost: SecondaryMap<Block, PackedOption<LoopId>> = SecondaryMap::new();
        let ids: Vec<LoopId> = loops.keys().collect();
        for id in ids {
            let header = loops[id].header;
            if let Some(parent) = innermost[header].expand() {
                loops[id].parent = Some(parent);
                loops[id].depth = loops[parent].depth + 1;
            }
            for &block in &loops[id].blocks {
                innermost[block] = Some(id).into();
            }
        }
        let spans = spans(&loops);
        LoopForest { loops, innermost, spans, irreducible }
    }

    /// All loops, outer before inner.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (LoopId, &Loop)> {
        self.loops.iter()
    }

    /// A loop.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id]
    }

    /// The innermost loop that contains a block.
    pub fn innermost(&self, block: Block) -> Option<LoopId> {
        self.innermost[block].expand()
    }

    /// The loop of which a block is the header.
    pub fn headed_by(&self, block: Block) -> Option<LoopId> {
        self.innermost(block).filter(|&id| self.loops[id].header == block)
    }

    /// How many loops contain a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block).map_or(0, |id| self.loops[id].depth)
    }

    /// Whether a loop contains a block.
    pub fn contains(&self, id: LoopId, block: Block) -> bool {
        let (start, end) = self.spans[id];
        self.innermost(block).is_some_and(|inner| (start..end).contains(&self.spans[inner].0))
    }

    /// Whether the graph is irreducible: some cycle has more than one entry. Such cycles are not loops of this forest.
    pub fn irreducible(&self) -> bool {
        self.irreducible
    }
}

/// The interval of each loop in a preorder of the tree: its own number, and the first one behind all loops in it.
fn spans(loops: &PrimaryMap<LoopId, Loop>) -> SecondaryMap<LoopId, (u32, u32)> {
    // Loops in each, itself included: outer loops come before inner ones.
    let mut sizes: SecondaryMap<LoopId, u32> = SecondaryMap::new();
    for (id, data) in loops.iter().rev() {
        sizes[id] += 1;
        if let Some(parent) = data.parent {
            let size = sizes[id];
            sizes[parent] += size;
        }
    }
    let mut spans: SecondaryMap<LoopId, (u32, u32)> = SecondaryMap::new();
    // The next number for a loop in each.
    let mut next: SecondaryMap<LoopId, u32> = SecondaryMap::new();
    let mut outermost = 0;
    for (id, data) in loops.iter() {
        let start = match data.parent {
            Some(parent) => &mut next[parent],
            None => &mut outermost,
        };
        let own = *start;
        *start += sizes[id];
        spans[id] = (own, own + sizes[id]);
        next[id] = own + 1;
    }
    spans
}
