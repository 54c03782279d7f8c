//! Specialization: code of one kernel for certain facts of a launch, compiled when a launch first needs it, and cached.
//!
//! The code that reads an image depends on the image's format and on the sampler, and only a launch knows those
//! ([`crate::builtins::image`]). A kernel that accesses images is kept in canonical form. It is compiled once for each
//! combination of formats and samplers that it is launched with; programs use few. The build itself compiles the most common
//! combination. That finds errors early and determines the resources of the kernel.
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
type SpecializeFn = Box<dyn Fn(&Facts) -> Result<Specialization, BuildError> + Send + Sync>;

/// A specialization that is compiled on first use.
type LazySpecialization = OnceLock<Result<Specialization, BuildError>>;

/// All specializations of a kernel that accesses images.
pub struct Specializations {
    specialize: SpecializeFn,
    codes: Mutex<FxHashMap<Facts, Arc<LazySpecialization>>>,
}

impl fmt::Debug for Specializations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Specializations").field("codes", &self.codes).finish_non_exhaustive()
    }
}

impl Specializations {
    /// The specializations of a kernel that has already been compiled for the facts `usual`.
    pub(crate) fn new(usual: Facts, code: Specialization, specialize: SpecializeFn) -> Specializations {
        let codes = [(usual, Arc::new(LazySpecialization::from(Ok(code))))].into_iter().collect();
        Specializations { specialize, codes: Mutex::new(codes) }
    }

    /// The specialization for the facts of a launch: its image and sampler arguments by their offsets in the argument block, in
    /// ascending order.
    ///
    /// # Errors
    /// As for [`super::compile`]; the error names the kernel.
    pub fn get(&self, facts: &[(u32, ArgFact)]) -> Result<Specialization, BuildError> {
        let facts = Facts(facts.to_vec());
        let made = self.codes.lock().entry(facts.clone()).or_default().clone();
        made.get_or_init(|| {
            let started = Instant::now();
            let code = (self.specialize)(&facts);
            let micros = started.elapsed().as_micros() as u64;
            tracing::debug!(target: "clift::time", stage = "specialize", micros, "{facts:?}");
            code
        })
        .clone()
    }
}
