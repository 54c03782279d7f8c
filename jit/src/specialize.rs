//! Code of one kernel for different launches: made when a launch first needs it, and kept.
//!
//! How an image is read depends on its format and the sampler, which only a launch knows ([`crate::builtins::image`]). A kernel that
//! accesses images keeps its canonical form and gets code for each combination of formats and samplers that it is launched with.
//! Programs use few. The build makes the usual one, which finds out whether there can be code at all and what the kernel needs.
//!
//! Deliberately not here: how the code is made (`pipeline/on_demand.rs`).

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

/// Code of a kernel for certain launches.
#[derive(Clone, Debug)]
pub struct Specialization {
    /// How to run it.
    pub entry: KernelEntry,
    /// The memory it needs.
    pub resources: Resources,
    /// Keeps it alive; hold a clone while a launch may run.
    pub memory: Arc<dyn Any + Send + Sync>,
}

/// Makes the code for given facts.
type Make = Box<dyn Fn(&Facts) -> Result<Specialization, BuildError> + Send + Sync>;

/// Code that is being made, or was.
type Made = OnceLock<Result<Specialization, BuildError>>;

/// All code of a kernel that accesses images.
pub struct Specializations {
    make: Make,
    made: Mutex<FxHashMap<Facts, Arc<Made>>>,
}

impl fmt::Debug for Specializations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Specializations").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Specializations {
    /// Those of a kernel that has its code for the facts `usual` already.
    pub(crate) fn new(usual: Facts, code: Specialization, make: Make) -> Specializations {
        let made = [(usual, Arc::new(Made::from(Ok(code))))].into_iter().collect();
        Specializations { make, made: Mutex::new(made) }
    }

    /// The code for what a launch says of its image and sampler arguments, by their offsets in the argument block, ascending.
    ///
    /// # Errors
    /// As [`super::compile`], about the kernel.
    pub fn get(&self, facts: &[(u32, ArgFact)]) -> Result<Specialization, BuildError> {
        let facts = Facts(facts.to_vec());
        let made = self.made.lock().entry(facts.clone()).or_default().clone();
        made.get_or_init(|| {
            let started = Instant::now();
            let code = (self.make)(&facts);
            let micros = started.elapsed().as_micros() as u64;
            tracing::debug!(target: "clift::time", stage = "specialize", micros, "{facts:?}");
            code
        })
        .clone()
    }
}
