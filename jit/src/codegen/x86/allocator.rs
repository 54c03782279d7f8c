//! Register allocation by the crate `regalloc2`: by its thorough allocator, or by its single-pass one for functions on which the
//! thorough one would take too long.
//!
//! The thorough allocator splits live ranges until all fit. Its time grows with the product of a function's instructions and the
//! values that are alive at once; where those are many, most of them are spilled anyway.

use regalloc2::{Algorithm, Block, Function, Output, RegallocOptions};

use super::Level;
use super::code::MachFunc;
use super::liveness::Liveness;
use super::{emit, redundant_moves};
use crate::BuildError;
use crate::codegen::native::COSTLY_PARAMS;

/// Functions of fewer instructions never take the thorough allocator long.
const FEW_INSTS: usize = 4096;
/// From so many instructions on the thorough allocator takes seconds whatever is alive: some 2 us each.
const MANY_INSTS: usize = 1 << 20;
/// Fewest values alive at an average instruction for which the single-pass allocator loses little.
const CROWDED: usize = 128;
/// Sum over all instructions of the values alive there from which the thorough allocator takes half a second: some 30 ns each.
/// (Both times: Zen 5, kernels of the families `continues`, `switch` and `gotos` of `icd/examples/growth`.)
const COSTLY_AREA: usize = 1 << 24;

/// Which allocator a function gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocator {
    /// The thorough one where it is quick enough.
    ByCost,
    /// The single-pass one.
    #[cfg(test)]
    SinglePass,
}

/// Chooses registers for all values of a function.
///
/// # Errors
/// [`BuildError::Internal`] when the function breaks a rule of the allocator.
pub(super) fn allocate(code: &MachFunc, allocator: Allocator, level: Level) -> Result<Output, BuildError> {
    let single_pass = match allocator {
        Allocator::ByCost => use_single_pass(code),
        #[cfg(test)]
        Allocator::SinglePass => true,
    };
    if single_pass {
        tracing::debug!(target: "clift::time", insts = code.num_insts(), "single-pass register allocator");
    }
    allocate_by(code, if single_pass { Algorithm::Fastalloc } else { Algorithm::Ion }, level)
}

/// Whether the thorough allocator would take too long.
fn use_single_pass(code: &MachFunc) -> bool {
    let insts = code.num_insts();
    if !(FEW_INSTS..MANY_INSTS).contains(&insts) {
        return insts >= MANY_INSTS;
    }
    let (params, incoming) = code.params();
    params.saturating_mul(incoming) >= COSTLY_PARAMS
        || live_area(code).is_none_or(|area| area >= COSTLY_AREA && area / insts >= CROWDED)
}

/// As [`allocate`], by a given algorithm.
fn allocate_by(code: &MachFunc, algorithm: Algorithm, level: Level) -> Result<Output, BuildError> {
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), algorithm, ..RegallocOptions::default() };
    let mut output = regalloc2::run(code, &emit::environment(level), &options)
        .map_err(|error| BuildError::Internal(format!("register allocation: {error}")))?;
    redundant_moves::remove(code, &mut output);
    #[cfg(test)]
    check(code, &output, level);
    Ok(output)
}

/// Follows all values through the allocation with regalloc2's checker, which shares no code with its allocators.
///
/// The checker visits blocks in the order of the code, and takes a block none of whose predecessors comes before it for one in
/// which no register has a known value. Functions with such blocks (irreducible loops, hot blocks reached only from cold ones)
/// are not checked.
///
/// # Panics
/// When an operand does not get its value.
#[cfg(test)]
fn check(code: &MachFunc, output: &Output, level: Level) {
    let has_earlier_pred = |block| code.block_preds(block).iter().any(|pred| pred.index() < block.index());
    if !(1..code.num_blocks()).map(Block::new).all(has_earlier_pred) {
        return;
    }
    let environment = emit::environment(level);
    let mut checker = regalloc2::checker::Checker::new(code, &environment);
    checker.prepare(output);
    if let Err(errors) = checker.run() {
        panic!("register allocation: {errors:?}");
    }
}

/// The sum over all instructions of the values that are alive there; `None` when finding it takes long.
fn live_area(code: &MachFunc) -> Option<usize> {
    let liveness = Liveness::of(code)?;
    let mut area = 0;
    for block in (0..code.num_blocks()).map(Block::new) {
        liveness.visit(code, block, |live| area += live.len());
    }
    Some(area)
}
