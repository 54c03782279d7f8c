//! Loops of a kernel with one lane that are not unrolled, though they have few iterations: packs of the iterations are faster
//! than the copies.
//!
//! Copies fold what depends on the counter, and make values of private arrays; but they execute one by one, unless all of them
//! are in one block and compute alike ([`super::superwords`]). So the kernel is taken to its canonical form both ways, and the
//! model compares what [`super::one_lane`] makes of them.

use clift_kir::{Block, Function};
use rustc_hash::FxHashSet;

use super::{loop_vectorizer, one_lane};
use crate::Options;
use crate::passes::{self, Globals};
use crate::target::machine::Machine;

/// How much cheaper a kernel must be with loops that stay. The model knows nothing of what starts a loop.
const WORTHWHILE: f64 = 0.8;

/// The most instructions of a kernel that is looked at.
const MAX_INSTS: usize = 2000;

/// The headers of the loops that should stay, of a kernel before unrolling.
pub(crate) fn run(func: &Function, globals: &Globals, options: &Options, machine: &Machine) -> FxHashSet<Block> {
    let none = FxHashSet::default();
    let blocks = func.layout.blocks();
    if blocks.iter().map(|&block| func.layout.insts(block).len()).sum::<usize>() > MAX_INSTS {
        return none;
    }
    let unrolled = passes::unrolled_loops(func, globals);
    if unrolled.is_empty() {
        return none;
    }
    let settled = |rolled: &FxHashSet<Block>| {
        let mut func = func.clone();
        passes::from_unrolling(&mut func, globals, options, rolled, &mut |_, _| ());
        func
    };
    let rolled = loop_vectorizer::gainful(&settled(&unrolled), &unrolled, globals, options, machine);
    if rolled.is_empty() {
        return none;
    }
    let cost = |rolled: &FxHashSet<Block>| one_lane::cost_of(&settled(rolled), globals, options, machine);
    match (cost(&rolled), cost(&none)) {
        (Some(cost), Some(usual)) if cost < WORTHWHILE * usual => rolled,
        _ => none,
    }
}
