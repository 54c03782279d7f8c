//! How often values are used, and where.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::entities::{Block, Inst, Value};
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

/// The instructions that use each value, as operand or as argument of a target: one entry per use, in the order of the code. All
/// of them are in one array.
#[derive(Clone, Debug)]
pub struct Users {
    /// Where each value's users begin in `insts`; one more at the end.
    starts: Vec<u32>,
    insts: Vec<Inst>,
}

impl Users {
    /// Collects the users in some blocks.
    pub fn new(func: &Function, blocks: &[Block]) -> Users {
        let mut starts = vec![0; func.dfg.value_count() + 1];
        for &inst in blocks.iter().flat_map(|&block| func.layout.insts(block)) {
            func.dfg.for_each_use(inst, |value| starts[value.index()] += 1);
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        // Filled from the end of each value's part, which moves its start to the right place.
        let mut insts = vec![Inst::new(0); total as usize];
        for &inst in blocks.iter().rev().flat_map(|&block| func.layout.insts(block).iter().rev()) {
            func.dfg.for_each_use(inst, |value| {
                let start = &mut starts[value.index()];
                *start -= 1;
                insts[*start as usize] = inst;
            });
        }
        Users { starts, insts }
    }

    /// The users of a value.
    pub fn of(&self, value: Value) -> &[Inst] {
        let at = value.index();
        &self.insts[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
