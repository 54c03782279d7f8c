//! Kernels with one lane: vectors are made of neighbouring elements of one work-item, since there are no neighbouring
//! work-items to fill the registers with. Iterations of loops become lanes first ([`super::loop_vectorizer`]). Other loops over
//! rows execute several iterations at once ([`super::row_loops`]) if their operations become vectors ([`super::superwords`]) as
//! a whole; others with few iterations are unrolled if that makes vectors of most of them.

use clift_kir::{Block, Function, Loc, Opcode};
use rustc_hash::{FxHashMap, FxHashSet};

use super::loop_vectorizer::{self, LoopOutcome, Vectorized};
use super::normalize::{self, Several};
use super::{row_loops, superwords};
use crate::Options;
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

/// The kernel with vectors of the iterations of loops, and of neighbouring elements besides, where they pay; `None` if there are
/// none. Also what became of its loops.
pub(crate) fn with_loops(
    func: &Function,
    globals: &Globals,
    options: &Options,
    machine: &Machine,
) -> (Option<OneLane>, Vec<(Loc, LoopOutcome)>) {
    if !options.checks.is_empty() || options.loop_lanes == Some(1) {
        return (run(func, globals, &FxHashSet::default()), Vec::new());
    }
    let Vectorized { changed, outcomes } = loop_vectorizer::run(func, globals, options, machine);
    let Some(OneLane { func, several }) = changed else { return (run(func, globals, &FxHashSet::default()), outcomes) };
    let finished = several.iter().flat_map(|(&header, several)| [header, several.rest]).collect();
    let both = match run(&func, globals, &finished) {
        Some(made) => OneLane { func: made.func, several: several.into_iter().chain(made.several).collect() },
        None => OneLane { func, several },
    };
    (Some(both), outcomes)
}

/// The kernel with vectors where they pay; `None` if there are none. Loops with the headers `finished` stay as they are.
pub(crate) fn run(func: &Function, globals: &Globals, finished: &FxHashSet<Block>) -> Option<OneLane> {
    if func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()).sum::<usize>() > MAX_INSTS {
        return None;
    }
    let made = with_rows(func, globals, finished);
    let mut unrolled = func.clone();
    if !passes::unroll_for_vectors(&mut unrolled, globals) {
        return made;
    }
    let Some(unrolled) = with_rows(&unrolled, globals, finished) else { return made };
    let usual = made.as_ref().map_or(func, |made| &made.func);
    match (cost(usual), cost(&unrolled.func)) {
        (Some(usual), Some(cost)) if cost < WORTHWHILE * usual => Some(unrolled),
        _ => made,
    }
}

/// What the model says of a kernel after [`with_loops`].
pub(super) fn cost_of(func: &Function, globals: &Globals, options: &Options, machine: &Machine) -> Option<f64> {
    let normal = match with_loops(func, globals, options, machine).0 {
        Some(OneLane { func, several }) => normalize::run(&func)?.with_several(several),
        None => normalize::run(func)?,
    };
    Some(estimate(&normal, &normal.divergence(1, true), 1, machine).scalar)
}

/// What the model says of a kernel with one lane.
fn cost(func: &Function) -> Option<f64> {
    let normal = normalize::run(func)?;
    Some(estimate(&normal, &normal.divergence(1, true), 1, &Machine::COMMON).scalar)
}

/// The kernel with loops over rows, and vectors where they pay.
fn with_rows(func: &Function, globals: &Globals, finished: &FxHashSet<Block>) -> Option<OneLane> {
    let clean = |func: &mut Function| passes::run(func, globals, CLEANUP, &mut |_, _| ());
    if let Some(normal) = normalize::run(func) {
        let mut refused: Vec<usize> = Vec::new();
        // A second time without the loops whose operations did not become vectors.
        for _ in 0..2 {
            let Some((mut rows, blocks)) =
                row_loops::run_one_lane(&normal, finished, |number| !refused.contains(&number))
            else {
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
