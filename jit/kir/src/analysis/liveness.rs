//! Which values are live into which block.

use cranelift_entity::{EntitySet, SecondaryMap};

use super::Cfg;
use crate::dfg::ValueDef;
use crate::entities::{Block, Value};
use crate::function::Function;

/// Values live at the start of each block, its own parameters not counted.
#[derive(Clone, Debug)]
pub struct Liveness {
    live_in: SecondaryMap<Block, EntitySet<Value>>,
}

impl Liveness {
    /// Walks upward from every use to the definition.
    pub fn new(func: &Function, cfg: &Cfg) -> Liveness {
        let mut live_in: SecondaryMap<Block, EntitySet<Value>> = SecondaryMap::new();
        let mut stack = Vec::new();
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| {
                    let home = def_block(func, value);
                    if home == Some(block) {
                        return;
                    }
                    stack.push(block);
                    while let Some(at) = stack.pop() {
                        if Some(at) != home && live_in[at].insert(value) {
                            stack.extend(cfg.preds(at));
                        }
                    }
                });
            }
        }
        Liveness { live_in }
    }

    /// Values live at the start of a block.
    pub fn live_in(&self, block: Block) -> &EntitySet<Value> {
        &self.live_in[block]
    }
}

/// The block in which a value is defined.
fn def_block(func: &Function, value: Value) -> Option<Block> {
    match func.dfg.def(value) {
        ValueDef::Result(inst, _) => func.layout.block_of(inst),
        ValueDef::Param(block, _) => Some(block),
    }
}
