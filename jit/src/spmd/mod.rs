//! Turns a kernel written for one work-item into functions that run whole work-groups.
//!
//! [`group_functions`] takes a kernel at stage *canonical* and returns functions with the signature of
//! [`clift_include::abi::GroupRunFn`] at stage *looped*: each runs a number of work-groups with all of their work-items.
//!
//! First work-items become lanes, then packs of lanes become the bodies of loops:
//!
//! - [`analysis`]: facts about values and control flow. `shape.rs` and `divergence.rs` find the values that the work-items share
//!   and the divergent branches; `transfer.rs`, `affine.rs`, `known_bits.rs` and `ranges.rs` follow affine values through index
//!   arithmetic; `assumptions.rs` lists what a run-time test of a pack can establish; `spin_loops.rs` finds loops in which a lane
//!   would wait for another lane of its pack for ever.
//! - `cost`: how many lanes a pack has, or why only one. `width.rs` chooses; the other files estimate.
//! - `transform`: rewrites of one work-item's code. `normalize.rs` brings a kernel into normal form; `index_widening.rs`,
//!   `record_access.rs`, `row_loops.rs` and `versioning.rs` make accesses contiguous; `single_lane_regions.rs` keeps what one
//!   lane executes as scalar code; `sink_under_guards.rs` moves code behind guards; `yields.rs` lets sub-groups that wait give
//!   way to others;
//!   `single_item_groups.rs` prepares a kernel for work-groups of one work-item, `one_row_groups.rs` for those that are one
//!   row, `transposed_items.rs` for launches with x and another dimension exchanged; `private_arrays.rs` chooses the layout of
//!   private variables; `one_lane.rs`, `superwords.rs` and `loop_vectorizer` find vectors in kernels with one lane, for which
//!   `rolled_loops.rs` keeps loops from being unrolled. `loop_counters.rs` and `unroll_and_jam.rs` are the exceptions: they run
//!   on the code of a pack.
//! - `vectorize`: the code of a pack. `order.rs`, `linearize.rs` and `masks.rs` plan the order of blocks and the masks; `widen`
//!   emits the code, with `aggregated_atomics.rs` for atomics of all lanes. From here on a pack takes the place of a work-item.
//! - `workgroup`: the loops over packs. `regions.rs` cuts the code at barriers, `named_barriers.rs` and `collectives.rs` handle
//!   named barriers and operations of a work-group, `private.rs` and `context.rs` decide what a work-item keeps between regions
//!   and where, `env.rs` computes sizes, ids, arguments and addresses, and `loops.rs` copies the regions and puts loops around
//!   them.
//! - `class.rs`: what the work-group loops do with each op, by class.
//! - [`report`]: what the vectorizer did, for the build log.
//!
//! A kernel gets up to two group functions. The *general* one takes any work-group; lanes beyond the end of a row are masked off.
//! The *packed* one exists when packs have several lanes, and takes launches whose rows are whole packs; the general one is then
//! made when a launch needs it, unless it may need more memory ([`general`]). Kernels with sub-groups get a third one, for
//! work-groups of several rows that are not whole packs. Launches with short rows may need more of them ([`narrower`],
//! [`general_of_rows`]). `docs/spmd.md` explains the scheme with a drawing.

pub mod analysis;
mod class;
mod cost;
pub mod report;
mod transform;
mod vectorize;
mod workgroup;

use clift_include::abi::Resources;
use clift_include::exchange::Exchange;
use clift_kir::{Function, KernelData, Module, verify};

use super::{BackendChoice, BuildError, Options, passes};
use crate::specialize::Transposition;
use crate::target::machine::Machine;
use cost::other_form::OtherForm;
pub(crate) use cost::other_form::PackCosts;
pub(crate) use cost::width::LEAST_SUB_GROUP;
use cost::width::{Chance, RowLengths, Width, uses_other_dimensions};
use report::VectorizationReport;
use transform::normalize::KnownOfPacks;
pub(crate) use transform::rolled_loops;
pub(crate) use transform::single_item_groups::is_possible as can_pack_groups;
use transform::single_lane_regions::{self, Vectorizer};
pub(crate) use transform::transposed_items;
pub(crate) use transform::yields;
use transform::{
    clamped_loads, loop_counters, normalize, one_lane, one_row_groups, single_item_groups, unroll_and_jam, versioning,
};
use vectorize::widen;
pub(crate) use workgroup::called::run as called_function;
pub(crate) use workgroup::collectives::{coalesced_row, observes_sub_groups};
use workgroup::{Packing, collectives, context, env, loops, regions};

/// A function that runs whole work-groups of a kernel.
#[derive(Clone, Debug)]
pub struct GroupFunction {
    /// Stage *looped*; entry parameters are context, argument block, first group, group count.
    pub func: Function,
    /// The code of a pack from which the loops were made, at stage *widened*; only when packs have several lanes.
    pub widened: Option<Function>,
    /// The memory that the function needs.
    pub resources: Resources,
    /// Bytes of private variables per work-item that stay in memory.
    pub private_bytes: u64,
    /// Whether the kernel has a work-group barrier.
    pub has_barrier: bool,
}

/// The group functions of a kernel.
#[derive(Clone, Debug)]
pub struct GroupFunctions {
    /// Takes any work-group. `None` if it is made on demand, by [`general`]: it needs no more memory than the packed one.
    pub general: Option<GroupFunction>,
    /// Takes work-groups whose rows are whole packs. Present only when a pack has several lanes. See
    /// [`clift_include::abi::KernelEntry::packed`] for its full contract.
    pub packed: Option<GroupFunction>,
    /// Takes any work-group as one row. Present only when packs have several lanes and the kernel can observe which work-items
    /// are a sub-group; then it has to take the work-groups of several rows that are not whole packs.
    pub one_row: Option<GroupFunction>,
    /// What the vectorizer did.
    pub report: VectorizationReport,
    /// What the kernel's packs cost, if it has several dimensions.
    pub(crate) costs: Option<PackCosts>,
}

/// Whether the values that a kernel computes are mostly vectors that fill half of a long register at least.
pub(crate) fn has_long_vectors(func: &Function, machine: &Machine) -> bool {
    cost::width::long_vectors(func, machine).is_some()
}

/// Makes the group functions of a kernel; that for any work-group only if it may need more memory than the packed one, or if
/// `with_general`.
///
/// # Errors
/// [`BuildError::Limit`] when private or local variables overflow any address space.
pub fn group_functions(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    with_general: bool,
) -> Result<GroupFunctions, BuildError> {
    make(module, kernel, options, machine, (regions::Growth::default(), with_general))
}

/// The global ids of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// They may have any size.
    Any,
    /// As [`clift_include::abi::has_bounded_ids`] says.
    Bounded,
}

/// The group function for any work-group of a kernel for which [`group_functions`] does not make it, with the same number of
/// lanes. Indices that are computed with 32 bits are understood only where ids are bounded.
///
/// # Errors
/// [`BuildError::Internal`] if it needs more memory than the packed one.
pub fn general(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    lanes: u32,
    ids: Ids,
) -> Result<GroupFunction, BuildError> {
    let func = &module.funcs[kernel.func];
    let maker = Maker { module, kernel, options, machine, groups: false, growth: regions::Growth::default() };
    let options = Options { width: Some(lanes), ..options.clone() };
    let made = match Width::choose(func, RowLengths::of(kernel), &options, machine) {
        Width::Packs(lanes, normal, ..) => {
            let rows = Rows::any(ids);
            // Where ids may have any size, few checks could succeed.
            let versions = match ids {
                Ids::Bounded if lanes > 1 => versioning::run(&normal, lanes, rows.known()),
                Ids::Bounded | Ids::Any => None,
            };
            maker.packs(versions.as_ref().unwrap_or(&normal), lanes, rows)?.0
        }
        Width::Scalar(_) | Width::Unprofitable(..) => maker.scalar(func)?.0,
    };
    if may_be_made_on_demand(&made) {
        Ok(made)
    } else {
        Err(BuildError::Internal("the function for any work-group needs more memory than the packed one".to_owned()))
    }
}

/// Whether the general function is made on demand if this is the packed one: its needs are known without it.
fn may_be_made_on_demand(packed: &GroupFunction) -> bool {
    let Resources { scratch_fixed_bytes, scratch_item_bytes, .. } = packed.resources;
    !packed.has_barrier && scratch_fixed_bytes == 0 && scratch_item_bytes == 0
}

/// A group function with packs of `lanes` lanes, fewer than the kernel's own width: for launches with short rows and bounded ids,
/// which are whole packs or, unless `whole`, may have idle lanes. `None` if the kernel can observe the width of a pack.
///
/// # Errors
/// As [`group_functions`].
pub fn narrower(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    lanes: u32,
    whole: bool,
) -> Result<Option<GroupFunction>, BuildError> {
    let func = &module.funcs[kernel.func];
    if observes_sub_groups(func) {
        return Ok(None);
    }
    let maker = Maker { module, kernel, options, machine, groups: false, growth: regions::Growth::default() };
    let options = Options { width: Some(lanes), ..options.clone() };
    let made = match Width::choose(func, RowLengths::of(kernel), &options, machine) {
        Width::Packs(lanes, normal, versions, _) if whole => {
            let (made, _) = maker.packs(versions.as_deref().unwrap_or(&normal), lanes, Rows::Whole)?;
            maker.several_rows(made, lanes, true, machine)?.0
        }
        Width::Packs(lanes, normal, ..) => {
            let (made, _) = maker.packs(&normal, lanes, Rows::Any)?;
            maker.several_rows(made, lanes, false, machine)?.0
        }
        Width::Scalar(_) | Width::Unprofitable(..) => maker.scalar(func)?.0,
    };
    Ok(Some(made))
}

/// The group function of a kernel for any work-group of launches with bounded ids, with `lanes` lanes, that executes several rows
/// at once. `None` if that is not faster.
///
/// # Errors
/// As [`group_functions`].
pub fn general_of_rows(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    lanes: u32,
) -> Result<Option<GroupFunction>, BuildError> {
    let func = &module.funcs[kernel.func];
    let maker = Maker { module, kernel, options, machine, groups: false, growth: regions::Growth::default() };
    if observes_sub_groups(func) || !uses_other_dimensions(func) {
        return Ok(None);
    }
    let options = Options { width: Some(lanes), ..options.clone() };
    let Width::Packs(lanes, normal, ..) = Width::choose(func, RowLengths::of(kernel), &options, machine) else {
        return Ok(None);
    };
    let (made, _) = maker.packs(&normal, lanes, Rows::Any)?;
    let (made, rows) = maker.several_rows(made, lanes, false, machine)?;
    Ok(rows.map(|_| made))
}

/// Launches of a kernel with x and another dimension exchanged, if those may be faster: work-items that are neighbours along that
/// dimension access neighbouring elements, and those that are neighbours along x do not, or fewer. `usual` are the costs without
/// that.
pub(crate) fn gains_from_transposition(
    func: &Function,
    kernel: &KernelData,
    usual: PackCosts,
    exchange: Exchange,
    options: &Options,
    machine: &Machine,
) -> Option<Transposition> {
    let exchanged = transposed_items::kernel(kernel, exchange);
    let transposed = || transposed_items::run(func, exchange);
    let form = cost::other_form::other_form(usual, transposed, RowLengths::of(&exchanged), options, machine)?;
    let OtherForm { lanes, is_faster } = form;
    let coalesces = transposed().is_some_and(|func| coalesced_row(&func, &exchanged, lanes, false) > 0);
    Some(Transposition { exchange, lanes, coalesces, is_faster })
}

/// Whether the work-groups of a kernel should be tiles where the driver chooses their size ([`cost::tiles`]).
pub(crate) fn gains_from_tiles(func: &Function) -> bool {
    cost::tiles::gains(func)
}

/// As [`group_functions`], with a limit on the copying of blocks.
fn make(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    (growth, with_general): (regions::Growth, bool),
) -> Result<GroupFunctions, BuildError> {
    let single = single_items(module, kernel, options);
    let groups = single.is_some();
    let func = single.as_ref().unwrap_or(&module.funcs[kernel.func]);
    let rows = if groups { RowLengths::Long } else { RowLengths::of(kernel) };
    let maker = Maker { module, kernel, options, machine, groups, growth };
    let width = Width::choose(func, rows, options, machine);
    let costs = if uses_other_dimensions(func) { width.pack_costs(machine) } else { None };
    let (lanes, normal, versions, close) = match width {
        Width::Packs(lanes, normal, versions, close) => (lanes, normal, versions, close),
        Width::Scalar(reason) => return maker.only_scalar(func, VectorizationReport::scalar(reason), machine),
        Width::Unprofitable(reason, lanes, normal, chance) => {
            let mut report = VectorizationReport::scalar(reason);
            if options.reports_vectorization() {
                let (_, packs) = widen::run(&normal, &normal.divergence(lanes, true), lanes, false, machine);
                report = VectorizationReport { width: report.width, scalar: report.scalar, ..packs };
            }
            match chance {
                Chance::Good => report.rejected_lanes = Some(lanes),
                Chance::Small => report.untried_lanes = [lanes].into_iter().collect(),
                Chance::None => {}
            }
            return Ok(GroupFunctions { costs, ..maker.only_scalar(func, report, machine)? });
        }
    };
    let (packed, report) = maker.packs(versions.as_deref().unwrap_or(&normal), lanes, Rows::Whole)?;
    let (packed, rows) = maker.several_rows(packed, lanes, true, machine)?;
    let one_row = if needs_one_row(func, kernel, lanes, options) { maker.one_row(func, lanes, machine)? } else { None };
    let has_memory = !normal.func.slots.is_empty() || !may_be_made_on_demand(&packed);
    let on_demand = !with_general && !groups && one_row.is_none() && !has_memory;
    let general = (!on_demand).then(|| maker.packs(&normal, lanes, Rows::AnyIds)).transpose()?.map(|(made, _)| made);
    let mut report = report.describe(module, func, (packed.private_bytes, machine));
    report.rejected_lanes = close.then_some(1);
    report.untried_lanes = cost::width::other_lanes(func, lanes, options);
    report.rows = rows;
    Ok(GroupFunctions { general, packed: Some(packed), one_row, report, costs })
}

/// The kernel for groups of one work-item, if all launches have such groups and it need not know where a group ends.
fn single_items(module: &Module, kernel: &KernelData, options: &Options) -> Option<Function> {
    if !options.single_items || options.backend == BackendChoice::Interp {
        return None;
    }
    let mut func = single_item_groups::run(module, &module.funcs[kernel.func])?;
    let mut verified = verified(module);
    verified("single_item_groups", &func);
    passes::canonicalize(&mut func, &module.globals, options, &mut verified);
    Some(func)
}

/// Verifies a function after a pass or a transformation of this stage, in debug builds.
fn verified(module: &Module) -> impl FnMut(&str, &Function) {
    |pass, func| {
        if cfg!(debug_assertions)
            && let Err(errors) = verify::function(module, func)
        {
            panic!("broken invariant: after pass {pass}: {errors}");
        }
    }
}

/// Whether a kernel needs a function for work-groups as one row.
fn needs_one_row(func: &Function, kernel: &KernelData, lanes: u32, options: &Options) -> bool {
    let rows_suffice =
        |[x, y, z]: [u64; 3]| y.saturating_mul(z) == 1 || options.uniform_work_groups && x.is_multiple_of(lanes.into());
    observes_sub_groups(func) && !kernel.required_local_size.is_some_and(rows_suffice)
}

/// Which rows of work-items a function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Any; ids are bounded.
    Any,
    /// Any.
    AnyIds,
    /// Those of whole packs.
    Whole,
    /// A work-group is one row.
    One,
}

impl Rows {
    fn any(ids: Ids) -> Self {
        match ids {
            Ids::Any => Rows::AnyIds,
            Ids::Bounded => Rows::Any,
        }
    }

    fn known(self) -> KnownOfPacks {
        match self {
            Rows::Any => KnownOfPacks::BoundedIds,
            Rows::AnyIds | Rows::One => KnownOfPacks::Nothing,
            Rows::Whole => KnownOfPacks::Whole,
        }
    }
}

/// Makes the group functions of one kernel.
struct Maker<'a> {
    module: &'a Module,
    kernel: &'a KernelData,
    options: &'a Options,
    machine: &'a Machine,
    /// As in [`Packing::groups`].
    groups: bool,
    growth: regions::Growth,
}

impl Maker<'_> {
    /// One work-item per loop iteration. Also returns the number of regions and what became of loops.
    fn scalar(&self, func: &Function) -> Result<(GroupFunction, VectorizationReport), BuildError> {
        let Maker { module, options, .. } = self;
        let vectors = options.backend != BackendChoice::Interp && !options.opt_disable;
        let (vectors, loops) = match vectors {
            true => one_lane::with_loops(func, &module.globals, options, self.machine),
            false => (None, Vec::new()),
        };
        let mut func = vectors.map_or_else(|| func.clone(), |made| made.func);
        verified(module)("one_lane", &func);
        collectives::lower_for_single_lane(&mut func);
        let (made, regions) = add_loops(module, self.kernel, options, &func, Packing::one(self.groups), self.growth)?;
        Ok((made, VectorizationReport { regions, loops, groups: self.groups, ..VectorizationReport::default() }))
    }

    /// The group functions of a kernel with one lane per pack.
    fn only_scalar(
        &self,
        func: &Function,
        report: VectorizationReport,
        machine: &Machine,
    ) -> Result<GroupFunctions, BuildError> {
        let (general, VectorizationReport { regions, loops, groups, .. }) = self.scalar(func)?;
        let report = VectorizationReport { regions, loops, groups, ..report }.describe(
            self.module,
            func,
            (general.private_bytes, machine),
        );
        Ok(GroupFunctions { general: Some(general), packed: None, one_row: None, report, costs: None })
    }

    /// A function for work-groups as one row.
    fn one_row(&self, func: &Function, lanes: u32, machine: &Machine) -> Result<Option<GroupFunction>, BuildError> {
        let mut func = one_row_groups::run(func);
        passes::canonicalize(&mut func, &self.module.globals, self.options, &mut verified(self.module));
        let options = Options { width: Some(lanes), ..self.options.clone() };
        match Width::choose(&func, RowLengths::Unknown, &options, machine) {
            Width::Packs(lanes, normal, _, _) => Ok(Some(self.packs(&normal, lanes, Rows::One)?.0)),
            // Its instructions are just beyond a limit.
            Width::Scalar(_) | Width::Unprofitable(..) => Ok(None),
        }
    }

    /// One pack per loop iteration.
    fn packs(
        &self,
        normal: &normalize::NormalForm,
        lanes: u32,
        rows: Rows,
    ) -> Result<(GroupFunction, VectorizationReport), BuildError> {
        let whole = rows == Rows::Whole;
        let split = clamped_loads::run(normal, (lanes, rows.known()), self.machine);
        let normal = split.as_ref().unwrap_or(normal);
        let divergence = normal.divergence_in(lanes, rows.known());
        let (mut widened, report) = widen::run(normal, &divergence, lanes, !whole, self.machine);
        let vectorizer = Vectorizer { globals: &self.module.globals, options: self.options, machine: self.machine };
        let mut verified = verified(self.module);
        single_lane_regions::inline(&mut widened, &normal.single_lane, Some(vectorizer));
        verified("widen", &widened);
        passes::clean_widened(&mut widened, &self.module.globals, self.options, &mut verified);
        loop_counters::run(&mut widened);
        verified("loop_counters", &widened);
        let packing = Packing { lanes, whole, groups: self.groups, one_row: rows == Rows::One, rows: 1 };
        let (mut made, regions) = add_loops(self.module, self.kernel, self.options, &widened, packing, self.growth)?;
        made.widened = Some(widened);
        Ok((made, VectorizationReport { regions, groups: self.groups, ..report }))
    }

    /// The function with several rows of packs at once and their number, if that is faster. Unless `whole`, the last pack of
    /// each row may have idle lanes, the same ones in all rows.
    fn several_rows(
        &self,
        made: GroupFunction,
        lanes: u32,
        whole: bool,
        machine: &Machine,
    ) -> Result<(GroupFunction, Option<u32>), BuildError> {
        let Some((rows, widened)) = made.widened.as_ref().and_then(|widened| self.rows_at_once(widened, machine))
        else {
            return Ok((made, None));
        };
        let packing = Packing { lanes, whole, groups: false, one_row: false, rows };
        let regions = regions::Regions::new(&widened, self.growth);
        if !regions.lockstep {
            return Ok((made, None));
        }
        let (several, _) = loops_around(self.module, self.kernel, self.options, packing, &regions, Some(&made.func))?;
        let resources = several.resources.max(made.resources);
        let private_bytes = made.private_bytes;
        Ok((GroupFunction { widened: Some(widened), resources, private_bytes, ..several }, Some(rows)))
    }

    /// How many rows of packs are executed at once, and their code.
    fn rows_at_once(&self, widened: &Function, machine: &Machine) -> Option<(u32, Function)> {
        let options = self.options;
        let allowed = |rows: u32| self.kernel.required_local_size.is_none_or(|[_, y, _]| y.is_multiple_of(rows.into()));
        let slot_bytes: u64 = widened.slots.values().map(|slot| slot.size).sum();
        let insts: usize = widened.layout.blocks().iter().map(|&block| widened.layout.insts(block).len()).sum();
        if self.groups
            || options.opt_disable
            || !options.checks.is_empty()
            || insts > cost::rows::MAX_INSTS
            || slot_bytes > cost::rows::MAX_PRIVATE_BYTES
            || !uses_other_dimensions(widened)
        {
            return None;
        }
        let together = |rows: u32| {
            let mut func = unroll_and_jam::run(widened, rows)?;
            verified(self.module)("unroll_and_jam", &func);
            passes::clean_rows(&mut func, &self.module.globals, &mut verified(self.module));
            Some(func)
        };
        if let Some(rows) = options.rows {
            return (rows > 1 && allowed(rows)).then(|| together(rows)).flatten().map(|func| (rows, func));
        }
        if !cost::rows::is_promising(widened) {
            return None;
        }
        let one = cost::rows::of(widened, machine).throughput;
        let (mut best, mut least) = (None, cost::rows::GAIN * one);
        for rows in cost::rows::ROWS {
            let Some(func) = allowed(rows).then(|| together(rows)).flatten() else { break };
            let cost = cost::rows::of(&func, machine);
            let each = cost.throughput / f64::from(rows);
            if cost.fits && each <= least {
                (best, least) = (Some((rows, func)), each);
            } else if !cost.fits || each > cost::rows::PROMISING * one {
                break;
            }
        }
        best
    }
}

/// Puts loops around the code of a work-item or a pack. Also returns the number of regions.
fn add_loops(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    func: &Function,
    packing: Packing,
    growth: regions::Growth,
) -> Result<(GroupFunction, usize), BuildError> {
    let regions = regions::Regions::new(func, growth);
    loops_around(module, kernel, options, packing, &regions, None)
}

/// As [`add_loops`], around the regions of a kernel. `row_by_row` is as in [`loops::build`].
fn loops_around(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    packing: Packing,
    regions: &regions::Regions,
    row_by_row: Option<&Function>,
) -> Result<(GroupFunction, usize), BuildError> {
    let context = context::ContextLayout::new(regions, packing)?;
    let locals = env::LocalLayout::new(module, regions)?;
    let func = loops::build(module, kernel, options, packing, regions, (&context, &locals), row_by_row);
    let resources = Resources {
        arg_block_bytes: kernel.arg_block_bytes,
        local_bytes: locals.bytes,
        scratch_fixed_bytes: context.fixed_bytes + env::slack(context.align),
        scratch_item_bytes: context.item_bytes,
        width: packing.lanes,
        coalesced_row: 0,
        packs_of_groups: packing.groups,
    };
    let private_bytes = context.private_bytes / u64::from(packing.lanes);
    let made = GroupFunction { func, widened: None, resources, private_bytes, has_barrier: regions.has_barrier };
    Ok((made, regions.list.len()))
}

#[cfg(test)]
pub(crate) mod tests;
