//! Kernels with one lane: vectors are made of neighbouring elements of one work-item, since there are no neighbouring work-items to
//! fill the registers with. Loops over rows execute several iterations at once ([`super::row_loops`]) if their operations become
//! vectors ([`super::superwords`]) as a whole; others with few iterations are unrolled if that makes vectors of most of them.

use clift_kir::{Block, Function, Opcode};
use rustc_hash::FxHashMap;

use super::normalize::{self, Several};
use super::{row_loops, superwords};
use crate::passes::{self, Globals};
use crate::spmd::cost::throughput::estimate;
use crate::target::machine::Machine;

/// What follows the transformations.
const CLEANUP: &[&str] = &["simplify", "dce"];

/// A kernel whose work-items compute with vectors, and its loops that execute several iterations at once.
pub(crate) struct OneLane {
    pub(crate) func: Function,
    pub(crate) several: FxHashMap<Block, Several>,
}

/// How much cheaper a kernel must be with its loops unrolled. The model assumes fewer iterations than the loops have.
const WORTHWHILE: f64 = 0.9;

/// The most instructions of a kernel, which is brought into normal form several times.
const MAX_INSTS: usize = 50_000;

/// The kernel with vectors where they pay; `None` if there are none.
pub(crate) fn run(func: &Function, globals: &Globals) -> Option<OneLane> {
    if func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()).sum::<usize>() > MAX_INSTS {
        return None;
    }
    let made = with_rows(func, globals);
    let mut unrolled = func.clone();
    if !passes::unroll_for_vectors(&mut unrolled, globals) {
        return made;
    }
    let Some(unrolled) = with_rows(&unrolled, globals) else { return made };
    let usual = made.as_ref().map_or(func, |made| &made.func);
    match (cost(usual), cost(&unrolled.func)) {
        (Some(usual), Some(cost)) if cost < WORTHWHILE * usual => Some(unrolled),
        _ => made,
    }
}

/// What the model says of a kernel with one lane.
fn cost(func: &Function) -> Option<f64> {
    let normal = normalize::run(func)?;
    Some(estimate(&normal, &normal.divergence(1, true), 1, &Machine::COMMON).scalar)
}

/// The kernel with loops over rows, and vectors where they pay.
fn with_rows(func: &Function, globals: &Globals) -> Option<OneLane> {
    let clean = |func: &mut Function| passes::run(func, globals, CLEANUP, &mut |_, _| ());
    if let Some(normal) = normalize::run(func) {
        let mut refused: Vec<usize> = Vec::new();
        // A second time without the loops whose operations did not become vectors.
        for _ in 0..2 {
            let Some((mut rows, blocks)) = row_loops::run_one_lane(&normal, |number| !refused.contains(&number)) else {
                break;
            };
            superwords::run(&mut rows);
            clean(&mut rows);
            let before = refused.len();
            refused.extend(blocks.iter().filter(|found| has_parts(&rows, found.1)).map(|found| found.0));
            if refused.len() == before {
                let several = blocks.into_iter().map(|(_, block, several)| (block, several)).collect();
                return Some(OneLane { func: rows, several });
            }
        }
    }
    let mut made = func.clone();
    superwords::run(&mut made).then(|| {
        clean(&mut made);
        OneLane { func: made, several: FxHashMap::default() }
    })
}

/// Whether a block takes vectors apart or puts them together.
fn has_parts(func: &Function, block: Block) -> bool {
    let is_part = |op: Opcode| matches!(op, Opcode::Extract | Opcode::Vec | Opcode::Insert);
    func.layout.insts(block).iter().any(|&inst| is_part(func.dfg.inst(inst).op))
}
