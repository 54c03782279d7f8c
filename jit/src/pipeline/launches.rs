//! Which launches of a kernel get code of their own, and how that is made ([`crate::specialize`]).

use std::any::Any;
use std::sync::Arc;

use clift_include::abi::KernelEntry;
use clift_include::exchange::Exchange;
use clift_kir::{Function, Module, Opcode, Stage};

use super::backends::Backends;
use super::kernel::KernelNeeds;
use super::observer::StageObserver;
use super::on_demand::KernelSource;
use crate::builtins::image::{self, Facts};
use crate::codegen::data::ProgramData;
use crate::specialize::{
    CodeVariant, Columns, DecidingConstants, LaunchFacts, PacksOfGroups, Specialization, Specializations, Transposition,
};
use crate::spirv::KernelDesc;
use crate::{BackendChoice, Options, spmd};

/// A module from which code for launches is made.
pub(super) struct LaunchSources<'a> {
    /// The module at stage *canonical*, with images expanded for the usual formats.
    pub(super) module: &'a Arc<Module>,
    /// The same with accesses to images, if it has any.
    pub(super) accesses: Option<&'a Arc<Module>>,
    /// The module before anything was assumed of launches, if that may matter.
    pub(super) promoted: Option<&'a Arc<Module>>,
    pub(super) data: &'a Arc<ProgramData>,
    pub(super) options: &'a Options,
}

/// A kernel whose usual code is compiled.
pub(super) struct CompiledKernel<'a> {
    pub(super) desc: &'a KernelDesc,
    /// Its place in the module.
    pub(super) number: usize,
    pub(super) needs: &'a KernelNeeds,
    pub(super) entry: KernelEntry,
    /// Keeps the code alive.
    pub(super) memory: &'a Arc<dyn Any + Send + Sync>,
    /// Whether the code takes accesses through different arguments for independent.
    pub(super) assumes_separate_args: bool,
    /// Which constants of launches decide how its code could be.
    pub(super) deciding: DecidingConstants,
}

/// What launches of a kernel may have.
pub(super) struct KernelLaunches {
    /// Code for certain launches.
    pub(super) specializations: Option<Arc<Specializations>>,
    /// Whether work-groups should be tiles where the driver chooses their size.
    pub(super) prefers_tiles: bool,
}

impl LaunchSources<'_> {
    /// Finds which launches of a kernel get code of their own.
    pub(super) fn of(&self, observer: &mut StageObserver<'_>, kernel: CompiledKernel<'_>) -> KernelLaunches {
        let CompiledKernel { desc, number, needs, mut deciding, .. } = kernel;
        let LaunchSources { module, options, .. } = *self;
        let accesses =
            self.accesses.filter(|accesses| image::has_accesses(&accesses.funcs[accesses.kernels[number].func]));
        // Child kernels are launched by kernels, with the code that they have.
        let forms =
            if desc.is_child { LaunchForms::default() } else { LaunchForms::of(module, number, needs, options) };
        if let Some(how) = forms.transposed.filter(|how| how.is_faster) {
            observer.report_transposed(&desc.name, how);
        }
        if may_be_specialized(desc, options) && options.width.is_none() && deciding.instructions > 0 {
            deciding.rejected_lanes = needs.report.rejected_lanes;
            let lanes = needs.report.untried_lanes.iter().map(|&lanes| CodeVariant::Lanes(lanes));
            let other_form =
                |how: Transposition| if how.is_faster { CodeVariant::AsGiven } else { CodeVariant::Transposed };
            let other_form = forms.transposed.map(other_form);
            let backend = needs.has_other_backend.then_some(CodeVariant::PackBackend);
            deciding.alternatives = other_form.into_iter().chain(lanes).chain(backend).collect();
        }
        let promoted = self.promoted.filter(|_| kernel.assumes_separate_args || !deciding.is_empty());
        let any = accesses.is_some() || promoted.is_some() || !deciding.is_empty() || forms.any();
        let specializations = any.then(|| {
            let (entry, resources, memory) = (kernel.entry, needs.resources, kernel.memory.clone());
            let usual = Specialization { entry, resources, memory, exchange: None };
            let source = accesses.unwrap_or(module).clone();
            let (data, lanes) = (self.data.clone(), needs.resources.width);
            let source = KernelSource::new(&desc.name, source, promoted.cloned(), number, data, options, lanes);
            let make = Box::new(move |facts: &LaunchFacts| source.compile(facts));
            let images = accesses.map(|_| Facts::default_for(&desc.args));
            let LaunchForms { by_groups, transposed, columns, .. } = forms;
            Arc::new(Specializations::new(images, usual, by_groups, transposed, columns, deciding, make))
        });
        KernelLaunches { specializations, prefers_tiles: forms.prefers_tiles }
    }
}

/// Whether launches of a kernel may get code of their own to be faster.
pub(super) fn may_be_specialized(desc: &KernelDesc, options: &Options) -> bool {
    !options.opt_disable && options.checks.is_empty() && options.backend != BackendChoice::Interp && !desc.is_child
}

/// The forms that launches of a kernel may have besides the usual one.
struct LaunchForms {
    by_groups: PacksOfGroups,
    transposed: Option<Transposition>,
    columns: Columns,
    prefers_tiles: bool,
}

impl Default for LaunchForms {
    fn default() -> LaunchForms {
        let by_groups = PacksOfGroups::Never;
        LaunchForms { by_groups, transposed: None, columns: Columns::default(), prefers_tiles: false }
    }
}

impl LaunchForms {
    fn of(module: &Module, number: usize, needs: &KernelNeeds, options: &Options) -> LaunchForms {
        let transposed = gains_from_transposition(module, number, needs, options);
        LaunchForms {
            by_groups: gains_from_packs_of_groups(module, number, needs, options),
            transposed,
            columns: columns(module, number, needs, options),
            prefers_tiles: !transposed.is_some_and(|how| how.is_faster) && gains_from_tiles(module, number, options),
        }
    }

    /// Whether there are other forms, which take code of their own.
    fn any(&self) -> bool {
        self.by_groups == PacksOfGroups::Always
            || self.transposed.is_some_and(|how| how.is_faster)
            || !self.columns.exchanges.is_empty()
    }
}

/// Whether a kernel should have code for launches with groups of one work-item, in which packs are made of neighbouring groups.
fn gains_from_packs_of_groups(module: &Module, number: usize, needs: &KernelNeeds, options: &Options) -> PacksOfGroups {
    let kernel = &module.kernels[number];
    let required = kernel.required_local_size;
    // What keeps a kernel without barriers and local memory from having packs does so in all launches.
    let other = required == Some([1; 3]) || needs.has_barrier || needs.resources.local_bytes > 0;
    let has_packs = needs.report.scalar.is_none() || other;
    let can = options.backend != BackendChoice::Interp
        && !options.opt_disable
        && !options.checks.concern_groups()
        && options.width.is_none_or(|width| width > 1)
        && required.is_none_or(|sizes| sizes == [1; 3])
        && (has_packs || needs.report.rejected_lanes.is_some())
        && module.funcs[kernel.func].stage == Stage::Canonical
        && !calls_functions(&module.funcs[kernel.func])
        && spmd::can_pack_groups(module, &module.funcs[kernel.func]);
    match (can, has_packs) {
        (false, _) => PacksOfGroups::Never,
        (true, false) => PacksOfGroups::WithRejectedLanes,
        (true, true) => PacksOfGroups::Always,
    }
}

/// Whether a function calls others. Such kernels have one lane in all launches.
fn calls_functions(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| func.dfg.inst(inst).op == Opcode::Call)
}

/// How launches of a kernel should be transposed, if it should have code for that or may be tried with it.
fn gains_from_transposition(
    module: &Module,
    number: usize,
    needs: &KernelNeeds,
    options: &Options,
) -> Option<Transposition> {
    let kernel = &module.kernels[number];
    let func = &module.funcs[kernel.func];
    let usual = needs.costs?;
    let machine = Backends::choose(options).ok()?.machine();
    if !dimensions_matter(module, number, options) {
        return None;
    }
    let mut possible = None;
    for exchange in Exchange::ALL {
        let how = spmd::gains_from_transposition(func, kernel, usual, exchange, options, &machine);
        if how.is_some_and(|how| how.is_faster) {
            return how;
        }
        // Where the elements of all dimensions are apart, those of the last one are mostly the nearest.
        possible = how.or(possible);
    }
    possible
}

/// How launches of a kernel may be transposed whose rows have one work-item.
fn columns(module: &Module, number: usize, needs: &KernelNeeds, options: &Options) -> Columns {
    let kernel = &module.kernels[number];
    let func = &module.funcs[kernel.func];
    let is_column = |[x, y, z]: [u64; 3]| x == 1 && y.max(z) > 1;
    let has_packs = needs.resources.width > 1 || kernel.required_local_size.is_some_and(is_column);
    if !has_packs || !dimensions_matter(module, number, options) || calls_functions(func) {
        return Columns::default();
    }
    let may = |exchange: &Exchange| spmd::transposed_items::is_possible(func, *exchange);
    let coalesces = needs.resources.coalesced_row > 0;
    Columns { exchanges: Exchange::ALL.into_iter().filter(may).collect(), coalesces }
}

/// Whether the work-groups of a kernel should be tiles where the driver chooses their size.
fn gains_from_tiles(module: &Module, number: usize, options: &Options) -> bool {
    dimensions_matter(module, number, options) && spmd::gains_from_tiles(&module.funcs[module.kernels[number].func])
}

/// Whether the order in which a kernel's work-items are executed may be chosen for speed.
fn dimensions_matter(module: &Module, number: usize, options: &Options) -> bool {
    options.backend != BackendChoice::Interp
        && !options.opt_disable
        && options.checks.is_empty()
        && options.width.is_none_or(|width| width > 1)
        && module.funcs[module.kernels[number].func].stage == Stage::Canonical
}
