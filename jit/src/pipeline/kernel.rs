//! The stages of one kernel behind *canonical*: work-items to loops and lanes, cleaning, legalization.

use std::sync::Arc;

use clift_include::abi::Resources;
use clift_kir::{Function, KernelData, Module, Stage};

use super::backends::Backends;
use super::observer::Observer;
use super::on_demand::KernelRest;
use crate::codegen::{Body, Input, VectorCaps, legalize};
use crate::spmd::report::VectorizationReport;
use crate::{BuildError, Options, passes, spmd};

/// The stages that work on one kernel.
pub(super) fn compile(
    observer: &mut Observer<'_>,
    module: &Arc<Module>,
    number: usize,
    backends: Backends,
    options: &Options,
) -> Result<Made, BuildError> {
    let kernel = &module.kernels[number];
    let machine = backends.machine();
    let groups = match module.funcs[kernel.func].stage {
        Stage::Looped => by_hand(module, kernel),
        _ => spmd::group_functions(module, kernel, options, &machine)?,
    };
    let packed = groups.packed.as_ref().map(|packed| packed.resources);
    let general = &groups.general;
    let mut needs = Needs {
        resources: packed.map_or(general.resources, |packed| general.resources.max(packed)),
        private_bytes: general.private_bytes,
        has_barrier: general.has_barrier,
        report: groups.report,
    };
    needs.resources.may_coalesce_groups =
        needs.report.accesses_runs() && spmd::may_coalesce_groups(&module.funcs[kernel.func], kernel);
    let scalar = needs.resources.width == 1 && options.width != Some(1);
    let backend = if scalar { backends.scalars } else { backends.packs };
    let Input::Legal(caps) = backend.input() else {
        // The reference interpreter steps work-items, in sub-groups of any size.
        let size = options.width.unwrap_or(1);
        needs.resources.width = size;
        return Ok(Made { needs, scalar, general: Body::Canonical(kernel.func, size), packed: None });
    };
    let packed = groups.packed.map(|made| finish(observer, module, &made, caps, options)).transpose()?;
    // Most launches have whole packs only. What is asked to be seen has to be there, though.
    let general = if packed.is_some() && options.dump.is_empty() {
        if cfg!(debug_assertions) {
            finish(observer, module, &groups.general, caps, options)?;
        }
        Body::Deferred(Box::new(KernelRest {
            module: module.clone(),
            kernel: number,
            general: groups.general,
            resources: needs.resources,
            backend,
            options: options.clone(),
        }))
    } else {
        Body::Legal(Box::new(finish(observer, module, &groups.general, caps, options)?))
    };
    Ok(Made { needs, scalar, general, packed })
}

/// The last stages before a backend's own: from *looped* to *legal*.
pub(super) fn finish(
    observer: &mut Observer<'_>,
    module: &Module,
    made: &spmd::GroupFunction,
    caps: &VectorCaps,
    options: &Options,
) -> Result<Function, BuildError> {
    if let Some(widened) = &made.widened {
        observer.function("widened", module, widened)?;
    }
    let mut func = made.func.clone();
    observer.function("looped", module, &func)?;
    observer.passes(module, &mut func, |func, after| passes::clean(func, options, after))?;
    observer.function("clean", module, &func)?;
    let legal = legalize::run(&func, caps);
    observer.function("legal", module, &legal)?;
    Ok(legal)
}

/// A kernel that is looped already: one function for all groups.
fn by_hand(module: &Module, kernel: &KernelData) -> spmd::GroupFunctions {
    let general = spmd::GroupFunction {
        func: module.funcs[kernel.func].clone(),
        widened: None,
        resources: Resources { arg_block_bytes: kernel.arg_block_bytes, width: 1, ..Resources::default() },
        private_bytes: 0,
        has_barrier: false,
    };
    spmd::GroupFunctions { general, packed: None, report: VectorizationReport::scalar("made by hand") }
}

/// What the stages make of a kernel: what it needs, and its legal functions where the backend wants them.
pub(super) struct Made {
    pub(super) needs: Needs,
    /// Whether it has one lane, and is for the backend of such kernels.
    pub(super) scalar: bool,
    pub(super) general: Body,
    pub(super) packed: Option<Function>,
}

/// What a kernel needs of its launches, and what was done with it.
pub(super) struct Needs {
    pub(super) resources: Resources,
    pub(super) private_bytes: u64,
    pub(super) has_barrier: bool,
    pub(super) report: VectorizationReport,
}
