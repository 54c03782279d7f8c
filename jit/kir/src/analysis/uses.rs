//! How often values are used.

use cranelift_entity::SecondaryMap;

use crate::entities::Value;
use crate::function::Function;

/// Number of uses of each value by instructions that stand in the function.
#[derive(Clone, Debug)]
pub struct UseCounts {
    counts: SecondaryMap<Value, u32>,
}

impl UseCounts {
    /// Counts.
    pub fn new(func: &Function) -> UseCounts {
        let mut counts: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.dfg.value_count());
        for &block in func.layout.blocks() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| counts[value] += 1);
            }
        }
        UseCounts { counts }
    }

    /// Uses of a value.
    pub fn get(&self, value: Value) -> u32 {
        self.counts[value]
    }

    /// Removes one use of a value; returns the number of remaining uses.
    pub fn remove_one(&mut self, value: Value) -> u32 {
        self.counts[value] -= 1;
        self.counts[value]
    }
}
