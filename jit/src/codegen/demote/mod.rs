//! Demotion: keeps values in stack slots where far more are alive than there are registers.
//!
//! The time of a thorough register allocator grows with the product of a function's instructions and the values alive at once,
//! and single-pass allocators spill everything at the end of each block. Large kernels with much divergence have hundreds of
//! values alive. Most of them are spilled by any allocator; this step chooses them beforehand, so that the allocator only sees
//! about as many as it has registers.
//!
//! | step | module |
//! |---|---|
//! | live ranges; parameters and their arguments share one web where they are never alive together | `webs` |
//! | the webs with the fewest uses for their length, until the others fit | `choice` |
//! | stack slots, stores after definitions, loads before uses | `rewrite` |
//!
//! It runs on legal functions, for every backend that makes machine code. Booleans stay in registers: they have no form in
//! memory.
//!
//! Deliberately not here: register allocation, which each backend has.

mod choice;
mod rewrite;
mod webs;

use clift_kir::Function;

use crate::target::caps::DemotionLimits;

/// Demotes values of a legal function until about as many are alive as there are registers, if the function is large and far more
/// are.
pub(crate) fn run(func: &mut Function, limits: DemotionLimits) {
    if size(func) < limits.min_insts {
        return;
    }
    let Some(webs) = webs::Webs::new(func) else { return };
    let demoted = choice::choose(&webs, limits);
    if demoted.is_empty() {
        return;
    }
    tracing::debug!(target: "clift::time", insts = size(func), webs = webs.len(), demoted = demoted.len(), "values in stack slots");
    rewrite::run(func, &webs, &demoted);
}

/// Whether values of a legal function were demoted: a large one has more slots than the legalizer makes.
pub(crate) fn has_demoted(func: &Function, limits: DemotionLimits) -> bool {
    size(func) >= limits.min_insts && func.slots.len() as u32 >= limits.min_alive.saturating_sub(limits.vectors)
}

/// The number of instructions.
fn size(func: &Function) -> usize {
    func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()).sum()
}
