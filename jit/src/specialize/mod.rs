//! Specialization: code of one kernel for certain facts of a launch, compiled when a launch first needs it, and cached.
//!
//! - The code that reads an image depends on the image's format and on the sampler, and only a launch knows those
//!   ([`crate::builtins::image`]). A kernel that accesses images is kept in canonical form. It is compiled once for each
//!   combination of formats and samplers that it is launched with; programs use few. The build itself compiles the most common
//!   combination. That finds errors early and determines the resources of the kernel.
//! - In launches with work-groups of one work-item, packs are made of neighbouring groups.
//! - Code takes the memory of different pointer arguments for separate. Launches in which it overlaps get code that does not.
//! - Launches that repeat with the same sizes and integers get code in which these are constants, or with another number of
//!   lanes, if the application's launches show that it is faster ([`Specializations::with_constants`]). Who launches the kernel
//!   decides that; nothing waits for such code.
//! - Launches of kernels that access memory contiguously along y or z only are transposed: the runtime exchanges x and that
//!   dimension, and so does the code. So are launches whose work-groups are columns, with one work-item along x.
//!
//! A program that goes through many formats and samplers does not keep the code for all of them ([`MAX_KEPT`]).
//!
//! Deliberately not here: how the code is compiled (`pipeline/on_demand.rs`), and which launches repeat.

mod constants;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_include::abi::{KernelEntry, Resources};
use clift_include::exchange::Exchange;
use clift_include::image::ArgFact;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub use self::constants::{ArgPlace, DecidingConstants, LaunchConstants};
use super::builtins::image::Facts;
use super::program::BuildError;

/// What code is specialized for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaunchFacts {
    /// The launch's images and samplers.
    pub(crate) images: Facts,
    /// Whether the memory of pointer arguments overlaps.
    pub(crate) overlap: bool,
    /// The form in which it is executed.
    pub(crate) form: LaunchForm,
    /// What else is constant.
    pub(crate) constants: Option<LaunchConstants>,
    /// How its code differs from the usual one.
    pub(crate) variant: CodeVariant,
}

/// How code for launches that repeat differs from the usual one, apart from constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeVariant {
    /// Not at all.
    Usual,
    /// It has so many lanes.
    Lanes(u32),
    /// The dimensions are not exchanged.
    AsGiven,
    /// Dimension x and another one are exchanged.
    Transposed,
    /// It has one lane, too, but is compiled by the backend that compiles packs.
    PackBackend,
}

impl LaunchFacts {
    fn new(args: ArgFacts<'_>, form: LaunchForm) -> LaunchFacts {
        let images = Facts(args.images.to_vec());
        LaunchFacts { images, overlap: args.overlap, form, constants: None, variant: CodeVariant::Usual }
    }
}

/// The form in which a launch is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaunchForm {
    /// As it is.
    AsGiven,
    /// Every group has one work-item, and packs consist of groups.
    SingleItems,
    /// Dimension x and another one are exchanged.
    Transposed(Exchange),
}

/// What a launch's arguments tell.
#[derive(Clone, Copy, Debug)]
pub struct ArgFacts<'a> {
    /// Its image and sampler arguments by their offsets in the argument block, in ascending order.
    pub images: &'a [(u32, ArgFact)],
    /// Whether the kernel writes memory of one pointer argument that is also memory of another one.
    pub overlap: bool,
}

/// Code of a kernel, specialized for the facts of certain launches.
#[derive(Clone, Debug)]
pub struct Specialization {
    /// The entry that runs it.
    pub entry: KernelEntry,
    /// The memory it needs.
    pub resources: Resources,
    /// Keeps the code alive; hold a clone while a launch may run.
    pub memory: Arc<dyn Any + Send + Sync>,
    /// The dimension that is exchanged with x in launches that it takes.
    pub exchange: Option<Exchange>,
}

/// Compiles the kernel for given facts.
type SpecializeFn = Box<dyn Fn(&LaunchFacts) -> Result<Specialization, BuildError> + Send + Sync>;

/// A specialization that is compiled on first use.
type LazySpecialization = OnceLock<Result<Specialization, BuildError>>;

/// All specializations of a kernel.
pub struct Specializations {
    specialize: SpecializeFn,
    /// Whether the kernel accesses images: each launch needs a specialization.
    by_images: bool,
    /// Which launches with groups of one work-item have a specialization.
    by_groups: PacksOfGroups,
    /// How launches are transposed, if the kernel is faster then.
    transposed: Option<Transposition>,
    /// How launches with rows of one work-item may be transposed.
    columns: Columns,
    /// What decides how the code could be.
    deciding: DecidingConstants,
    codes: Mutex<Codes>,
}

/// Which launches with groups of one work-item have packs of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacksOfGroups {
    /// None can have.
    Never,
    /// Those with the rejected lanes.
    WithRejectedLanes,
    /// All.
    Always,
}

/// The specializations that are kept.
#[derive(Debug)]
struct Codes {
    /// With the time of the last use.
    kept: FxHashMap<LaunchFacts, (u64, Arc<LazySpecialization>)>,
    /// Number of uses so far.
    uses: u64,
}

/// Number of specializations of a kernel that are kept. Of more, those are forgotten whose last use was the longest ago;
/// launches that run keep theirs alive.
const MAX_KEPT: usize = 64;

impl Codes {
    fn get(&mut self, facts: &LaunchFacts) -> Option<&Arc<LazySpecialization>> {
        self.uses += 1;
        let (used, code) = self.kept.get_mut(facts)?;
        *used = self.uses;
        Some(code)
    }

    /// Adds an entry. Returns it, and one that is forgotten instead, to be dropped without the lock.
    fn add(&mut self, facts: &LaunchFacts) -> (Arc<LazySpecialization>, Option<Arc<LazySpecialization>>) {
        let oldest =
            if self.kept.len() < MAX_KEPT { None } else { self.kept.iter().min_by_key(|(_, (used, _))| *used) };
        let oldest = oldest.map(|(facts, _)| facts.clone());
        let forgotten = oldest.and_then(|facts| self.kept.remove(&facts)).map(|(_, code)| code);
        let code = Arc::<LazySpecialization>::default();
        self.kept.insert(facts.clone(), (self.uses, code.clone()));
        (code, forgotten)
    }
}

impl fmt::Debug for Specializations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Specializations").field("codes", &self.codes).finish_non_exhaustive()
    }
}

/// How launches of a kernel are transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transposition {
    /// The dimension that is exchanged with x.
    pub(crate) exchange: Exchange,
    /// Work-items of a pack then.
    pub(crate) lanes: u32,
    /// Whether work-groups may be coalesced along that dimension.
    pub(crate) coalesces: bool,
    /// Whether it is faster by the estimate. Otherwise only launches that repeat are tried with it.
    pub(crate) is_faster: bool,
}

impl Transposition {
    /// Whether a launch with these sizes gains: its groups have rows of whole packs, or of halves, once they have been coalesced.
    /// Shorter rows are worthwhile if those of the launch as it was given are not longer.
    fn gains(&self, local_size: [u64; 3], num_groups: [u64; 3]) -> bool {
        let Transposition { exchange, lanes, coalesces, is_faster: _ } = *self;
        let [local_size, num_groups] = [local_size, num_groups].map(|sizes| exchange.apply(sizes));
        let (lanes, given) = (u64::from(lanes), local_size[1].max(local_size[2]));
        let groups = (lanes / local_size[0]).max(1).ilog2().min(num_groups[0].trailing_zeros());
        let row = local_size[0] << if coalesces { groups } else { 0 };
        row.is_multiple_of((lanes / 2).max(1)) || row.is_multiple_of(SHORT_ROW) && row >= given
    }
}

/// The shortest rows of transposed launches.
const SHORT_ROW: u64 = 4;

/// How launches are transposed whose rows have one work-item, so that packs would have one active lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The dimensions that may be exchanged with x.
    pub(crate) exchanges: SmallVec<[Exchange; 2]>,
    /// Whether work-groups may be coalesced along x.
    pub(crate) coalesces: bool,
}

impl Columns {
    /// The dimension that is exchanged with x in a launch with these sizes, if that helps: the longest one of a work-group.
    fn exchange(&self, local_size: [u64; 3], num_groups: [u64; 3]) -> Option<Exchange> {
        let is_column = local_size[0] == 1 && !(self.coalesces && num_groups[0] >= SHORT_ROW);
        let length = |exchange: &Exchange| local_size[usize::from(exchange.dimension())];
        let longest = self.exchanges.iter().copied().max_by_key(length).filter(|_| is_column)?;
        (length(&longest) >= SHORT_ROW).then_some(longest)
    }
}

/// With fewer groups in a row, one work-item after the other is faster than a pack of groups.
const LEAST_GROUPS: u64 = 6;

impl Specializations {
    /// The specializations of a kernel. If it accesses images, it has already been compiled for the facts `usual`.
    pub(crate) fn new(
        usual: Option<Facts>,
        code: Specialization,
        by_groups: PacksOfGroups,
        transposed: Option<Transposition>,
        columns: Columns,
        deciding: DecidingConstants,
        specialize: SpecializeFn,
    ) -> Specializations {
        let by_images = usual.is_some();
        let key = |images: Facts| LaunchFacts::new(ArgFacts { images: &images.0, overlap: false }, LaunchForm::AsGiven);
        let codes =
            usual.map(|images| (key(images), (0, Arc::new(LazySpecialization::from(Ok(code)))))).into_iter().collect();
        let codes = Mutex::new(Codes { kept: codes, uses: 0 });
        Specializations { specialize, by_images, by_groups, transposed, columns, deciding, codes }
    }

    /// As [`Specializations::get`], but `None` if code would have to be compiled first.
    pub fn known(
        &self,
        args: ArgFacts<'_>,
        local_size: [u64; 3],
        num_groups: [u64; 3],
    ) -> Option<Result<Option<Specialization>, BuildError>> {
        let needs_own = self.by_images || args.overlap;
        let made = |form| {
            let facts = LaunchFacts::new(args, form);
            let code = self.codes.lock().get(&facts)?.clone();
            code.get().cloned()
        };
        let form = self.form(local_size, num_groups);
        if form != LaunchForm::AsGiven {
            match made(form)? {
                Ok(code) => return Some(Ok(Some(code))),
                Err(_) if !needs_own => return Some(Ok(None)),
                Err(_) => {}
            }
        }
        if !needs_own {
            return Some(Ok(None));
        }
        Some(made(LaunchForm::AsGiven)?.map(Some))
    }

    /// The form in which a launch is executed.
    fn form(&self, local_size: [u64; 3], num_groups: [u64; 3]) -> LaunchForm {
        if self.by_groups == PacksOfGroups::Always && local_size == [1; 3] && num_groups[0] >= LEAST_GROUPS {
            return LaunchForm::SingleItems;
        }
        match self.transposed {
            Some(how) if how.is_faster && how.gains(local_size, num_groups) => LaunchForm::Transposed(how.exchange),
            Some(_) | None => match self.columns.exchange(local_size, num_groups) {
                Some(exchange) => LaunchForm::Transposed(exchange),
                None => LaunchForm::AsGiven,
            },
        }
    }

    /// Whether launches with these sizes have packs of work-groups, whatever their arguments are.
    pub fn has_packs_of_groups(&self, local_size: [u64; 3], num_groups: [u64; 3]) -> bool {
        !self.by_images && self.form(local_size, num_groups) == LaunchForm::SingleItems
    }

    /// The specialization for a launch, if it needs one; `local_size` and `num_groups` are its sizes.
    ///
    /// # Errors
    /// As for [`super::compile`]; the error names the kernel.
    pub fn get(
        &self,
        args: ArgFacts<'_>,
        local_size: [u64; 3],
        num_groups: [u64; 3],
    ) -> Result<Option<Specialization>, BuildError> {
        let needs_own = self.by_images || args.overlap;
        let made = |form| self.made(LaunchFacts::new(args, form));
        let form = self.form(local_size, num_groups);
        if form != LaunchForm::AsGiven {
            match made(form) {
                Ok(code) => return Ok(Some(code)),
                // It has been reported; the usual code takes such launches as well.
                Err(_) if !needs_own => return Ok(None),
                Err(_) => {}
            }
        }
        if !needs_own {
            return Ok(None);
        }
        made(LaunchForm::AsGiven).map(Some)
    }

    /// What of a launch's constants decides how the code of the kernel could be.
    pub fn deciding_constants(&self) -> &DecidingConstants {
        &self.deciding
    }

    /// Compiles the kernel for launches that all have certain constants. The result is not kept here.
    ///
    /// # Errors
    /// As for [`super::compile`]; the error names the kernel.
    pub fn with_constants(
        &self,
        args: ArgFacts<'_>,
        constants: LaunchConstants,
        variant: CodeVariant,
    ) -> Result<Specialization, BuildError> {
        let form = self.form_with(&constants, variant);
        self.compile(&LaunchFacts { constants: Some(constants), variant, ..LaunchFacts::new(args, form) })
    }

    /// As [`Specializations::with_constants`], for all launches with the local size of a given one.
    ///
    /// # Errors
    /// As for [`super::compile`]; the error names the kernel.
    pub fn without_constants(
        &self,
        args: ArgFacts<'_>,
        launch: &LaunchConstants,
        variant: CodeVariant,
    ) -> Result<Specialization, BuildError> {
        let form = self.form_with(launch, variant);
        self.compile(&LaunchFacts { variant, ..LaunchFacts::new(args, form) })
    }

    /// Whether a variant of the code of a launch differs from the usual one.
    pub fn differs(&self, launch: &LaunchConstants, variant: CodeVariant) -> bool {
        let usual = self.form_with(launch, CodeVariant::Usual);
        match variant {
            CodeVariant::Usual => false,
            CodeVariant::Lanes(_) | CodeVariant::PackBackend => true,
            // Rows of one work-item are columns in any case.
            CodeVariant::AsGiven => matches!(usual, LaunchForm::Transposed(_)) && launch.local_size[0] >= SHORT_ROW,
            CodeVariant::Transposed => {
                let gains = |how: Transposition| how.gains(launch.local_size, launch.num_groups());
                usual == LaunchForm::AsGiven && self.transposed.is_some_and(gains)
            }
        }
    }

    /// The form in which a launch with a variant of the code is executed.
    fn form_with(&self, launch: &LaunchConstants, variant: CodeVariant) -> LaunchForm {
        let (local, num_groups) = (launch.local_size, launch.num_groups());
        match variant {
            CodeVariant::Usual => self.form(local, num_groups),
            CodeVariant::Transposed => {
                self.transposed.map_or(LaunchForm::AsGiven, |how| LaunchForm::Transposed(how.exchange))
            }
            // Other forms are for packs.
            CodeVariant::Lanes(1) | CodeVariant::AsGiven | CodeVariant::PackBackend => LaunchForm::AsGiven,
            CodeVariant::Lanes(_)
                if self.by_groups != PacksOfGroups::Never && local == [1; 3] && num_groups[0] >= LEAST_GROUPS =>
            {
                LaunchForm::SingleItems
            }
            CodeVariant::Lanes(_) => self.form(local, num_groups),
        }
    }

    /// The dimension that should be exchanged with x, if the kernel is faster then and rows are long enough.
    pub fn preferred_exchange(&self) -> Option<Exchange> {
        self.transposed.filter(|how| how.is_faster).map(|how| how.exchange)
    }

    fn made(&self, facts: LaunchFacts) -> Result<Specialization, BuildError> {
        let mut codes = self.codes.lock();
        let (made, forgotten) = match codes.get(&facts) {
            Some(made) => (made.clone(), None),
            None => codes.add(&facts),
        };
        drop(codes);
        drop(forgotten);
        made.get_or_init(|| self.compile(&facts)).clone()
    }

    fn compile(&self, facts: &LaunchFacts) -> Result<Specialization, BuildError> {
        let started = Instant::now();
        let code = (self.specialize)(facts);
        let micros = started.elapsed().as_micros() as u64;
        tracing::debug!(target: "clift::time", stage = "specialize", micros, "{facts:?}");
        if let Err(error) = &code {
            tracing::debug!("{facts:?}: {error}");
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use clift_include::abi::{Resources, WgContext};
    use clift_include::image::Sampler;

    use super::*;

    /// Code that does nothing.
    fn nothing() -> Specialization {
        extern "C" fn run(_: *const WgContext, _: *const u8, _: u64, _: u64) {}
        Specialization {
            entry: KernelEntry { run, packed: None, data: std::ptr::null() },
            resources: Resources::default(),
            memory: Arc::new(()),
            exchange: None,
        }
    }

    /// Rows of one work-item become rows along the longest dimension of a work-group.
    #[test]
    fn columns_are_transposed() {
        let columns = |coalesces| Columns { exchanges: Exchange::ALL.into_iter().collect(), coalesces };
        let exchange = |coalesces, local, groups| columns(coalesces).exchange(local, groups);
        assert_eq!(exchange(false, [1, 8, 16], [16, 4, 4]), Some(Exchange::Z));
        assert_eq!(exchange(false, [1, 64, 1], [16, 4, 1]), Some(Exchange::Y));
        assert_eq!(exchange(true, [1, 64, 1], [16, 4, 1]), None, "rows of coalesced groups");
        assert_eq!(exchange(true, [1, 64, 1], [1, 4, 1]), Some(Exchange::Y));
        assert_eq!(exchange(false, [2, 64, 1], [1, 4, 1]), None);
        assert_eq!(exchange(false, [1, 2, 1], [1, 4, 1]), None);
    }

    /// Launches are transposed at once only if that is faster by the estimate; otherwise a variant of their code is.
    #[test]
    fn launches_may_be_tried_transposed() {
        let how = |is_faster| Transposition { exchange: Exchange::Z, lanes: 16, coalesces: true, is_faster };
        let all = |is_faster| {
            let (columns, deciding) = (Columns::default(), DecidingConstants::default());
            let specialize = |_: &LaunchFacts| Ok(nothing());
            let by_groups = PacksOfGroups::Never;
            Specializations::new(
                None,
                nothing(),
                by_groups,
                Some(how(is_faster)),
                columns,
                deciding,
                Box::new(specialize),
            )
        };
        let launch = |z| LaunchConstants {
            dims: 3,
            global_size: [55, 55, z],
            global_offset: [0; 3],
            local_size: [55, 1, 1],
            args: Vec::new(),
        };
        for (is_faster, z) in [(false, 32), (false, 3), (true, 32), (true, 3)] {
            let (all, launch) = (all(is_faster), launch(z));
            let transposed = LaunchForm::Transposed(Exchange::Z);
            let usual = if is_faster && z == 32 { transposed } else { LaunchForm::AsGiven };
            assert_eq!(all.form_with(&launch, CodeVariant::Usual), usual);
            assert_eq!(all.form_with(&launch, CodeVariant::Transposed), transposed);
            assert_eq!(all.differs(&launch, CodeVariant::Transposed), !is_faster && z == 32);
            assert_eq!(all.preferred_exchange(), is_faster.then_some(Exchange::Z));
        }
    }

    /// Of many specializations only some are kept, among them those in use; the others are compiled again.
    #[test]
    fn few_are_kept() {
        static COMPILED: AtomicUsize = AtomicUsize::new(0);
        let specialize = move |_: &LaunchFacts| {
            COMPILED.fetch_add(1, Ordering::SeqCst);
            Ok(nothing())
        };
        let all = Specializations::new(
            Some(Facts(Vec::new())),
            nothing(),
            PacksOfGroups::Never,
            None,
            Columns::default(),
            DecidingConstants::default(),
            Box::new(specialize),
        );
        let get = |number: u32| {
            let images = &[(number, ArgFact::Sampler(Sampler(0)))];
            all.get(ArgFacts { images, overlap: false }, [1; 3], [1; 3]).unwrap()
        };
        for number in 0..1000 {
            assert!(get(number).is_some() && get(0).is_some());
        }
        assert_eq!(COMPILED.load(Ordering::SeqCst), 1000);
        assert_eq!(all.codes.lock().kept.len(), MAX_KEPT);
        get(1);
        assert_eq!(COMPILED.load(Ordering::SeqCst), 1001);
    }
}
