//! Register allocation by the crate `regalloc2`: by its thorough allocator, or by its single-pass one for functions on which the
//! thorough one would take too long.
//!
//! The thorough allocator splits live ranges until all fit. Its time grows with the product of a function's instructions and the
//! values that are alive at once; where those are many, most of them are spilled anyway.

use std::collections::BinaryHeap;

use regalloc2::{Algorithm, Block, Function, OperandKind, Output, RegallocOptions};

use super::Level;
use super::code::MachFunc;
use super::emit;
use crate::BuildError;

/// Functions of fewer instructions never take the thorough allocator long.
const FEW_INSTS: usize = 4096;
/// From so many instructions on the thorough allocator takes seconds whatever is alive: some 2 us each.
const MANY_INSTS: usize = 1 << 20;
/// Fewest values alive at an average instruction for which the single-pass allocator loses little.
const CROWDED: usize = 128;
/// Sum over all instructions of the values alive there from which the thorough allocator takes half a second: some 30 ns each.
/// (Both times: Zen 5, kernels of the families `continues`, `switch` and `gotos` of `icd/examples/growth`.)
const COSTLY_AREA: usize = 1 << 24;

/// Parameters of blocks times arguments of all edges from which the thorough allocator takes seconds, because it goes through the
/// arguments of other parameters for each one (the family `uniform-loops` of `icd/examples/growth` from some 6,000 loops on).
const COSTLY_PARAMS: usize = 1 << 26;

/// Steps per instruction that finding the values alive may take.
const PATIENCE: usize = 512;

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
    let output = regalloc2::run(code, &emit::environment(level), &options)
        .map_err(|error| BuildError::Internal(format!("register allocation: {error}")))?;
    #[cfg(test)]
    check(code, &output, level);
    Ok(output)
}

/// Follows all values through the allocation with regalloc2's checker, which shares no code with its allocators.
///
/// The checker visits blocks in the order of the code, and takes a block none of whose predecessors comes before it for one in which
/// no register has a known value. Functions with such blocks (irreducible loops, hot blocks reached only from cold ones) are not
/// checked.
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

/// The sum over all instructions of the values that are alive there; `None` when finding it takes long, as it does with very many
/// values alive through very many blocks.
fn live_area(code: &MachFunc) -> Option<usize> {
    let blocks = code.num_blocks();
    // The values alive at the begin of each block, in ascending order: few of all that there are.
    let mut live_in: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    let mut area = vec![0; blocks];
    let mut queued = vec![true; blocks];
    // The last blocks come first: what is alive at the end of a block should be known when the block is visited.
    let mut work: BinaryHeap<usize> = (0..blocks).collect();
    let mut spent = 0usize;
    while let Some(at) = work.pop() {
        queued[at] = false;
        let block = Block::new(at);
        let mut live = BitSet::default();
        for succ in code.block_succs(block) {
            live_in[succ.index()].iter().for_each(|&value| live.insert(value as usize));
        }
        let insts = code.block_insns(block);
        let succs = code.block_succs(block).len();
        if let Some(inst) = insts.iter().last() {
            for succ in 0..succs {
                code.branch_blockparams(block, inst, succ).iter().for_each(|&value| live.insert(value.vreg()));
            }
        }
        area[at] = 0;
        for inst in insts.iter().rev() {
            area[at] += live.count;
            spent += 1;
            for operand in code.inst_operands(inst) {
                if operand.kind() == OperandKind::Def {
                    live.remove(operand.vreg().vreg());
                }
            }
            for operand in code.inst_operands(inst) {
                if operand.kind() == OperandKind::Use {
                    live.insert(operand.vreg().vreg());
                }
            }
        }
        code.block_params(block).iter().for_each(|&value| live.remove(value.vreg()));
        spent += live.words.len();
        if spent > PATIENCE * code.num_insts() {
            return None;
        }
        // The sets only grow.
        if live.count != live_in[at].len() {
            live_in[at] = live.values();
            for pred in code.block_preds(block) {
                if !std::mem::replace(&mut queued[pred.index()], true) {
                    work.push(pred.index());
                }
            }
        }
    }
    Some(area.iter().sum())
}

/// A set of virtual registers that knows how many it has.
#[derive(Debug, Default)]
struct BitSet {
    words: Vec<u64>,
    count: usize,
}

impl BitSet {
    fn insert(&mut self, value: usize) {
        let (word, bit) = (value / 64, 1 << (value % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    fn remove(&mut self, value: usize) {
        let (word, bit) = (value / 64, 1 << (value % 64));
        if let Some(word) = self.words.get_mut(word) {
            self.count -= usize::from(*word & bit != 0);
            *word &= !bit;
        }
    }

    /// All in ascending order.
    fn values(&self) -> Vec<u32> {
        let mut values = Vec::with_capacity(self.count);
        for (at, &word) in self.words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                values.push(at as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        values
    }
}
