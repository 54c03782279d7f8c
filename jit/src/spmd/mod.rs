//! From one work-item's code to code that runs work-groups.
//!
//! [`group_function`] takes a kernel at stage *canonical* and gives a function in the form of
//! [`clift_include::abi::GroupRunFn`] at stage *looped*: it runs a number of work-groups, each with all of its work-items.
//!
//! - `class.rs`: what happens to each op here, by class;
//! - [`shape`], [`divergence`]: which values the work-items share, which branches part them; `line.rs`, `rules.rs` and `range.rs`
//!   follow values that count along the lanes through index arithmetic;
//! - `regions.rs`: the pieces between barriers, and whether work-items go from one to the next together;
//! - `groups.rs`: operations in which work-items exchange values;
//! - `private.rs`, `context.rs`: what a work-item keeps between regions, and where;
//! - `env.rs`: sizes, ids, arguments and addresses as values of the run, the group, the row, the work-item;
//! - `wgloop.rs`: copies of the regions with loops around them.
//!
//! One work-item at a time: packs of several lanes are not made here yet. `docs/spmd.md` explains the scheme with a drawing.

mod class;
mod context;
pub mod divergence;
mod env;
mod groups;
mod line;
mod private;
mod range;
mod regions;
mod rules;
pub mod shape;
mod wgloop;

use clift_include::abi::Resources;
use clift_kir::inst::AtomicOp;
use clift_kir::{AtomicInfo, Function, KernelData, MemOrder, MemScope, Module};

use crate::{BuildError, Options};

/// A kernel that runs whole work-groups.
#[derive(Clone, Debug)]
pub struct GroupFunction {
    /// Stage *looped*; entry parameters are context, argument block, first group, group count.
    pub func: Function,
    /// The memory it needs.
    pub resources: Resources,
    /// Bytes of private variables per work-item that stayed in memory.
    pub private_bytes: u64,
    /// Whether the kernel has a work-group barrier.
    pub has_barrier: bool,
}

/// Makes the group function of a kernel.
///
/// # Errors
/// [`BuildError::Limit`] when private or local variables overflow any address space.
pub fn group_function(module: &Module, kernel: &KernelData, options: &Options) -> Result<GroupFunction, BuildError> {
    make(module, kernel, options, regions::Growth::default())
}

/// As [`group_function`], with a bound on copies.
fn make(
    module: &Module,
    kernel: &KernelData,
    options: &Options,
    growth: regions::Growth,
) -> Result<GroupFunction, BuildError> {
    let mut func = module.funcs[kernel.func].clone();
    groups::alone(&mut func);
    let regions = regions::Regions::new(&func, growth);
    let context = context::Context::new(&regions)?;
    let locals = env::LocalLayout::new(module, &regions)?;
    let func = wgloop::build(module, kernel, options, &regions, &context, &locals);
    let resources = Resources {
        arg_block_bytes: kernel.arg_block_bytes,
        local_bytes: locals.bytes,
        scratch_fixed_bytes: context.fixed_bytes + env::slack(context.align),
        scratch_item_bytes: context.item_bytes,
        width: 1,
    };
    Ok(GroupFunction { func, resources, private_bytes: context.private_bytes, has_barrier: regions.has_barrier })
}

/// The fence that a barrier's memory scope asks for. Barriers do not tell their order: the strongest.
fn fence(scope: MemScope) -> AtomicInfo {
    AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::SeqCst, scope }
}

#[cfg(test)]
pub(crate) mod tests;
