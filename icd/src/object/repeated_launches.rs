//! Code for launches that repeat.
//!
//! Applications launch a kernel again and again with the same sizes and integers: strides, widths, counts. Code in which these are
//! constants may be faster, or not. So the launches of a kernel are watched:
//!
//! ```text
//!   Counting ── enough time spent ──> Compiling ── in the background ──> Trial ── launches in turn ──> Faster or Slower
//! ```
//!
//! Launches never wait for such code. In a trial, launches get the usual code and the new one in turn, one at a time; the least
//! time that either takes decides, and one launch that takes much longer ends it. Integers that change with each launch, such as
//! the number of a step, are not taken for constants.
//!
//! Kernels with one lane because packs were estimated to be slower get packs in such code: the estimate knows neither how often
//! branches are taken nor how alike neighbours are.
//!
//! Both codes compute the same: floating-point arguments stay variables, and kernels that observe sub-groups keep their number
//! of lanes. Only `-cl-unsafe-math-optimizations` lets sums with a known number of iterations have another order.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use clift_include::image::ArgFact;
use clift_jit::specialize::Specialization;
use clift_jit::{DecidingConstants, LaunchConstants};
use clift_runtime::fault::{ItemWork, KnownMemory, LaunchInfo};
use clift_runtime::launch::KernelCost;
use clift_runtime::ndrange::NdRange;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::launch_info::KernelInfo;

/// The most kinds of launches of a kernel that are remembered.
const MAX_KINDS: usize = 8;
/// A kind of launches gets code of its own when they have taken so many times the time that it takes to compile.
const WORTH_COMPILING: u64 = 5;
/// Estimate of the time to compile one instruction of the kernel IR, in ns: a whole kernel of the bench suite takes 4 ms in the
/// median (docs/guide/performance.md).
const COMPILE_NS: u64 = 15_000;
/// The least time that launches must have taken, in ns.
const LEAST_NS: u64 = 10_000_000;
/// Launches that take less time are not watched, which takes 0.2 µs.
pub const LEAST_LAUNCH_NS: u64 = 10_000;
/// Larger kernels get no such code.
const MAX_INSTRUCTIONS: usize = 20_000;
/// The most such codes of a kernel that are compiled.
const MAX_COMPILED: usize = 64;
/// How many launches with either code a trial has.
const TRIAL_LAUNCHES: u32 = 4;
/// A trial ends at once if the new code takes so many percent of the time of the usual one.
const CLEARLY_SLOWER: u128 = 150;
/// An integer that changes so often while all else stays the same is a variable.
const CHANGES: u8 = 8;

/// The launches of a kernel so far.
#[derive(Debug)]
pub struct RepeatedLaunches {
    deciding: DecidingConstants,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kinds: Vec<Kind>,
    /// Number of launches so far.
    launches: u64,
    /// Number of codes that were compiled.
    compiled: usize,
    /// By integer, how often it has changed alone; [`CHANGES`] if it is a variable.
    changes: SmallVec<[u8; 8]>,
    last: Option<Constants>,
}

/// Launches with the same constants.
#[derive(Debug)]
struct Kind {
    constants: Constants,
    /// When the last one was.
    used: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// They have taken so many ns.
    Counting(u64),
    /// Their code is being compiled.
    Compiling,
    /// Their code is compared with the usual one.
    Trial(Trial),
    /// Their code is faster.
    Faster(Specialization),
    /// Their code is not, or there is none.
    Slower,
}

#[derive(Debug)]
struct Trial {
    code: Specialization,
    /// How many launches have got it.
    launches: u32,
    usual: Arc<LaunchTimes>,
    special: Arc<LaunchTimes>,
}

/// What is constant for some launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    nd: NdRange,
    /// The deciding integers, except those that change with each launch.
    args: SmallVec<[Option<u64>; 8]>,
    images: SmallVec<[(u32, ArgFact); 4]>,
}

/// The times of launches in a trial.
#[derive(Debug)]
pub struct LaunchTimes {
    least: AtomicU64,
    count: AtomicU32,
}

impl Default for LaunchTimes {
    fn default() -> Self {
        Self { least: AtomicU64::new(u64::MAX), count: AtomicU32::new(0) }
    }
}

/// The code that a launch gets.
#[derive(Debug)]
pub enum Choice {
    /// The usual one. Its time is recorded if it is part of a trial.
    Usual(Option<Arc<LaunchTimes>>),
    /// The usual one, while code for such launches is compiled, which [`RepeatedLaunches::compiled`] takes.
    Compile(Box<Constants>),
    /// Code for such launches. Its time is recorded if it is part of a trial.
    Special(Specialization, Option<Arc<LaunchTimes>>),
}

impl Constants {
    /// The images and samplers.
    pub fn images(&self) -> &[(u32, ArgFact)] {
        &self.images
    }
}

impl RepeatedLaunches {
    /// Watches the launches of a kernel; `None` if other code could gain nothing.
    pub fn watch(deciding: &DecidingConstants) -> Option<Self> {
        let watches = !deciding.is_empty() && deciding.instructions <= MAX_INSTRUCTIONS;
        watches.then(|| Self { deciding: deciding.clone(), state: Mutex::default() })
    }

    /// The constants of a launch with the argument block `block`.
    pub fn constants(&self, nd: &NdRange, block: &[u8], images: &[(u32, ArgFact)]) -> Constants {
        let args = self.deciding.args.iter().map(|place| Some(place.value_in(block))).collect();
        Constants { nd: *nd, args, images: images.into() }
    }

    /// In the compiler's form.
    pub fn for_compiler(&self, constants: &Constants) -> LaunchConstants {
        let args = self.deciding.args.iter().zip(&constants.args);
        let nd = &constants.nd;
        LaunchConstants {
            dims: nd.dims(),
            global_size: nd.global_size(),
            global_offset: nd.global_offset(),
            local_size: nd.local_size(),
            args: args.filter_map(|(&place, &value)| Some((place, value?))).collect(),
        }
    }

    /// Chooses the code of a launch that takes an estimated `nanos` ns.
    pub fn choose(&self, constants: Constants, nanos: u64) -> Choice {
        let enough = (COMPILE_NS * WORTH_COMPILING * self.deciding.instructions as u64).max(LEAST_NS);
        self.state.lock().choose(constants, nanos, enough)
    }

    /// Takes code for launches that get it in any case. Returns the code that is kept.
    pub fn always(
        &self,
        constants: Constants,
        compile: impl FnOnce(LaunchConstants) -> Option<Specialization>,
    ) -> Option<Specialization> {
        let known = |state: &State| {
            let kind = state.kinds.iter().find(|kind| kind.constants == constants)?;
            match &kind.stage {
                Stage::Faster(code) => Some(Some(code.clone())),
                Stage::Slower => Some(None),
                Stage::Counting(_) | Stage::Compiling | Stage::Trial(_) => None,
            }
        };
        let known = known(&self.state.lock());
        known.unwrap_or_else(|| {
            let code = compile(self.for_compiler(&constants));
            let mut state = self.state.lock();
            let at = state.add(constants);
            state.launches += 1;
            state.kinds[at].used = state.launches;
            state.kinds[at].stage = code.clone().map_or(Stage::Slower, Stage::Faster);
            code
        })
    }

    /// Takes the code of launches after [`Choice::Compile`]; `None` if there is none.
    pub fn compiled(&self, constants: &Constants, code: Option<Specialization>) {
        let mut state = self.state.lock();
        if let Some(kind) = state.kinds.iter_mut().find(|kind| kind.constants == *constants) {
            kind.stage = code.map_or(Stage::Slower, |code| {
                Stage::Trial(Trial { code, launches: 0, usual: Arc::default(), special: Arc::default() })
            });
        }
    }
}

impl State {
    fn choose(&mut self, mut constants: Constants, nanos: u64, enough: u64) -> Choice {
        self.launches += 1;
        self.find_variables(&constants);
        for (value, &changes) in constants.args.iter_mut().zip(&self.changes) {
            if changes >= CHANGES {
                *value = None;
            }
        }
        let known = self.kinds.iter().position(|kind| kind.constants == constants);
        let at = known.unwrap_or_else(|| self.add(constants));
        let kind = &mut self.kinds[at];
        kind.used = self.launches;
        match &mut kind.stage {
            Stage::Counting(spent) => {
                *spent += nanos;
                if *spent < enough || self.compiled >= MAX_COMPILED {
                    return Choice::Usual(None);
                }
                self.compiled += 1;
                kind.stage = Stage::Compiling;
                Choice::Compile(Box::new(kind.constants.clone()))
            }
            Stage::Compiling | Stage::Slower => Choice::Usual(None),
            Stage::Trial(trial) => {
                if let Some(faster) = trial.special_is_faster() {
                    let code = trial.code.clone();
                    tracing::debug!(target: "clift::time", faster, usual_ns = trial.usual.least(), special_ns = trial.special.least(), "code for repeated launches");
                    kind.stage = if faster { Stage::Faster(code.clone()) } else { Stage::Slower };
                    return if faster { Choice::Special(code, None) } else { Choice::Usual(None) };
                }
                // One launch at a time gets code that may be slow, however many are enqueued.
                let may_try = trial.launches < TRIAL_LAUNCHES && trial.special.count() == trial.launches;
                if may_try && trial.usual.count() >= trial.launches {
                    trial.launches += 1;
                    return Choice::Special(trial.code.clone(), Some(trial.special.clone()));
                }
                Choice::Usual(Some(trial.usual.clone()))
            }
            Stage::Faster(code) => Choice::Special(code.clone(), None),
        }
    }

    /// Notes which integer alone has changed since the last launch.
    fn find_variables(&mut self, constants: &Constants) {
        self.changes.resize(constants.args.len(), 0);
        if let Some(last) = &self.last
            && (last.nd, &last.images) == (constants.nd, &constants.images)
        {
            let pairs = last.args.iter().zip(&constants.args);
            let mut changed = pairs.enumerate().filter(|(_, (last, now))| last != now).map(|(at, _)| at);
            if let (Some(at), None) = (changed.next(), changed.next())
                && self.changes[at] < CHANGES
            {
                self.changes[at] += 1;
                if self.changes[at] == CHANGES {
                    // The kinds that were told apart by it are one now.
                    self.kinds.clear();
                }
            }
        }
        self.last = Some(constants.clone());
    }

    /// Adds a kind. Of many, one is forgotten that has not got its code yet, and whose last launch was the longest ago.
    fn add(&mut self, constants: Constants) -> usize {
        let kind = Kind { constants, used: 0, stage: Stage::Counting(0) };
        if self.kinds.len() < MAX_KINDS {
            self.kinds.push(kind);
            return self.kinds.len() - 1;
        }
        let oldest = self
            .kinds
            .iter()
            .enumerate()
            .min_by_key(|(_, kind)| (!matches!(kind.stage, Stage::Counting(_)), kind.used))
            .map_or(0, |(at, _)| at);
        self.kinds[oldest] = kind;
        oldest
    }
}

impl Trial {
    /// Whether the code is faster than the usual one, once both have been launched often enough, or the difference is clear.
    fn special_is_faster(&self) -> Option<bool> {
        let least = self.usual.count().min(self.special.count());
        let percent = u128::from(self.special.least()) * 100 / u128::from(self.usual.least().max(1));
        match least {
            0 => None,
            TRIAL_LAUNCHES.. => Some(percent <= 97),
            1.. => (percent >= CLEARLY_SLOWER).then_some(false),
        }
    }
}

impl LaunchTimes {
    fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    fn least(&self) -> u64 {
        self.least.load(Ordering::Relaxed)
    }

    fn add(&self, nanos: u64) {
        self.least.fetch_min(nanos, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A kernel's information for a launch in a trial.
pub struct TimedLaunch {
    /// The kernel's.
    pub info: Arc<KernelInfo>,
    /// Where the time is recorded.
    pub times: Arc<LaunchTimes>,
}

impl LaunchInfo for TimedLaunch {
    fn cost(&self) -> &KernelCost {
        self.info.cost()
    }

    fn failed(&self, message: &str) {
        self.info.failed(message);
    }

    fn kernel(&self) -> &str {
        LaunchInfo::kernel(&*self.info)
    }

    fn memory(&self, args: &[u8], kept: &[Arc<dyn Any + Send + Sync>]) -> Vec<KnownMemory> {
        self.info.memory(args, kept)
    }

    fn work(&self, args: &[u8]) -> Option<ItemWork> {
        self.info.work(args)
    }

    fn took(&self, nanos: u64) {
        self.times.add(nanos);
    }
}

#[cfg(test)]
mod tests {
    use clift_include::abi::{KernelEntry, Resources, WgContext};
    use clift_jit::specialize::ArgPlace;

    use super::*;

    fn code() -> Specialization {
        extern "C" fn nothing(_: *const WgContext, _: *const u8, _: u64, _: u64) {}
        let entry = KernelEntry { run: nothing, packed: None, data: std::ptr::null() };
        Specialization { entry, resources: Resources::default(), memory: Arc::new(()), transposed: false }
    }

    /// Two integers, and one instruction.
    fn watched() -> RepeatedLaunches {
        let args = vec![ArgPlace { offset: 0, bytes: 4 }, ArgPlace { offset: 4, bytes: 4 }];
        let deciding = DecidingConstants { args, instructions: 1, ..DecidingConstants::default() };
        RepeatedLaunches::watch(&deciding).expect("something decides")
    }

    fn launch(all: &RepeatedLaunches, args: [u32; 2]) -> Choice {
        let nd = NdRange::new(1, [64, 1, 1], [0; 3], [8, 1, 1]).expect("a geometry");
        let block: Vec<u8> = args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        all.choose(all.constants(&nd, &block, &[]), LEAST_NS / 10)
    }

    /// Launches until code is compiled.
    fn until_compiled(all: &RepeatedLaunches, mut args: impl FnMut(u32) -> [u32; 2]) -> Option<(u32, Constants)> {
        (0..100).find_map(|number| match launch(all, args(number)) {
            Choice::Compile(constants) => Some((number, *constants)),
            Choice::Usual(_) | Choice::Special(..) => None,
        })
    }

    /// Goes through a trial in which the new code takes `special` ns and the usual one 1000, and returns whether it is used.
    fn try_it(all: &RepeatedLaunches, args: [u32; 2], special: u64) -> bool {
        for _ in 0..2 * TRIAL_LAUNCHES + 1 {
            match launch(all, args) {
                Choice::Usual(Some(times)) => times.add(1000),
                Choice::Special(_, Some(times)) => times.add(special),
                Choice::Usual(None) | Choice::Special(_, None) => {}
                Choice::Compile(_) => panic!("compiled again"),
            }
        }
        matches!(launch(all, args), Choice::Special(_, None))
    }

    #[test]
    fn faster_code_is_used_for_its_launches_only() {
        let all = watched();
        let (number, constants) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        assert_eq!(number, 9);
        let known: Vec<u64> = all.for_compiler(&constants).args.iter().map(|&(_, value)| value).collect();
        assert_eq!(known, [3, 1]);
        // Nothing waits for it.
        assert!(matches!(launch(&all, [3, 1]), Choice::Usual(None)));
        all.compiled(&constants, Some(code()));
        assert!(try_it(&all, [3, 1], 900));
        assert!(matches!(launch(&all, [4, 1]), Choice::Usual(None)));
        assert!(matches!(launch(&all, [3, 1]), Choice::Special(_, None)));
    }

    #[test]
    fn slower_code_and_failures_are_forgotten() {
        let all = watched();
        let (_, constants) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&constants, Some(code()));
        assert!(!try_it(&all, [3, 1], 990));
        let (_, constants) = until_compiled(&all, |_| [5, 1]).expect("to be compiled");
        all.compiled(&constants, None);
        assert!(matches!(launch(&all, [5, 1]), Choice::Usual(None)));
        assert!(until_compiled(&all, |_| [5, 1]).is_none());
    }

    /// An integer that changes with each launch is a variable. Code that was ordered while it was taken for a constant is of no use.
    #[test]
    fn numbers_of_steps_are_variables() {
        let all = watched();
        let (_, early) = until_compiled(&all, |_| [0, 7]).expect("to be compiled");
        let (_, constants) = until_compiled(&all, |number| [number + 1, 7]).expect("to be compiled");
        let known: Vec<u32> = all.for_compiler(&constants).args.iter().map(|(place, _)| place.offset).collect();
        assert_eq!(known, [4]);
        all.compiled(&early, Some(code()));
        assert!(matches!(launch(&all, [0, 7]), Choice::Usual(None)));
        all.compiled(&constants, Some(code()));
        assert!(try_it(&all, [100, 7], 500));
        assert!(matches!(launch(&all, [200, 7]), Choice::Special(_, None)));
    }

    /// However many launches are enqueued, one gets code that may be slow.
    #[test]
    fn one_launch_shows_that_code_is_much_slower() {
        let all = watched();
        let (_, constants) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&constants, Some(code()));
        let mut special = None;
        for _ in 0..20 {
            match launch(&all, [3, 1]) {
                Choice::Special(_, times) => assert!(special.replace(times.expect("a trial")).is_none()),
                Choice::Usual(times) => times.expect("a trial").add(1000),
                Choice::Compile(_) => panic!("compiled again"),
            }
        }
        special.expect("one launch").add(2000);
        assert!(matches!(launch(&all, [3, 1]), Choice::Usual(None)));
    }

    /// The kinds of launches that are remembered are few, and those that have got their code stay longest.
    #[test]
    fn few_kinds_are_remembered() {
        let all = watched();
        let (_, constants) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&constants, Some(code()));
        assert!(try_it(&all, [3, 1], 500));
        for number in 0..1000 {
            launch(&all, [number, number]);
        }
        assert_eq!(all.state.lock().kinds.len(), MAX_KINDS);
        assert!(matches!(launch(&all, [3, 1]), Choice::Special(_, None)));
    }
}
