//! Live values at the start of blocks.

use cranelift_entity::SecondaryMap;

use super::Cfg;
use crate::entities::{Block, Value};
use crate::function::Function;

/// Values live at the start of each block, its own parameters not counted.
#[derive(Clone, Debug)]
pub struct Liveness {
    live_in: SecondaryMap<Block, Vec<Value>>,
}

impl Liveness {
    /// The liveness of all values in all blocks. If only some are needed, use [`Liveness::of`]: the lists can be long.
    pub fn new(func: &Function, cfg: &Cfg) -> Liveness {
        Self::of(func, cfg, |_| true, |_| true)
    }

    /// The liveness of the values for which `wanted` holds, at the blocks for which `noted` holds. Walks from every use up to the
    /// definition.
    pub fn of(func: &Function, cfg: &Cfg, wanted: impl Fn(Value) -> bool, noted: impl Fn(Block) -> bool) -> Liveness {
        match Self::bounded(func, cfg, wanted, noted, usize::MAX) {
            Some(live) => live,
            None => unreachable!("broken invariant: more values than fit memory"),
        }
    }

    /// As [`Liveness::of`], unless more than `most` steps from uses to definitions are needed.
    pub fn bounded(
        func: &Function,
        cfg: &Cfg,
        wanted: impl Fn(Value) -> bool,
        noted: impl Fn(Block) -> bool,
        most: usize,
    ) -> Option<Liveness> {
        let mut steps = 0;
        let mut live_in: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
        // Uses outside the block of the definition.
        let mut uses: Vec<(Value, Block)> = Vec::new();
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| {
                    if func.def_block(value) != Some(block) && uses.last() != Some(&(value, block)) && wanted(value) {
                        uses.push((value, block));
                    }
                });
            }
        }
        uses.sort_unstable();
        // The value that last came to each block.
        let mut seen: SecondaryMap<Block, Option<Value>> = SecondaryMap::with_capacity(func.dfg.block_count());
        let mut stack = Vec::new();
        for (value, block) in uses {
            let home = func.def_block(value);
            stack.push(block);
            while let Some(at) = stack.pop() {
                if Some(at) == home || seen[at] == Some(value) {
                    continue;
                }
                seen[at] = Some(value);
                steps += 1;
                if steps > most {
                    return None;
                }
                if noted(at) {
                    live_in[at].push(value);
                }
                stack.extend(cfg.preds(at));
            }
        }
        Some(Liveness { live_in })
    }

    /// Values live at the start of a block, in ascending order.
    pub fn live_in(&self, block: Block) -> &[Value] {
        &self.live_in[block]
    }
}
