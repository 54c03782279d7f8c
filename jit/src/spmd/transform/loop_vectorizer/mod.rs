//! Loop vectorization in kernels with one lane: iterations of a loop become the lanes of a pack.
//!
//! ```text
//! for (j = 0; j < n; j++)                    n = trip count; whole = n - n % 16
//!     c[j] = a[j] + b[j];                    for (k = 0; k != whole; k += 16)
//!                                                pack of 16 work-items with the global ids k, k + 1, ...
//!                                            for (j = whole; j < n; j++)
//!                                                c[j] = a[j] + b[j];
//! ```
//!
//! Kernels of one work-item, those written for FPGAs, and work-items that each walk along a row of their own have their parallelism in
//! loops. A loop whose iterations are independent, but for reductions, is a kernel: the number of the iteration is its global id, and
//! what the loop uses from outside are its arguments ([`iteration_kernel`]). That kernel becomes the code of a pack as all others do,
//! with masks, versions and the choice of lanes, and the pack becomes the body of a loop ([`splice`]). So loops with branches and
//! inner loops are vectorized, too: in a nest, the loop that gains most.
//!
//! - [`countable`]: loops whose trip count is known before, and their induction variables;
//! - [`dependence`]: whether iterations are independent;
//! - [`reductions`]: values that every iteration combines with another one.
//!
//! The remaining iterations, and loops whose trip count turns out not to be what its flags promise, are executed one by one.

mod countable;
mod dependence;
mod iteration_kernel;
mod reductions;
mod splice;

use clift_kir::analysis::LoopId;
use clift_kir::{Block, Function};
use rustc_hash::FxHashSet;

use self::countable::CountableLoop;
use self::iteration_kernel::IterationKernel;
use super::normalize::{self, NormalForm};
use crate::Options;
use crate::passes::{self, Globals};
use crate::spmd::cost::throughput::estimate;
use crate::spmd::cost::width::{RowLengths, Width};
use crate::target::machine::Machine;

/// The most instructions of a loop that is looked at, in all of its inner loops.
const MAX_INSTS: usize = 2000;
/// The most loops of a kernel that are looked at.
const MAX_LOOPS: usize = 64;
/// How many times as fast iterations must be as lanes, by the estimate: the rest of them is executed one by one.
const WORTHWHILE: f64 = 1.5;
/// How much faster an inner loop must be than the one around it to be preferred: the rest of the latter is executed only once.
const INNER_WORTHWHILE: f64 = 1.2;

/// What follows the transformation.
const CLEANUP: &[&str] = &["simplify_cfg", "simplify", "gvn", "dce", "simplify_cfg"];

/// Vectorizes the loops of a kernel with one lane where that pays. `None` if there are none.
pub(crate) fn run(func: &Function, globals: &Globals, options: &Options, machine: &Machine) -> Option<Function> {
    let mut normal = normalize::run(func)?;
    let mut finished: FxHashSet<Block> = FxHashSet::default();
    let mut vectorized = false;
    for _ in 0..MAX_LOOPS {
        let Some(nest) = next_nest(&normal, &mut finished) else { break };
        let Some(chosen) = best_of(&normal, &nest, options, machine) else { continue };
        let Some((func, made)) = splice::run(&normal, &chosen) else { continue };
        finished.extend(made);
        normal = normalize::run(&func)?;
        vectorized = true;
    }
    vectorized.then(|| {
        let mut func = normal.func;
        passes::run(&mut func, globals, CLEANUP, &mut |_, _| ());
        func
    })
}

/// A loop that will be vectorized.
struct Chosen {
    kernel: IterationKernel,
    lanes: u32,
    /// The normal form of the kernel for whole packs.
    normal: Box<NormalForm>,
    gain: f64,
}

/// A loop that is not in `finished`, and neither is one around it, with the loops in it; the outermost such loop. All of them are then
/// in `finished`.
fn next_nest(normal: &NormalForm, finished: &mut FxHashSet<Block>) -> Option<Vec<LoopId>> {
    let loops = &normal.loops;
    let open = |id: LoopId| !finished.contains(&loops.get(id).header);
    let (outermost, data) = loops.iter().find(|&(id, data)| {
        let is_finished = |block: &Block| loops.innermost(*block).is_some_and(|inner| !open(inner));
        open(id) && data.parent.is_none_or(|parent| !open(parent)) && !data.blocks.iter().any(is_finished)
    })?;
    let nest: Vec<LoopId> =
        loops.iter().map(|(id, _)| id).filter(|&id| data.blocks.contains(&loops.get(id).header)).collect();
    debug_assert_eq!(nest.first(), Some(&outermost));
    finished.insert(data.header);
    Some(nest)
}

/// The loop of a nest that gains most.
fn best_of(normal: &NormalForm, nest: &[LoopId], options: &Options, machine: &Machine) -> Option<Chosen> {
    let mut best: Option<Chosen> = None;
    for &id in nest {
        let Some(chosen) = choose(normal, id, options, machine) else { continue };
        if best.as_ref().is_none_or(|best| chosen.gain > INNER_WORTHWHILE * best.gain) {
            best = Some(chosen);
        }
    }
    best
}

/// The lanes for a loop, if it can be vectorized and gains.
fn choose(normal: &NormalForm, id: LoopId, options: &Options, machine: &Machine) -> Option<Chosen> {
    let data = normal.loops.get(id);
    let func = &normal.func;
    let insts: usize = data.blocks.iter().map(|&block| func.layout.insts(block).len()).sum();
    if insts > MAX_INSTS || func.layout.is_cold(data.header) {
        return None;
    }
    let counted = CountableLoop::of(normal, id)?;
    let reductions = reductions::all(normal, &counted)?;
    if !dependence::iterations_are_independent(normal, &counted) {
        return None;
    }
    let kernel = IterationKernel::new(normal, counted, reductions);
    let forced = options.loop_lanes;
    let kernel_options = Options { width: forced, rows: None, opt_disable: false, ..options.clone() };
    let (lanes, normal) = match Width::choose(&kernel.func, RowLengths::Long, &kernel_options, machine) {
        Width::Packs(lanes, general, versions, _) => (lanes, versions.unwrap_or(general)),
        Width::Scalar(_) | Width::Unprofitable(..) => return None,
    };
    let costs = estimate(&normal, &normal.divergence(lanes, true), lanes, machine);
    let gain = costs.scalar / costs.pack.max(1.0);
    (forced.is_some() || gain > WORTHWHILE).then_some(Chosen { kernel, lanes, normal, gain })
}
