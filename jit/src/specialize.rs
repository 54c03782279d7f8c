//! Specialization: code of one kernel for certain facts of a launch, compiled when a launch first needs it, and cached.
//!
//! - The code that reads an image depends on the image's format and on the sampler, and only a launch knows those
//!   ([`crate::builtins::image`]). A kernel that accesses images is kept in canonical form. It is compiled once for each combination
//!   of formats and samplers that it is launched with; programs use few. The build itself compiles the most common combination. That
//!   finds errors early and determines the resources of the kernel.
//! - In launches with work-groups of one work-item, packs are made of neighbouring groups.
//!
//! Deliberately not here: how the code is compiled (`pipeline/on_demand.rs`).

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_include::abi::{KernelEntry, Resources};
use clift_include::image::ArgFact;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::builtins::image::Facts;
use super::program::BuildError;

/// What code is specialized for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaunchFacts {
    /// The launch's images and samplers.
    pub(crate) images: Facts,
    /// Whether every group has one work-item.
    pub(crate) single_items: bool,
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
    /// Whether launches with groups of one work-item have a specialization.
    by_groups: bool,
    codes: Mutex<FxHashMap<LaunchFacts, Arc<LazySpecialization>>>,
}

impl fmt::Debug for Specializations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Specializations").field("codes", &self.codes).finish_non_exhaustive()
    }
}

/// With fewer groups in a row, one work-item after the other is faster than a pack of groups.
const LEAST_GROUPS: u64 = 6;

impl Specializations {
    /// The specializations of a kernel. If it accesses images, it has already been compiled for the facts `usual`.
    pub(crate) fn new(
        usual: Option<Facts>,
        code: Specialization,
        by_groups: bool,
        specialize: SpecializeFn,
    ) -> Specializations {
        let by_images = usual.is_some();
        let key = |images| LaunchFacts { images, single_items: false };
        let codes =
            usual.map(|images| (key(images), Arc::new(LazySpecialization::from(Ok(code))))).into_iter().collect();
        Specializations { specialize, by_images, by_groups, codes: Mutex::new(codes) }
    }

    /// The specialization for a launch, if it needs one: `images` are its image and sampler arguments by their offsets in the
    /// argument block, in ascending order; `local_size` and `num_groups` are its sizes.
    ///
    /// # Errors
    /// As for [`super::compile`]; the error names the kernel.
    pub fn get(
        &self,
        images: &[(u32, ArgFact)],
        local_size: [u64; 3],
        num_groups: [u64; 3],
    ) -> Result<Option<Specialization>, BuildError> {
        let single_items = self.by_groups && local_size == [1; 3] && num_groups[0] >= LEAST_GROUPS;
        if !self.by_images && !single_items {
            return Ok(None);
        }
        let facts = |single_items| LaunchFacts { images: Facts(images.to_vec()), single_items };
        if single_items {
            match self.made(facts(true)) {
                Ok(code) => return Ok(Some(code)),
                // It has been reported; the usual code takes such launches as well.
                Err(_) if !self.by_images => return Ok(None),
                Err(_) => {}
            }
        }
        self.made(facts(false)).map(Some)
    }

    fn made(&self, facts: LaunchFacts) -> Result<Specialization, BuildError> {
        let made = self.codes.lock().entry(facts.clone()).or_default().clone();
        made.get_or_init(|| {
            let started = Instant::now();
            let code = (self.specialize)(&facts);
            let micros = started.elapsed().as_micros() as u64;
            tracing::debug!(target: "clift::time", stage = "specialize", micros, "{facts:?}");
            if let Err(error) = &code {
                tracing::debug!("{facts:?}: {error}");
            }
            code
        })
        .clone()
    }
}
