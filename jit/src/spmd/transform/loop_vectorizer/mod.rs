//! Loop vectorization in kernels with one lane: iterations of a loop become the lanes of a pack.
//!
//! ```text
//! for (j = 0; j < n; j++)                    n = trip count; whole = n - n % 16
//!     c[j] = a[j] + b[j];                    for (k = 0; k != whole; k += 16)
//!                                                pack of 16 work-items with the global ids k, k + 1, ...
//!                                            pack of the n % 16 remaining work-items
//! ```
//!
//! Kernels of one work-item, those written for FPGAs, and work-items that each walk along a row of their own have their
//! parallelism in loops. A loop whose iterations are independent, but for reductions, is a kernel: the number of the iteration
//! is its global id, and what the loop uses from outside are its arguments ([`iteration_kernel`]). That kernel becomes the code
//! of a pack as all others do, with masks, versions and the choice of lanes, and the pack becomes the body of a loop
//! ([`splice`]). So loops with branches and inner loops are vectorized, too: in a nest, the loop that gains most.
//!
//! - [`countable`]: loops whose trip count is known before, and their induction variables;
//! - [`dependence`]: whether iterations are independent;
//! - [`reductions`]: values that every iteration combines with another one.
//!
//! The loop itself stays. It executes what packs do not: iterations of which only few are left, the last one if its values are
//! used afterwards, and all if the trip count turns out not to be what the loop's comparison promises.

mod countable;
mod dependence;
mod iteration_kernel;
mod reductions;
mod splice;

use std::cell::OnceCell;

use clift_kir::analysis::LoopId;
use clift_kir::{Block, Function, Loc};
use rustc_hash::{FxHashMap, FxHashSet};

use self::countable::CountableLoop;
use self::iteration_kernel::IterationKernel;
use super::normalize::{self, NormalForm, Several};
use super::one_lane::OneLane;
use crate::Options;
use crate::passes::memory::Escapes;
use crate::passes::{self, Globals};
use crate::spmd::cost::throughput::estimate;
use crate::spmd::cost::width::{RowLengths, Width};
use crate::target::machine::{MAX_LANES, Machine};

/// The most instructions of a loop that is looked at, in all of its inner loops.
const MAX_INSTS: usize = 2000;
/// The most instructions of a kernel that are looked at, each as often as a loop is vectorized or could be.
const MAX_WORK: usize = 200_000;
/// How much longer it takes to choose the lanes for an instruction than to copy it.
const CHOICE: usize = 8;
/// How many times as fast iterations must be as lanes, by the estimate: some of them are executed one by one.
const WORTHWHILE: f64 = 1.5;
/// The same of a loop that is a candidate to stay, since copies of its iterations are faster than the loop already.
const GAINFUL: f64 = 3.0;
/// How much faster an inner loop must be than the one around it to be preferred: the rest of the latter is executed only once.
const INNER_WORTHWHILE: f64 = 1.2;
/// The fewest iterations of a loop that is looked at.
const MIN_ITERATIONS: i64 = 4;
/// How many iterations a loop is assumed to have if constants do not decide: one in another loop, and one that is not.
const ITERATIONS: [f64; 2] = [32.0, 256.0];
/// The same if elements of arrays decide, as the lengths of a sparse matrix's rows.
const ITERATIONS_OF_ROW: f64 = 8.0;
/// Instructions that are executed for a loop over packs each time it is entered, and for each reduction in it; a processor
/// executes fewer of these at once than of a long loop.
const ENTERED: f64 = 60.0;
const REDUCED: f64 = 30.0;
/// The most instructions of a loop that is there for the remaining iterations, too.
const MAX_TAIL_INSTS: usize = 300;
/// How much longer a pack takes in which some lanes are inactive.
const MASKED: f64 = 1.3;

/// What follows the transformation; blocks stay.
const CLEANUP: &[&str] = &["simplify", "gvn", "dce"];

/// What became of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopOutcome {
    /// So many iterations are executed together.
    Vectorized(u32),
    /// Iterations are executed one by one, for this reason.
    Scalar(Obstacle),
}

/// Why the iterations of a loop are executed one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The number of iterations is not known before the loop.
    TripCount,
    /// An iteration needs a value of the one before it.
    CarriedValue,
    /// Iterations may write what others read or write.
    Memory,
    /// That is estimated to be faster.
    Cost,
}

/// A kernel with one lane after its loops have been looked at.
pub(crate) struct Vectorized {
    /// The kernel, and its loops over packs of iterations; `None` if it has none.
    pub(crate) changed: Option<OneLane>,
    /// What became of its loops, by their headers' locations.
    pub(crate) outcomes: Vec<(Loc, LoopOutcome)>,
}

/// Vectorizes the loops of a kernel with one lane where that pays.
pub(crate) fn run(func: &Function, globals: &Globals, options: &Options, machine: &Machine) -> Vectorized {
    run_on(func, None, globals, options, machine)
}

/// The headers of those loops among the ones with the headers `candidates` that gain much if only they are looked at.
pub(crate) fn gainful(
    func: &Function,
    candidates: &FxHashSet<Block>,
    globals: &Globals,
    options: &Options,
    machine: &Machine,
) -> FxHashSet<Block> {
    let several = run_on(func, Some(candidates), globals, options, machine).changed.map(|made| made.several);
    several.unwrap_or_default().values().map(|several| several.rest).collect()
}

/// As [`run`]; or as [`gainful`] if there are candidates.
fn run_on(
    func: &Function,
    candidates: Option<&FxHashSet<Block>>,
    globals: &Globals,
    options: &Options,
    machine: &Machine,
) -> Vectorized {
    let mut outcomes: Vec<(Loc, LoopOutcome)> = Vec::new();
    let Some(mut normal) = normalize::run(func) else { return Vectorized { changed: None, outcomes } };
    if countable::extend_counters(&mut normal.func) {
        passes::run(&mut normal.func, globals, &["dce"], &mut |_, _| ());
        let Some(again) = normalize::run(&normal.func) else { return Vectorized { changed: None, outcomes } };
        normal = again;
    }
    let mut finished: FxHashSet<Block> = FxHashSet::default();
    if let Some(candidates) = candidates {
        let headers = normal.loops.iter().map(|(_, data)| data.header);
        finished.extend(headers.filter(|header| !candidates.contains(header)));
    }
    let mut several: FxHashMap<Block, Several> = FxHashMap::default();
    let mut work = 0;
    // Of `normal`: looking at the whole function for each of its loops would take quadratic time.
    let mut escapes: OnceCell<Escapes> = OnceCell::new();
    while let Some(nest) = next_nest(&normal, &mut finished) {
        let of = |id: LoopId| size(&normal.func, &normal.loops.get(id).blocks);
        work += nest.iter().map(|&id| CHOICE * of(id).min(MAX_INSTS)).sum::<usize>();
        if work > MAX_WORK {
            break;
        }
        let loc = |id: LoopId| location(&normal.func, normal.loops.get(id).header);
        let chosen = match best_of(&normal, &nest, &escapes, options, machine) {
            Ok(chosen) if candidates.is_some() && chosen.gain < GAINFUL => continue,
            Ok(chosen) => chosen,
            Err(obstacle) => {
                outcomes.push((loc(nest[0]), LoopOutcome::Scalar(obstacle)));
                continue;
            }
        };
        let Some((func, header)) = splice::run(&normal, &chosen, machine) else { continue };
        let counted = &chosen.kernel.counted;
        outcomes.push((loc(counted.id), LoopOutcome::Vectorized(chosen.lanes)));
        several.insert(header, Several { iterations: chosen.lanes, rest: counted.header, at_most: None });
        finished.insert(header);
        let headers = normal.loops.iter().map(|(_, data)| data.header);
        finished.extend(headers.filter(|&inner| normal.loops.contains(counted.id, inner)));
        work += size(&func, func.layout.blocks());
        let Some(next) = normalize::run(&func) else { break };
        normal = next;
        escapes = OnceCell::new();
    }
    let changed = (!several.is_empty()).then(|| {
        let mut func = normal.func;
        passes::run(&mut func, globals, CLEANUP, &mut |_, _| ());
        OneLane { func, several }
    });
    Vectorized { changed, outcomes }
}

/// How many instructions blocks have.
fn size(func: &Function, blocks: &[Block]) -> usize {
    blocks.iter().map(|&block| func.layout.insts(block).len()).sum()
}

/// The location of the first instruction of a block that has one.
fn location(func: &Function, block: Block) -> Loc {
    let mut locs = func.layout.insts(block).iter().map(|&inst| func.locs[inst]);
    locs.find(|loc| loc.line != 0).unwrap_or_default()
}

/// A loop that will be vectorized.
struct Chosen {
    kernel: IterationKernel,
    lanes: u32,
    /// The normal form of the kernel for whole packs.
    whole: Box<NormalForm>,
    /// The one for the remaining iterations, if they are a pack as well, and the most of them that are faster one by one.
    tail: Option<(Box<NormalForm>, u32)>,
    gain: f64,
}

/// A loop that is not in `finished`, and neither is one around it, with the loops in it; the outermost such loop, which is then
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

/// The loop of a nest that gains most; if none does, why the innermost one that was looked at does not.
fn best_of(
    normal: &NormalForm,
    nest: &[LoopId],
    escapes: &OnceCell<Escapes>,
    options: &Options,
    machine: &Machine,
) -> Result<Chosen, Obstacle> {
    let mut best: Result<Chosen, Obstacle> = Err(Obstacle::TripCount);
    for &id in nest {
        match (choose(normal, id, escapes, options, machine), &best) {
            (Ok(chosen), Ok(before)) if chosen.gain <= INNER_WORTHWHILE * before.gain => {}
            (Ok(chosen), _) => best = Ok(chosen),
            (Err(obstacle), Err(_)) => best = Err(obstacle),
            (Err(_), Ok(_)) => {}
        }
    }
    best
}

/// The lanes for a loop, if it can be vectorized and gains.
fn choose(
    normal: &NormalForm,
    id: LoopId,
    escapes: &OnceCell<Escapes>,
    options: &Options,
    machine: &Machine,
) -> Result<Chosen, Obstacle> {
    let data = normal.loops.get(id);
    let func = &normal.func;
    let insts = size(func, &data.blocks);
    if insts > MAX_INSTS || func.layout.is_cold(data.header) {
        return Err(Obstacle::Cost);
    }
    let counted = CountableLoop::of(normal, id).ok_or(Obstacle::TripCount)?;
    let reductions = reductions::all(normal, &counted).ok_or(Obstacle::CarriedValue)?;
    if !dependence::iterations_are_independent(normal, &counted, escapes) {
        return Err(Obstacle::Memory);
    }
    let forced = options.loop_lanes;
    let iterations = counted.constant_trip_count(func);
    if forced.is_none() && iterations.is_some_and(|iterations| iterations < MIN_ITERATIONS) {
        return Err(Obstacle::Cost);
    }
    let kernel = IterationKernel::new(normal, counted, reductions);
    let choice = |lanes: Option<u32>| {
        let options = Options { width: lanes, rows: None, opt_disable: false, ..options.clone() };
        match Width::choose(&kernel.func, RowLengths::Long, &options, machine) {
            Width::Packs(lanes, general, versions, _) => Some((lanes, general, versions)),
            Width::Scalar(_) | Width::Unprofitable(..) => None,
        }
    };
    let mut chosen = choice(forced).ok_or(Obstacle::Cost)?;
    // The last packs need no more lanes than there are iterations.
    let most = iterations.map_or(MAX_LANES, |iterations| iterations.min(MAX_LANES.into()) as u32);
    if forced.is_none() && chosen.0 > most {
        chosen = choice(Some(most.next_power_of_two())).ok_or(Obstacle::Cost)?;
    }
    let (lanes, general, versions) = chosen;
    let costs_of = |normal: &NormalForm| estimate(normal, &normal.divergence(lanes, true), lanes, machine);
    let costs = costs_of(versions.as_ref().unwrap_or(&general));
    let one = costs.scalar / f64::from(lanes);
    let entered = ENTERED + REDUCED * kernel.reductions.len() as f64;
    let is_outermost = data.parent.is_none();
    let all = match iterations {
        Some(iterations) => iterations as f64,
        None if kernel.counted.is_bounded_by_element(func) => ITERATIONS_OF_ROW,
        None => ITERATIONS[usize::from(is_outermost)],
    };
    let gain = all * one / (entered + (all / f64::from(lanes)).ceil() * costs.pack.max(1.0));
    if forced.is_none() && gain < WORTHWHILE {
        return Err(Obstacle::Cost);
    }
    // Vectors with masks are accessed whole only in long registers.
    let masks = machine.register_bits > Machine::COMMON.register_bits || forced.is_some();
    let tail = (masks && insts <= MAX_TAIL_INSTS).then(|| {
        let single = ((MASKED * costs_of(&general).pack + entered) / one.max(0.1)) as u32;
        (general.clone(), if forced.is_some() { 1 } else { single })
    });
    let tail = tail.filter(|&(_, single)| single < lanes - 1);
    Ok(Chosen { kernel, lanes, whole: versions.unwrap_or(general), tail, gain })
}
