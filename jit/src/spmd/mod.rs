//! From one work-item's code to code that runs work-groups.
//!
//! [`group_functions`] takes a kernel at stage *canonical* and gives functions in the form of
//! [`clift_include::abi::GroupRunFn`] at stage *looped*: they run a number of work-groups, each with all of its work-items.
//!
//! First work-items become lanes, then packs of lanes become loops:
//!
//! - [`shape`], [`divergence`]: which values the work-items share, which branches part them; `line.rs`, `rules.rs` and `range.rs`
//!   follow values that count along the lanes through index arithmetic;
//! - `indices.rs`: indices in few bits that the source promises to be enough, in the width of addresses;
//! - `width.rs`, `cost.rs`, `pressure.rs`, `latency.rs`, [`machine`]: how many lanes a pack has, or why only one;
//! - `waits.rs`: loops in which lanes would wait for each other for ever;
//! - `fields.rs`: accesses to all fields of a record as one;
//! - `assume.rs`, `versions.rs`: what holds for most packs and takes a test; code for packs for which it does;
//! - `prepare.rs`, `order.rs`, `linearize.rs`, `masks.rs`: the kernel in normal form, the order in which a pack executes its blocks,
//!   and which lanes do;
//! - `widen`: the code of a pack, `counters.rs`: iterations that its lanes count. From here on a pack is what a work-item was
//!   before;
//! - `class.rs`: what happens to each op in the loops, by class;
//! - `regions.rs`: the pieces between barriers, and whether work-items go from one to the next together;
//! - `named.rs`: named barriers as counting and waiting;
//! - `groups.rs`: operations in which work-items exchange values;
//! - `interleave.rs`: private variables laid out lane by lane;
//! - `private.rs`, `context.rs`: what a work-item keeps between regions, and where;
//! - `env.rs`: sizes, ids, arguments and addresses as values of the run, the group, the row, the work-item;
//! - `wgloop.rs`: copies of the regions with loops around them.
//!
//! A kernel gets up to two group functions. The *general* one takes any work-group; lanes beyond the end of a row are masked off.
//! The *packed* one exists when packs have several lanes, and takes launches whose rows are whole packs. `docs/spmd.md` explains
//! the scheme with a drawing.

pub mod analysis;
mod class;
mod cost;
pub mod report;
mod transform;
mod vectorize;
mod workgroup;

use clift_include::abi::Resources;
use clift_kir::inst::AtomicOp;
use clift_kir::{AtomicInfo, Function, KernelData, MemOrder, MemScope, Module};

use super::{BuildError, Options, passes};
use crate::target::machine::Machine;
use cost::width::Width;
use report::Report;
use transform::{loop_counters, normalize};
use vectorize::widen;
pub(crate) use workgroup::collectives::{groups_may_grow, knows_sub_groups};
use workgroup::{collectives, context, env, loops, regions};

/// A kernel that runs whole work-groups.
#[derive(Clone, Debug)]
pub struct GroupFunction {
    /// Stage *looped*; entry parameters are context, argument block, first group, group count.
    pub func: Function,
    /// The code of a pack that it was made from, stage *widened*, when packs have several lanes.
    pub widened: Option<Function>,
    /// The memory it needs.
    pub resources: Resources,
    /// Bytes of private variables per work-item that stayed in memory.
    pub private_bytes: u64,
    /// Whether the kernel has a work-group barrier.
    pub has_barrier: bool,
}

/// The group functions of a kernel.
#[derive(Clone, Debug)]
pub struct GroupFunctions {
    /// Takes any work-group.
    pub general: GroupFunction,
    /// Takes work-groups whose rows are whole packs; only when a pack has several lanes. See
    /// [`clift_include::abi::KernelEntry::packed`] for all it expects.
    pub packed: Option<GroupFunction>,
    /// What the vectorizer did.
    pub report: Report,
}

/// Makes the group functions of a kernel.
///
/// # Errors
/// [`BuildError::Limit`] when private or local variables overflow any address space.
pub fn group_functions(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
) -> Result<GroupFunctions, BuildError> {
    make(module, kernel, options, machine, regions::Growth::default())
}

/// A function for work-groups whose rows are whole packs of `lanes` lanes, fewer than the kernel's own: for launches with short
/// rows. `None` where the kernel can tell how large a pack is.
///
/// # Errors
/// As [`group_functions`].
pub fn narrower(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    lanes: u32,
) -> Result<Option<GroupFunction>, BuildError> {
    let func = &module.funcs[kernel.func];
    if knows_sub_groups(func) {
        return Ok(None);
    }
    let maker = Maker { module, kernel, options, growth: regions::Growth::default() };
    let options = Options { width: Some(lanes), ..options.clone() };
    let made = match Width::choose(func, kernel, &options, machine) {
        Width::Packs(lanes, prepared, versions) => {
            maker.packs(versions.as_deref().unwrap_or(&prepared), lanes, true)?.0
        }
        Width::Scalar(_) => maker.scalar(func)?.0,
    };
    Ok(Some(made))
}

/// As [`group_functions`], with a bound on copies.
fn make(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    machine: &Machine,
    growth: regions::Growth,
) -> Result<GroupFunctions, BuildError> {
    let func = &module.funcs[kernel.func];
    let maker = Maker { module, kernel, options, growth };
    let (lanes, prepared, versions) = match Width::choose(func, kernel, options, machine) {
        Width::Packs(lanes, prepared, versions) => (lanes, prepared, versions),
        Width::Scalar(reason) => {
            let (general, regions) = maker.scalar(func)?;
            return Ok(GroupFunctions { general, packed: None, report: Report { regions, ..Report::scalar(reason) } });
        }
    };
    let (general, _) = maker.packs(&prepared, lanes, false)?;
    let (packed, report) = maker.packs(versions.as_deref().unwrap_or(&prepared), lanes, true)?;
    Ok(GroupFunctions { general, packed: Some(packed), report })
}

/// Makes functions of one kernel.
struct Maker<'a> {
    module: &'a Module,
    kernel: &'a KernelData,
    options: &'a Options,
    growth: regions::Growth,
}

impl Maker<'_> {
    /// One work-item after the other; also gives the number of regions.
    fn scalar(&self, func: &Function) -> Result<(GroupFunction, usize), BuildError> {
        let mut func = func.clone();
        collectives::alone(&mut func);
        add_loops(self.module, self.kernel, self.options, &func, Packs::ONE, self.growth)
    }

    /// In packs; `whole` as in [`Packs::whole`].
    fn packs(
        &self,
        prepared: &normalize::Prepared,
        lanes: u32,
        whole: bool,
    ) -> Result<(GroupFunction, Report), BuildError> {
        let divergence = prepared.divergence(lanes, whole);
        let (mut widened, report) = widen::run(prepared, &divergence, lanes, !whole);
        passes::clean_widened(&mut widened, self.options);
        loop_counters::run(&mut widened);
        let packs = Packs { lanes, whole };
        let (mut made, regions) = add_loops(self.module, self.kernel, self.options, &widened, packs, self.growth)?;
        made.widened = Some(widened);
        Ok((made, Report { regions, ..report }))
    }
}

/// How work-items are packed.
#[derive(Clone, Copy, Debug)]
struct Packs {
    /// Lanes per pack, a power of two.
    lanes: u32,
    /// Whether every row of a work-group is made of whole packs.
    whole: bool,
}

impl Packs {
    /// One work-item after the other.
    const ONE: Packs = Packs { lanes: 1, whole: true };
}

/// Puts loops around the code of a work-item or a pack; also gives the number of regions.
fn add_loops(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    func: &Function,
    packs: Packs,
    growth: regions::Growth,
) -> Result<(GroupFunction, usize), BuildError> {
    let regions = regions::Regions::new(func, growth);
    let context = context::Context::new(&regions, packs)?;
    let locals = env::LocalLayout::new(module, &regions)?;
    let func = loops::build(module, kernel, options, packs, &regions, &context, &locals);
    let resources = Resources {
        arg_block_bytes: kernel.arg_block_bytes,
        local_bytes: locals.bytes,
        scratch_fixed_bytes: context.fixed_bytes + env::slack(context.align),
        scratch_item_bytes: context.item_bytes,
        width: packs.lanes,
        may_coalesce_groups: false,
    };
    let private_bytes = context.private_bytes / u64::from(packs.lanes);
    let made = GroupFunction { func, widened: None, resources, private_bytes, has_barrier: regions.has_barrier };
    Ok((made, regions.list.len()))
}

/// The fence that a barrier's memory scope asks for. Barriers do not tell their order: the strongest.
fn fence(scope: MemScope) -> AtomicInfo {
    AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::SeqCst, scope }
}

#[cfg(test)]
pub(crate) mod tests;
