//! Code for launches that repeat.
//!
//! Applications launch a kernel again and again with the same sizes and integers: strides, widths, counts. Code in which these
//! are constants may be faster, or not. So the launches of a kernel are watched:
//!
//! ```text
//!   Counting ── enough time spent ──> Compiling ── in the background ──> Trial ── launches in turn ──> Settled
//!                                         ^                                │
//!                                         └─────── other code next ────────┘
//! ```
//!
//! Launches never wait for such code, and a kernel's codes are compiled one at a time. In a trial, launches get the best code
//! so far and the new one in turn, one at a time; the least time that either takes decides, and one launch that takes clearly
//! longer ends it. Integers that change with each launch, such as the number of a step, are not taken for constants.
//!
//! Where neither packs nor one lane were estimated to be much faster, such code is tried with either: the estimate knows neither
//! how often branches are taken nor how alike neighbours are. Where the other lanes are clearly faster, all launches with the
//! same local size get them from then on, until they have code of their own: code without constants is compiled, too.
//!
//! Launches that have repeated much longer are also tried with twice and half of the lanes, with packs where only loops that
//! may be short speak for one lane, as they were given if their dimensions are exchanged, and with their dimensions exchanged
//! if fewer accesses of packs might be scattered then. Estimates are right on average only: of 497 kernels of programs, one in
//! fifteen took less than three quarters of the time with another number of lanes.
//!
//! Both codes compute the same: floating-point arguments stay variables, and kernels that observe sub-groups keep their number
//! of lanes. Only `-cl-unsafe-math-optimizations` lets sums with a known number of iterations have another order.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use clift_include::image::ArgFact;
use clift_jit::specialize::{CodeVariant, Specialization};
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
/// Code that no estimate speaks for is tried after so many times the time, and so many launches: those that try it may be slow.
const UNLIKELY: u64 = 4;
const UNLIKELY_LAUNCHES: u32 = 24;
/// Launches that take less time are not watched, which takes 0.2 µs.
pub const LEAST_LAUNCH_NS: u64 = 10_000;
/// Larger kernels get no such code.
const MAX_INSTRUCTIONS: usize = 20_000;
/// The most such codes of a kernel that are compiled.
const MAX_COMPILED: usize = 64;

/// When a trial ends, by the number of launches with either code.
#[derive(Debug)]
struct Limits {
    /// The new code is the slower one if it takes at least so many percent of the time of the best one. The last entry decides:
    /// otherwise the new code is the faster one.
    slower: &'static [u64],
    /// The new code is the faster one if it takes at most so many percent.
    faster: &'static [u64],
}

/// Of code that is likely to be faster.
const LIKELY_LIMITS: Limits = Limits { slower: &[125, 112, 105, 98], faster: &[50, 75, 90, 98] };
/// Of code that is not. Short launches take twice the usual time now and then, and must not decide by that.
const UNLIKELY_LIMITS: Limits =
    Limits { slower: &[150, 130, 120, 112, 106, 100, 96, 93], faster: &[0, 0, 40, 50, 60, 70, 80, 93] };
/// Other lanes are clearly faster if they take at most so many percent of the time.
const CLEARLY_FASTER: u64 = 80;
/// An integer that changes so often while all else stays the same is a variable.
const CHANGES: u8 = 8;

/// The launches of a kernel so far.
#[derive(Debug)]
pub struct RepeatedLaunches {
    deciding: DecidingConstants,
    variants: Variants,
    state: Mutex<State>,
}

/// The codes that launches are tried with, in this order.
#[derive(Debug)]
struct Variants {
    all: SmallVec<[CodeVariant; 4]>,
    /// How many of them, from the start, are likely to be faster.
    likely: usize,
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
    /// Code for launches without code of their own.
    general: General,
}

/// Code without constants that has turned out to be better than the usual one.
#[derive(Debug, Default)]
enum General {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// It is being compiled, or could not be.
    Requested,
    /// It is for launches with these images and the local size of these constants.
    Code(Box<Constants>, Specialization),
}

/// Launches with the same constants.
#[derive(Debug)]
struct Kind {
    constants: Constants,
    /// When the last one was.
    used: u64,
    stage: Stage,
    /// The best code so far, if that is not the usual one.
    best: Option<Specialization>,
    /// How many codes have been compiled.
    tried: usize,
    /// Whether another variant of the code has turned out to be slower.
    keeps_usual: bool,
}

#[derive(Debug)]
enum Stage {
    /// Since the last trial, so many have taken so many ns.
    Counting { launches: u32, nanos: u64 },
    /// Code for them is being compiled.
    Compiling,
    /// That code is compared with the best one so far.
    Trial(Trial),
    /// They get the best code.
    Settled,
}

#[derive(Debug)]
struct Trial {
    /// `None` if it could not be compiled.
    code: Option<Specialization>,
    variant: CodeVariant,
    limits: &'static Limits,
    /// How many launches have got it.
    launches: u32,
    /// The times of the best code so far.
    best: Arc<LaunchTimes>,
    /// The times of the new code.
    new: Arc<LaunchTimes>,
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

/// What is chosen for a launch.
#[derive(Debug, Default)]
pub struct Choice {
    /// The code that it gets, if not the usual one.
    pub code: Option<Specialization>,
    /// Where its time is recorded, if it is part of a trial.
    pub times: Option<Arc<LaunchTimes>>,
    /// What is to be compiled meanwhile, for [`RepeatedLaunches::compiled`].
    pub compile: Option<Box<CodeRequest>>,
}

/// Code that is to be compiled.
#[derive(Clone, Debug)]
pub struct CodeRequest {
    /// For which launches.
    pub constants: Constants,
    /// Which code.
    pub variant: CodeVariant,
    /// Whether it is for all launches with these images and this local size, instead of having constants.
    pub is_general: bool,
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
        let rejected = deciding.rejected_lanes.map(CodeVariant::Lanes);
        let likely = deciding.has_constants().then_some(CodeVariant::Usual).into_iter().chain(rejected);
        let mut all: SmallVec<[CodeVariant; 4]> = likely.collect();
        let likely = all.len();
        all.extend(deciding.alternatives.iter().copied());
        let variants = Variants { all, likely };
        watches.then(|| Self { deciding: deciding.clone(), variants, state: Mutex::default() })
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
        self.state.lock().choose(&self.variants, constants, nanos, enough)
    }

    /// Takes code for launches that get it in any case. Returns the code that is kept.
    pub fn always(
        &self,
        constants: Constants,
        compile: impl FnOnce(LaunchConstants, CodeVariant) -> Option<Specialization>,
    ) -> Option<Specialization> {
        let &variant = self.variants.all[..self.variants.likely].first()?;
        let known = |state: &State| {
            let kind = state.kinds.iter().find(|kind| kind.constants == constants)?;
            matches!(kind.stage, Stage::Settled).then(|| kind.best.clone())
        };
        let known = known(&self.state.lock());
        known.unwrap_or_else(|| {
            let code = compile(self.for_compiler(&constants), variant);
            let mut state = self.state.lock();
            let at = state.add(constants);
            state.launches += 1;
            let used = state.launches;
            let kind = &mut state.kinds[at];
            (kind.used, kind.stage, kind.best) = (used, Stage::Settled, code.clone());
            code
        })
    }

    /// Takes code that a [`Choice`] asked for; `None` if there is none.
    pub fn compiled(&self, request: &CodeRequest, code: Option<Specialization>) {
        let mut state = self.state.lock();
        if request.is_general {
            if let Some(code) = code {
                state.general = General::Code(Box::new(request.constants.clone()), code);
            }
        } else if let Some(kind) = state.kinds.iter_mut().find(|kind| kind.constants == request.constants) {
            let limits = if kind.tried > self.variants.likely { &UNLIKELY_LIMITS } else { &LIKELY_LIMITS };
            kind.stage = Stage::Trial(Trial::of(code, request.variant, limits));
        }
    }
}

impl State {
    fn choose(&mut self, variants: &Variants, mut constants: Constants, nanos: u64, enough: u64) -> Choice {
        self.launches += 1;
        self.find_variables(&constants);
        for (value, &changes) in constants.args.iter_mut().zip(&self.changes) {
            if changes >= CHANGES {
                *value = None;
            }
        }
        let known = self.kinds.iter().position(|kind| kind.constants == constants);
        let at = known.unwrap_or_else(|| self.add(constants));
        let is_busy = self.kinds.iter().any(|kind| matches!(kind.stage, Stage::Compiling));
        let kind = &mut self.kinds[at];
        kind.used = self.launches;
        let general = self.general.code_for(kind);
        let asks = match &mut kind.stage {
            Stage::Counting { launches, nanos: spent } => {
                *launches += 1;
                *spent += nanos;
                if kind.tried < variants.likely {
                    *spent >= enough
                } else {
                    *spent >= UNLIKELY * enough && *launches >= UNLIKELY_LAUNCHES
                }
            }
            Stage::Compiling | Stage::Settled => false,
            Stage::Trial(trial) => match trial.is_faster() {
                None => return trial.next(kind.best.as_ref().or(general.as_ref())),
                Some(faster) => {
                    tracing::debug!(target: "clift::time", variant = ?trial.variant, faster, best_ns = trial.best.least(), new_ns = trial.new.least(), "code for repeated launches");
                    let is_clear = faster && trial.percent() <= u128::from(CLEARLY_FASTER);
                    let variant = trial.variant;
                    let is_other = variant != CodeVariant::Usual;
                    kind.keeps_usual |= is_other && !faster && trial.code.is_some();
                    if faster {
                        kind.best.clone_from(&trial.code);
                    }
                    kind.stage = if kind.tried < variants.all.len() { Stage::COUNTING } else { Stage::Settled };
                    if is_other && is_clear && matches!(self.general, General::Unknown) {
                        self.general = General::Requested;
                        let constants = kind.constants.clone();
                        let compile = Some(Box::new(CodeRequest { constants, variant, is_general: true }));
                        return Choice { code: kind.best.clone(), times: None, compile };
                    }
                    kind.tried < variants.likely
                }
            },
        };
        let mut compile = None;
        if asks
            && !is_busy
            && self.compiled < MAX_COMPILED
            && let Some(&variant) = variants.all.get(kind.tried)
        {
            self.compiled += 1;
            kind.tried += 1;
            kind.stage = Stage::Compiling;
            compile = Some(Box::new(CodeRequest { constants: kind.constants.clone(), variant, is_general: false }));
        }
        Choice { code: kind.best.clone().or(general), times: None, compile }
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
        let kind = Kind { constants, used: 0, stage: Stage::COUNTING, best: None, tried: 0, keeps_usual: false };
        if self.kinds.len() < MAX_KINDS {
            self.kinds.push(kind);
            return self.kinds.len() - 1;
        }
        let oldest = self
            .kinds
            .iter()
            .enumerate()
            .min_by_key(|(_, kind)| (!matches!(kind.stage, Stage::Counting { .. }), kind.used))
            .map_or(0, |(at, _)| at);
        self.kinds[oldest] = kind;
        oldest
    }
}

impl Stage {
    /// From now on.
    const COUNTING: Stage = Stage::Counting { launches: 0, nanos: 0 };
}

impl General {
    /// The code for launches of a kind, unless these are better off without it.
    fn code_for(&self, kind: &Kind) -> Option<Specialization> {
        let General::Code(of, code) = self else { return None };
        let suits = of.nd.local_size() == kind.constants.nd.local_size() && of.images == kind.constants.images;
        (suits && !kind.keeps_usual).then(|| code.clone())
    }
}

impl Limits {
    /// How many launches with either code a trial has at most.
    const fn launches(&self) -> u32 {
        self.slower.len() as u32
    }
}

impl Trial {
    /// The trial of some code; `None` is slower than any.
    fn of(code: Option<Specialization>, variant: CodeVariant, limits: &'static Limits) -> Trial {
        Trial { code, variant, limits, launches: 0, best: Arc::default(), new: Arc::default() }
    }

    /// What the next launch gets, if `best` is the best code so far. One launch at a time gets code that may be slow, however
    /// many are enqueued.
    fn next(&mut self, best: Option<&Specialization>) -> Choice {
        let may_try = self.launches < self.limits.launches() && self.new.count() == self.launches;
        let tries = may_try && self.best.count() >= self.launches;
        self.launches += u32::from(tries);
        let (code, times) = if tries { (self.code.as_ref(), &self.new) } else { (best, &self.best) };
        Choice { code: code.cloned(), times: Some(times.clone()), compile: None }
    }

    /// Whether the code is faster than the best one, once both have been launched often enough, or the difference is clear.
    fn is_faster(&self) -> Option<bool> {
        if self.code.is_none() {
            return Some(false);
        }
        let launches = self.best.count().min(self.new.count()).min(self.limits.launches());
        let at = launches.checked_sub(1)? as usize;
        let percent = self.percent();
        if percent >= u128::from(*self.limits.slower.get(at)?) {
            return Some(false);
        }
        (percent <= u128::from(*self.limits.faster.get(at)?) || launches == self.limits.launches()).then_some(true)
    }

    /// The time of the new code in percent of that of the best one.
    fn percent(&self) -> u128 {
        u128::from(self.new.least()) * 100 / u128::from(self.best.least().max(1))
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
        Specialization { entry, resources: Resources::default(), memory: Arc::new(()), exchange: None }
    }

    /// Two integers, and one instruction.
    fn watched() -> RepeatedLaunches {
        watched_with(None)
    }

    fn watched_with(rejected_lanes: Option<u32>) -> RepeatedLaunches {
        let args = vec![ArgPlace { offset: 0, bytes: 4 }, ArgPlace { offset: 4, bytes: 4 }];
        let deciding = DecidingConstants { args, rejected_lanes, instructions: 1, ..DecidingConstants::default() };
        RepeatedLaunches::watch(&deciding).expect("something decides")
    }

    fn launch(all: &RepeatedLaunches, args: [u32; 2]) -> Choice {
        let nd = NdRange::new(1, [64, 1, 1], [0; 3], [8, 1, 1]).expect("a geometry");
        let block: Vec<u8> = args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        all.choose(all.constants(&nd, &block, &[]), LEAST_NS / 10)
    }

    /// Whether a launch gets other code than the usual one, and not for a trial.
    fn is_special(choice: &Choice) -> bool {
        choice.code.is_some() && choice.times.is_none()
    }

    /// Whether a launch gets the usual code, and not for a trial.
    fn is_usual(choice: &Choice) -> bool {
        choice.code.is_none() && choice.times.is_none()
    }

    /// Launches until code is compiled.
    fn until_compiled(all: &RepeatedLaunches, mut args: impl FnMut(u32) -> [u32; 2]) -> Option<(u32, CodeRequest)> {
        (0..100).find_map(|number| Some((number, *launch(all, args(number)).compile?)))
    }

    /// Goes through a trial in which the new code takes `special` ns and the usual one 1000, and returns whether it is used.
    fn try_it(all: &RepeatedLaunches, args: [u32; 2], special: u64) -> bool {
        for _ in 0..2 * UNLIKELY_LIMITS.launches() + 1 {
            let choice = launch(all, args);
            assert!(choice.compile.is_none(), "compiled again");
            if let Some(times) = choice.times {
                times.add(if choice.code.is_some() { special } else { 1000 });
            }
        }
        is_special(&launch(all, args))
    }

    #[test]
    fn faster_code_is_used_for_its_launches_only() {
        let all = watched();
        let (number, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        assert_eq!(number, 9);
        let known: Vec<u64> = all.for_compiler(&request.constants).args.iter().map(|&(_, value)| value).collect();
        assert_eq!(known, [3, 1]);
        // Nothing waits for it.
        assert!(is_usual(&launch(&all, [3, 1])));
        all.compiled(&request, Some(code()));
        assert!(try_it(&all, [3, 1], 900));
        assert!(is_usual(&launch(&all, [4, 1])));
        assert!(is_special(&launch(&all, [3, 1])));
    }

    #[test]
    fn slower_code_and_failures_are_forgotten() {
        let all = watched();
        let (_, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&request, Some(code()));
        assert!(!try_it(&all, [3, 1], 990));
        let (_, request) = until_compiled(&all, |_| [5, 1]).expect("to be compiled");
        all.compiled(&request, None);
        assert!(is_usual(&launch(&all, [5, 1])));
        assert!(until_compiled(&all, |_| [5, 1]).is_none());
    }

    /// An integer that changes with each launch is a variable. Code that was ordered while it was taken for a constant is of no
    /// use.
    #[test]
    fn numbers_of_steps_are_variables() {
        let all = watched();
        let (_, early) = until_compiled(&all, |_| [0, 7]).expect("to be compiled");
        let (_, request) = until_compiled(&all, |number| [number + 1, 7]).expect("to be compiled");
        let known: Vec<u32> = all.for_compiler(&request.constants).args.iter().map(|(place, _)| place.offset).collect();
        assert_eq!(known, [4]);
        all.compiled(&early, Some(code()));
        assert!(is_usual(&launch(&all, [0, 7])));
        all.compiled(&request, Some(code()));
        assert!(try_it(&all, [100, 7], 500));
        assert!(is_special(&launch(&all, [200, 7])));
    }

    /// Where packs and one lane are about as fast by the estimate, code with the other lanes is tried after code with constants.
    /// Constants alone are tried first, also where the usual code has one lane.
    #[test]
    fn constants_are_tried_with_the_usual_lanes_first() {
        for rejected in [None, Some(1), Some(16)] {
            let expected: Vec<CodeVariant> =
                [CodeVariant::Usual].into_iter().chain(rejected.map(CodeVariant::Lanes)).collect();
            assert_eq!(watched_with(rejected).variants.all.as_slice(), expected, "{rejected:?}");
        }
    }

    #[test]
    fn other_lanes_are_compared_with_the_best_code() {
        let all = watched_with(Some(1));
        let (_, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        assert_eq!(request.variant, CodeVariant::Usual);
        all.compiled(&request, Some(code()));
        // The new code is the best one, and the next is asked for.
        let request = next_request(&all, 900);
        assert_eq!(request.variant, CodeVariant::Lanes(1));
        assert!(is_special(&launch(&all, [3, 1])));
        all.compiled(&request, None);
        assert!(is_special(&launch(&all, [3, 1])));
        assert!(is_special(&launch(&all, [3, 1])));
    }

    /// Goes on with launches, of which the usual code takes 1000 ns, until code is to be compiled.
    fn next_request(all: &RepeatedLaunches, special: u64) -> CodeRequest {
        let request = (0..20).find_map(|_| {
            let choice = launch(all, [3, 1]);
            if let Some(times) = choice.times {
                times.add(if choice.code.is_some() { special } else { 1000 });
            }
            choice.compile
        });
        *request.expect("to be compiled")
    }

    /// Other lanes that take less than half the time are recognized at once, and serve launches with other constants.
    #[test]
    fn clearly_better_lanes_are_for_all_launches() {
        let all = watched_with(Some(1));
        let (_, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&request, None);
        let request = next_request(&all, 900);
        assert_eq!((request.variant, request.is_general), (CodeVariant::Lanes(1), false));
        assert!(is_usual(&launch(&all, [4, 1])));
        all.compiled(&request, Some(code()));
        let general = next_request(&all, 400);
        assert_eq!((general.variant, general.is_general), (CodeVariant::Lanes(1), true));
        assert!(is_special(&launch(&all, [3, 1])));
        assert!(is_usual(&launch(&all, [4, 1])));
        all.compiled(&general, Some(code()));
        assert!(is_special(&launch(&all, [4, 1])));
        let other = NdRange::new(1, [64, 1, 1], [0; 3], [16, 1, 1]).expect("a geometry");
        assert!(is_usual(&all.choose(all.constants(&other, &[0; 8], &[]), 1000)));
    }

    /// What nothing speaks for is tried when launches have repeated longer, one code after the other, and the best one stays.
    #[test]
    fn neighbouring_lanes_are_tried_late() {
        let variants = [CodeVariant::Lanes(32), CodeVariant::Lanes(8)];
        let deciding = DecidingConstants {
            alternatives: variants.as_slice().into(),
            instructions: 1,
            ..DecidingConstants::default()
        };
        let all = RepeatedLaunches::watch(&deciding).expect("lanes to try");
        let (number, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        assert_eq!((number, request.variant), (10 * UNLIKELY as u32 - 1, variants[0]));
        all.compiled(&request, Some(code()));
        assert!(try_it(&all, [3, 1], 900));
        let (number, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        assert!(number >= UNLIKELY_LAUNCHES);
        assert_eq!(request.variant, variants[1]);
        all.compiled(&request, None);
        assert!(is_special(&launch(&all, [3, 1])), "the first ones stay");
        assert!(until_compiled(&all, |_| [3, 1]).is_none());
    }

    /// However many launches are enqueued, one gets code that may be slow.
    #[test]
    fn one_launch_shows_that_code_is_much_slower() {
        let all = watched();
        let (_, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&request, Some(code()));
        let mut special = None;
        for _ in 0..20 {
            let choice = launch(&all, [3, 1]);
            let times = choice.times.expect("a trial");
            if choice.code.is_some() {
                assert!(special.replace(times).is_none());
            } else {
                times.add(1000);
            }
        }
        special.expect("one launch").add(2000);
        assert!(is_usual(&launch(&all, [3, 1])));
    }

    /// The kinds of launches that are remembered are few, and those that have got their code stay longest.
    #[test]
    fn few_kinds_are_remembered() {
        let all = watched();
        let (_, request) = until_compiled(&all, |_| [3, 1]).expect("to be compiled");
        all.compiled(&request, Some(code()));
        assert!(try_it(&all, [3, 1], 500));
        for number in 0..1000 {
            launch(&all, [number, number]);
        }
        assert_eq!(all.state.lock().kinds.len(), MAX_KINDS);
        assert!(is_special(&launch(&all, [3, 1])));
    }
}
