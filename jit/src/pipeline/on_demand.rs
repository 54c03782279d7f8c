//! What is compiled when a launch first needs it: functions for other work-groups than most, and code for other images.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use clift_include::abi::Resources;
use clift_kir::{Function, KernelData, Module};

use super::PANIC;
use super::kernel::finish;
use super::module::{KernelHead, compile_kernels, expand_images};
use super::observer::Observer;
use crate::builtins::image::{self, Facts};
use crate::codegen::data::ProgramData;
use crate::codegen::{Backend, Deferred, Input, VectorCaps};
use crate::guard::guarded;
use crate::specialize::Specialization;
use crate::spmd::GroupFunction;
use crate::{BuildError, Options, spmd};

/// A kernel whose packed function is compiled: what serves the launches that this one does not take.
pub(super) struct KernelRest {
    /// The kernel at stage *canonical*, to be packed more narrowly.
    pub(super) module: Arc<Module>,
    /// Its index in the module.
    pub(super) kernel: usize,
    /// For any work-group.
    pub(super) general: GroupFunction,
    /// What launches provide for it.
    pub(super) resources: Resources,
    /// What compiles it.
    pub(super) backend: &'static dyn Backend,
    /// How it is built.
    pub(super) options: Options,
}

impl KernelRest {
    fn caps(&self) -> &VectorCaps {
        let Input::Legal(caps) = self.backend.input() else { unreachable!("broken invariant: interpreted on demand") };
        caps
    }

    fn finish(&self, made: &GroupFunction) -> Result<Function, BuildError> {
        finish(&mut Observer::new(&self.options, Instant::now()), &self.module, made, self.caps(), &self.options)
    }
}

impl fmt::Debug for KernelRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelRest").field("name", &self.general.func.name).finish_non_exhaustive()
    }
}

impl Deferred for KernelRest {
    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn general(&self) -> Result<Function, BuildError> {
        self.finish(&self.general)
    }

    fn narrower(&self, lanes: u32) -> Result<Option<(Function, Resources)>, BuildError> {
        let kernel = &self.module.kernels[self.kernel];
        let made = spmd::narrower(&self.module, kernel, &self.options, &self.caps().machine(), lanes)?;
        made.map(|made| Ok((self.finish(&made)?, made.resources))).transpose()
    }
}

/// A kernel that accesses images: the source of its code for the images of a launch.
pub(super) struct ImageKernel {
    name: String,
    /// The kernel, the only one of its module, at stage *canonical* with accesses to images.
    module: Module,
    data: Arc<ProgramData>,
    options: Options,
}

impl ImageKernel {
    /// The kernel of an index in the module `accesses`, if it accesses images. `width` is that of its code for the usual images.
    pub(super) fn new(
        name: &str,
        accesses: &Module,
        number: usize,
        data: Arc<ProgramData>,
        options: &Options,
        width: u32,
    ) -> Option<ImageKernel> {
        let kernel = accesses.kernels[number].clone();
        let func = &accesses.funcs[kernel.func];
        if !image::has_accesses(func) {
            return None;
        }
        let mut options = Options { dump: Vec::new(), ..options.clone() };
        if spmd::observes_sub_groups(func) {
            // What queries said of sub-groups stays true.
            options.width = Some(width);
        }
        let mut module = Module { globals: accesses.globals.clone(), ..Module::default() };
        let func = module.funcs.push(func.clone());
        module.kernels.push(KernelData { func, ..kernel });
        Some(ImageKernel { name: name.to_owned(), module, data, options })
    }

    /// The kernel's code for images and samplers as `facts` says.
    pub(super) fn compile(&self, facts: &Facts) -> Result<Specialization, BuildError> {
        guarded(PANIC, || {
            let mut observer = Observer::new(&self.options, Instant::now());
            let mut module = self.module.clone();
            let func = module.kernels[0].func;
            expand_images(&observer, &mut module, func, facts, &self.options)?;
            // Where the size of sub-groups matters, the options demand it already.
            let head = KernelHead { name: &self.name, sub_group_size: None };
            let (needs, executable) =
                compile_kernels(&mut observer, &Arc::new(module), &[head], &self.data, &self.options)?;
            let (Some(needs), Some(&entry)) = (needs.first(), executable.entries.first()) else {
                return Err(BuildError::Internal("a kernel without code".to_owned()));
            };
            Ok(Specialization { entry, resources: needs.resources, memory: executable.memory.clone() })
        })
    }
}
