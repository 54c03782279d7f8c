//! Code of one kernel for different launches: made when a launch first needs it, and kept.
//!
//! How an image is read depends on its format and the sampler, which only a launch knows ([`crate::builtins::image`]). A kernel that
//! accesses images keeps its canonical form and gets code for each combination of formats and samplers that it is launched with.
//! Programs use few. The build makes the usual one, which finds out whether there can be code at all and what the kernel needs.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_include::abi::{KernelEntry, Resources};
use clift_include::image::ArgFact;
use clift_kir::Module;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::builtins::image::{self, Facts};
use crate::codegen::data::ProgramData;
use crate::program::BuildError;
use crate::spirv::KernelDesc;
use crate::{Options, pipeline, spmd};

/// Code of a kernel for certain launches.
#[derive(Clone, Debug)]
pub struct Variant {
    /// How to run it.
    pub entry: KernelEntry,
    /// The memory it needs.
    pub resources: Resources,
    /// Keeps it alive; hold a clone while a launch may run.
    pub memory: Arc<dyn Any + Send + Sync>,
}

/// All code of a kernel that accesses images.
#[derive(Debug)]
pub struct Variants {
    name: String,
    /// The kernel, the only one of its module, at stage *canonical* with accesses to images.
    module: Module,
    data: Arc<ProgramData>,
    options: Options,
    made: Mutex<FxHashMap<Facts, Arc<Made>>>,
}

/// Code that is being made, or was.
type Made = OnceLock<Result<Variant, BuildError>>;

impl Variants {
    /// A kernel's, if it accesses images; `usual` is its code for what is usual.
    pub(crate) fn new(
        desc: &KernelDesc,
        accesses: &Module,
        number: usize,
        data: Arc<ProgramData>,
        options: &Options,
        usual: Variant,
    ) -> Option<Variants> {
        let kernel = accesses.kernels[number].clone();
        let func = &accesses.funcs[kernel.func];
        if !image::has_accesses(func) {
            return None;
        }
        let mut options = Options { dump: Vec::new(), ..options.clone() };
        if spmd::knows_sub_groups(func) {
            // What queries said of sub-groups stays true.
            options.width = Some(usual.resources.width);
        }
        let mut module = Module { globals: accesses.globals.clone(), ..Module::default() };
        let func = module.funcs.push(func.clone());
        module.kernels.push(clift_kir::KernelData { func, ..kernel });
        let made = [(Facts::usual(&desc.args), Arc::new(Made::from(Ok(usual))))].into_iter().collect();
        Some(Variants { name: desc.name.clone(), module, data, options, made: Mutex::new(made) })
    }

    /// The code for what a launch says of its image and sampler arguments, by their offsets in the argument block, ascending.
    ///
    /// # Errors
    /// As [`crate::compile`], about the kernel.
    pub fn get(&self, facts: &[(u32, ArgFact)]) -> Result<Variant, BuildError> {
        let facts = Facts(facts.to_vec());
        let made = self.made.lock().entry(facts.clone()).or_default().clone();
        made.get_or_init(|| self.make(&facts)).clone()
    }

    fn make(&self, facts: &Facts) -> Result<Variant, BuildError> {
        let started = Instant::now();
        let mut module = self.module.clone();
        for func in module.funcs.values_mut() {
            pipeline::for_images(func, facts, &self.options);
        }
        let made = pipeline::variant(&self.name, module, &self.data, &self.options);
        let micros = started.elapsed().as_micros() as u64;
        tracing::debug!(target: "clift::time", stage = "variant", kernel = self.name, micros, "{facts:?}");
        made
    }
}
