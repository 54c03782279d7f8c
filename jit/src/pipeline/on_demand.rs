//! Compilation on demand: functions for work-groups that the packed function does not take, and specializations for launches.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use clift_include::abi::Resources;
use clift_kir::{Function, KernelData, Module, Stage};

use super::PANIC;
use super::batch::{KernelRequest, compile_kernels};
use super::kernel::to_legal;
use super::module::{expand_images, finish_canonical, insert_constants};
use super::observer::StageObserver;
use crate::builtins::image;
use crate::codegen::data::ProgramData;
use crate::codegen::{AcceptedStage, Backend, LazySource, ShortPacks};
use crate::guard::guarded;
use crate::specialize::{CodeVariant, LaunchFacts, LaunchForm, Specialization};
use crate::spmd::{GroupFunction, Ids};
use crate::target::caps::VectorCaps;
use crate::{BuildError, Options, spmd};

/// Source of the lazily compiled functions of a kernel: those for launches that its packed function does not take.
pub(super) struct LazyKernelSource {
    /// The kernel at stage *canonical*, for versions with fewer lanes.
    pub(super) module: Arc<Module>,
    /// Its index in the module.
    pub(super) kernel: usize,
    /// The function for any work-group, unless it is made on demand.
    pub(super) general: Option<GroupFunction>,
    /// The function for work-groups as one row, if the kernel needs it.
    pub(super) one_row: Option<GroupFunction>,
    /// The resources that launches provide for it.
    pub(super) resources: Resources,
    /// The backend that compiles it.
    pub(super) backend: &'static dyn Backend,
    /// The options of the build.
    pub(super) options: Options,
}

impl LazyKernelSource {
    fn kernel(&self) -> &KernelData {
        &self.module.kernels[self.kernel]
    }

    fn caps(&self) -> &VectorCaps {
        let AcceptedStage::Legal(caps) = self.backend.accepted_stage() else {
            unreachable!("broken invariant: interpreted on demand")
        };
        caps
    }

    fn to_legal(&self, made: &GroupFunction) -> Result<Function, BuildError> {
        to_legal(&mut StageObserver::new(&self.options, Instant::now()), &self.module, made, self.caps(), &self.options)
    }
}

impl fmt::Debug for LazyKernelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyKernelSource")
            .field("name", &self.module.funcs[self.kernel().func].name)
            .finish_non_exhaustive()
    }
}

impl LazySource for LazyKernelSource {
    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn general(&self, ids: Ids) -> Result<Function, BuildError> {
        match &self.general {
            Some(made) => self.to_legal(made),
            None => {
                let machine = self.caps().machine();
                let lanes = self.resources.width;
                self.to_legal(&spmd::general(&self.module, self.kernel(), &self.options, &machine, lanes, ids)?)
            }
        }
    }

    fn depends_on_ids(&self) -> bool {
        self.general.is_none()
    }

    fn has_one_row(&self) -> bool {
        self.one_row.is_some()
    }

    fn one_row(&self) -> Result<Function, BuildError> {
        match &self.one_row {
            Some(made) => self.to_legal(made),
            None => self.general(Ids::Any),
        }
    }

    fn narrower(&self, packs: ShortPacks) -> Result<Option<(Function, Resources)>, BuildError> {
        let kernel = self.kernel();
        let machine = self.caps().machine();
        let made = if packs.lanes == self.resources.width {
            spmd::general_of_rows(&self.module, kernel, &self.options, &machine, packs.lanes)?
        } else {
            spmd::narrower(&self.module, kernel, &self.options, &machine, packs.lanes, packs.whole)?
        };
        made.map(|made| Ok((self.to_legal(&made)?, made.resources))).transpose()
    }
}

/// The source of a kernel's specializations.
pub(super) struct KernelSource {
    name: String,
    /// The kernel at stage *canonical*, with its image accesses, among others.
    module: Arc<Module>,
    /// The kernel as it was before anything was assumed of its launches, among others, if something may be.
    promoted: Option<Arc<Module>>,
    /// Its index in the modules.
    number: usize,
    data: Arc<ProgramData>,
    options: Options,
}

impl KernelSource {
    /// The kernel with the index `number` in the modules.
    pub(super) fn new(
        name: &str,
        module: Arc<Module>,
        promoted: Option<Arc<Module>>,
        number: usize,
        data: Arc<ProgramData>,
        options: &Options,
        usual_lanes: u32,
    ) -> KernelSource {
        let mut options = Options { dump: Vec::new(), ..options.clone() };
        if spmd::observes_sub_groups(&module.funcs[module.kernels[number].func]) {
            // Answers to earlier queries about sub-groups must stay true.
            options.width = Some(usual_lanes);
        }
        KernelSource { name: name.to_owned(), module, promoted, number, data, options }
    }

    /// Compiles the kernel for the launches that `facts` describes.
    pub(super) fn compile(&self, facts: &LaunchFacts) -> Result<Specialization, BuildError> {
        guarded(PANIC, || {
            // What is requested is compiled by the backend of packs, also with one lane.
            let (requested, rejects_packs) = match facts.variant {
                CodeVariant::Lanes(1) => (None, self.options.width.is_none()),
                CodeVariant::Lanes(lanes) => (Some(lanes), false),
                CodeVariant::PackBackend => (Some(1), false),
                CodeVariant::Usual | CodeVariant::AsGiven | CodeVariant::Transposed => (None, false),
            };
            let options = Options {
                single_items: facts.form == LaunchForm::SingleItems,
                width: self.options.width.or(requested),
                ..self.options.clone()
            };
            let mut observer = StageObserver::new(&options, Instant::now());
            let is_early = facts.overlap || facts.constants.is_some();
            let source = self.promoted.as_ref().filter(|_| is_early).unwrap_or(&self.module);
            let kernel = source.kernels[self.number].clone();
            let func = kernel.func;
            let is_other = |id| id != func && source.kernels.iter().any(|kernel| kernel.func == id);
            // The numbers of functions stay.
            let funcs = source.funcs.iter().map(|(id, func)| {
                if is_other(id) {
                    Function { stage: func.stage, ..Function::new(func.name.clone(), &[]) }
                } else {
                    func.clone()
                }
            });
            let mut module = Module { funcs: funcs.collect(), globals: source.globals.clone(), kernels: vec![kernel] };
            if let Some(constants) = &facts.constants
                && module.funcs[func].stage == Stage::Imported
            {
                let noalias_args = &self.module.funcs[func].noalias_args;
                module.funcs[func].noalias_args = if facts.overlap { Vec::new() } else { noalias_args.clone() };
                insert_constants(&observer, &mut module, func, constants)?;
            }
            if module.funcs[func].stage == Stage::Imported {
                finish_canonical(&observer, &mut module, func, &options)?;
            }
            if image::has_accesses(&module.funcs[func]) {
                expand_images(&observer, &mut module, func, &facts.images, &options)?;
            }
            let exchange = match facts.form {
                LaunchForm::AsGiven | LaunchForm::SingleItems => None,
                LaunchForm::Transposed(exchange) => Some(exchange),
            };
            if let Some(exchange) = exchange {
                let Some(made) = spmd::transposed_items::run(&module.funcs[func], exchange) else {
                    return Err(BuildError::Internal("the kernel cannot be transposed".to_owned()));
                };
                module.funcs[func] = made;
                module.kernels[0] = spmd::transposed_items::kernel(&module.kernels[0], exchange);
            }
            // If the sub-group size matters, the options already require one.
            let one_lane = rejects_packs.then_some("launches that repeat are tried with one lane");
            let head = KernelRequest { name: &self.name, sub_group_size: None, one_lane };
            let compiled = compile_kernels(&mut observer, &Arc::new(module), &[head], &self.data, &options)?;
            let (Some(needs), Some(&entry)) = (compiled.needs.first(), compiled.entries.first()) else {
                return Err(BuildError::Internal("the backend returned no entry".to_owned()));
            };
            let memory = compiled.memory.clone();
            Ok(Specialization { entry, resources: needs.resources, memory, exchange })
        })
    }
}
