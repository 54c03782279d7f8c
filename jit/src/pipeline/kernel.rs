//! The stages of one kernel after *canonical*: work-items to loops and lanes, cleanup, legalization.

use std::sync::Arc;

use clift_include::abi::Resources;
use clift_kir::{Function, KernelData, Module, Stage};

use super::backends::Backends;
use super::observer::StageObserver;
use super::on_demand::LazyKernelSource;
use crate::codegen::{AcceptedStage, KernelFunction, constant_tables, demote, legalize};
use crate::spmd::report::VectorizationReport;
use crate::spmd::{Ids, PackCosts};
use crate::target::caps::VectorCaps;
use crate::{BuildError, Options, passes, spmd};

/// Runs the stages of one kernel. It gets one lane if `one_lane` gives a reason.
pub(super) fn compile(
    observer: &mut StageObserver<'_>,
    module: &Arc<Module>,
    number: usize,
    backends: Backends,
    options: &Options,
    one_lane: Option<&str>,
) -> Result<StagedKernel, BuildError> {
    let narrowed = one_lane.map(|_| Options { width: Some(1), ..options.clone() });
    let options = narrowed.as_ref().unwrap_or(options);
    let kernel = &module.kernels[number];
    let machine = backends.machine();
    // Most launches consist of whole packs and need only the packed function. A dump must contain the general one too.
    let with_general = options.dumps_code();
    let groups = match module.funcs[kernel.func].stage {
        Stage::Looped => already_looped(module, kernel),
        _ => spmd::group_functions(module, kernel, options, &machine, with_general)?,
    };
    let all = [&groups.general, &groups.packed, &groups.one_row];
    let mut made = all.into_iter().flatten();
    let first = made.next().ok_or_else(|| BuildError::Internal("a kernel without a function".to_owned()))?;
    let mut needs = KernelNeeds {
        resources: made.map(|made| made.resources).fold(first.resources, Resources::max),
        private_bytes: first.private_bytes,
        has_barrier: first.has_barrier,
        report: groups.report,
        costs: groups.costs,
        has_other_backend: false,
    };
    if !needs.resources.packs_of_groups {
        let (width, runs) = (needs.resources.width, needs.report.accesses_runs());
        needs.resources.coalesced_row = spmd::coalesced_row(&module.funcs[kernel.func], kernel, width, runs);
    }
    if let Some(reason) = one_lane {
        needs.report = VectorizationReport { scalar: Some(reason.to_owned()), ..needs.report };
    }
    let scalar = needs.resources.width == 1 && (one_lane.is_some() || options.width != Some(1));
    // Vectors that fill long registers need the backend that has them.
    let scalar = scalar && !needs.report.has_vectorized_loops();
    let scalar = scalar && (one_lane.is_some() || !spmd::has_long_vectors(&module.funcs[kernel.func], &machine));
    let backend = if scalar { backends.scalars } else { backends.packs };
    needs.has_other_backend = scalar && backends.packs.name() != backends.scalars.name();
    let AcceptedStage::Legal(caps) = backend.accepted_stage() else {
        // The reference interpreter executes work-items one by one, in sub-groups of any size.
        let least = if spmd::observes_sub_groups(&module.funcs[kernel.func]) { spmd::LEAST_SUB_GROUP } else { 1 };
        let size = options.width.unwrap_or(least);
        needs.resources.width = size;
        return Ok(StagedKernel { needs, scalar, general: KernelFunction::Canonical(kernel.func, size), packed: None });
    };
    let packed = groups.packed.map(|made| to_legal(observer, module, &made, caps, options)).transpose()?;
    let general = if packed.is_some() && !options.dumps_code() {
        if cfg!(debug_assertions) {
            for made in groups.general.iter().chain(&groups.one_row) {
                to_legal(observer, module, made, caps, options)?;
            }
            for ids in [Ids::Any, Ids::Bounded].into_iter().filter(|_| groups.general.is_none()) {
                let made = spmd::general(module, kernel, options, &machine, needs.resources.width, ids)?;
                to_legal(observer, module, &made, caps, options)?;
            }
        }
        KernelFunction::Lazy(Box::new(LazyKernelSource {
            module: module.clone(),
            kernel: number,
            general: groups.general,
            one_row: groups.one_row,
            resources: needs.resources,
            backend,
            options: options.clone(),
        }))
    } else {
        let general = groups.one_row.or(groups.general);
        let general = general.ok_or_else(|| BuildError::Internal("a kernel without a function".to_owned()))?;
        KernelFunction::Legal(Box::new(to_legal(observer, module, &general, caps, options)?))
    };
    Ok(StagedKernel { needs, scalar, general, packed })
}

/// The last stages before the backend: from *looped* to *legal*.
pub(super) fn to_legal(
    observer: &mut StageObserver<'_>,
    module: &Module,
    made: &spmd::GroupFunction,
    caps: &VectorCaps,
    options: &Options,
) -> Result<Function, BuildError> {
    if let Some(widened) = &made.widened {
        observer.function("widened", module, widened)?;
    }
    looped_to_legal(observer, module, made.func.clone(), caps, options)
}

/// The last stages of a function that is *looped*.
pub(super) fn looped_to_legal(
    observer: &mut StageObserver<'_>,
    module: &Module,
    mut func: Function,
    caps: &VectorCaps,
    options: &Options,
) -> Result<Function, BuildError> {
    observer.function("looped", module, &func)?;
    observer.passes(module, &mut func, |func, after| passes::clean(func, &module.globals, options, after))?;
    if !options.opt_disable {
        constant_tables::run(&mut func, module, caps);
    }
    observer.function("clean", module, &func)?;
    let mut legal = legalize::run(&func, caps);
    observer.function("legal", module, &legal)?;
    demote::run(&mut legal, caps.demotion);
    observer.function("demoted", module, &legal)?;
    Ok(legal)
}

/// A kernel that is already looped: one function for all groups.
fn already_looped(module: &Module, kernel: &KernelData) -> spmd::GroupFunctions {
    let general = spmd::GroupFunction {
        func: module.funcs[kernel.func].clone(),
        widened: None,
        resources: Resources { arg_block_bytes: kernel.arg_block_bytes, width: 1, ..Resources::default() },
        private_bytes: 0,
        has_barrier: false,
    };
    spmd::GroupFunctions {
        general: Some(general),
        packed: None,
        one_row: None,
        report: VectorizationReport::scalar("handwritten kernel IR"),
        costs: None,
    }
}

/// A kernel after its stages: its requirements, and its legal functions if the backend takes those.
pub(super) struct StagedKernel {
    pub(super) needs: KernelNeeds,
    /// Whether it has one lane per pack and goes to the backend for such kernels.
    pub(super) scalar: bool,
    pub(super) general: KernelFunction,
    pub(super) packed: Option<Function>,
}

/// What a kernel requires of its launches, and the vectorizer's report.
pub(super) struct KernelNeeds {
    pub(super) resources: Resources,
    pub(super) private_bytes: u64,
    pub(super) has_barrier: bool,
    pub(super) report: VectorizationReport,
    /// What its packs cost, if it has several dimensions.
    pub(super) costs: Option<PackCosts>,
    /// Whether it has one lane, and the backend of packs could compile it as well.
    pub(super) has_other_backend: bool,
}
