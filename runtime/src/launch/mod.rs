//! One kernel launch: its description, and its execution by one or many threads.
//!
//! - `running`: a launch under way: who claims which groups, and when it has ended;
//! - `arena`: the memory a thread lends to kernels; `cost`: how many threads a launch deserves.
//!
//! Not here: when a launch may start ([`crate::graph`]), and which threads are there for it ([`crate::pool`]).

mod arena;
mod args;
mod cost;
mod running;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};

pub(crate) use arena::trim as trim_arenas;
pub use args::ArgBlock;
pub use cost::KernelCost;
pub(crate) use running::{Running, Seat};

use crate::graph::{self, Ended, Node, Work};
use crate::ndrange::NdRange;
use crate::status;

/// Where a launch's `printf` output goes; called once, before the launch is reported complete, with all of it. `None` in
/// [`Launch::printf_sink`] means standard output.
pub type PrintfSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A kernel launch: what to run, over what, with what.
///
/// Whoever builds one promises that the entry follows [`clift_include::abi::GroupRunFn`], that the argument block is the
/// kernel's, and that the code and all memory the arguments lead to live until the launch ends (see
/// [`Command::keep`](crate::graph::Command::keep)).
pub struct Launch {
    /// The kernel's code.
    pub entry: KernelEntry,
    /// What it needs of a worker's memory.
    pub resources: Resources,
    /// Its arguments.
    pub args: ArgBlock,
    /// The geometry.
    pub nd: NdRange,
    /// Bytes of local pointer arguments. They lie behind [`Resources::local_bytes`]; their offsets are in the block.
    pub local_arg_bytes: u64,
    /// Takes the output of `printf`, instead of standard output.
    pub printf_sink: Option<PrintfSink>,
    /// What earlier launches of the kernel have cost; share one per kernel. Decides how many threads are woken.
    pub cost: Option<Arc<KernelCost>>,
}

/// Does a command's work on this thread; `None` when another thread is going to end it.
pub(crate) fn perform(node: Arc<Node>) -> Option<Ended> {
    let status = match graph::start(&node) {
        Some(Work::Launch(launch)) => return Running::begin(launch, node),
        Some(Work::Task(task)) => match catch_unwind(AssertUnwindSafe(task)) {
            Ok(Ok(())) => status::COMPLETE,
            Ok(Err(error)) if error < status::COMPLETE => error,
            Ok(Err(_)) => status::OUT_OF_RESOURCES,
            Err(_) => {
                tracing::error!("a command's function panicked");
                node.set_fault("the command's function panicked".to_owned());
                status::OUT_OF_RESOURCES
            }
        },
        Some(Work::Marker | Work::Barrier) | None => status::COMPLETE,
    };
    Some(Ended { node, status, spent: None })
}
