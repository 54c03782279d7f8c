//! One kernel launch: its description, and its execution by one or more threads.
//!
//! - `running`: a launch in execution: how threads claim groups, and when it has ended;
//! - `arena`: the memory that a thread provides to kernels; `cost`: how many threads a launch uses;
//! - `transfer`: large copies and fills as launches.
//!
//! Not here: when a launch may start ([`crate::graph`]), and which threads execute it ([`crate::pool`]).

mod arena;
mod args;
mod cost;
mod running;
#[cfg(test)]
mod tests;
mod transfer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};

pub(crate) use arena::trim as trim_arenas;
pub use args::ArgBlock;
pub use cost::KernelCost;
pub(crate) use running::{Running, Slot};
pub use transfer::LargeTransfer;

use crate::check::LaunchChecks;
use crate::enqueue::Enqueuing;
use crate::fault::LaunchInfo;
use crate::graph::{self, Ended, Node, TaskError, Work};
use crate::ndrange::NdRange;
use crate::status;

/// Receives a launch's `printf` output. It is called once, with the whole output, before the launch is reported complete. `None`
/// in [`Launch::printf_sink`] means standard output.
pub type PrintfSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A kernel launch: the code, the geometry and the arguments.
///
/// Its creator guarantees that the entry conforms to [`clift_include::abi::GroupRunFn`], that the argument block is the
/// kernel's, and that the code and all memory reachable from the arguments live until the launch ends (see
/// [`Command::keep`](crate::graph::Command::keep)).
pub struct Launch {
    /// The kernel's code.
    pub entry: KernelEntry,
    /// Its requirements on a worker's memory.
    pub resources: Resources,
    /// Its arguments.
    pub args: ArgBlock,
    /// The geometry.
    pub nd: NdRange,
    /// Total size of local pointer arguments. They follow [`Resources::local_bytes`]; their offsets are in the argument block.
    pub local_arg_bytes: u64,
    /// Receives the output of `printf`; `None` for standard output.
    pub printf_sink: Option<PrintfSink>,
    /// What the kernel's requests refer to; `None` if it makes none.
    pub enqueuing: Option<Enqueuing>,
    /// The kernel's cost estimate, which decides how many threads are woken, and what messages about faults say. Shared by the
    /// kernel's launches.
    pub info: Option<Arc<dyn LaunchInfo>>,
    /// The checker, if the kernel is a checked one.
    pub checks: Option<Box<LaunchChecks>>,
}

/// Executes a command on this thread; `None` when another thread will end it.
pub(crate) fn perform(node: Arc<Node>) -> Option<Ended> {
    let status = match graph::start(&node) {
        Some(Work::Launch(launch)) => return Running::begin(launch, node),
        Some(Work::Task(task)) => match catch_unwind(AssertUnwindSafe(task)) {
            Ok(Ok(())) => status::COMPLETE,
            Ok(Err(TaskError { status, reason })) => {
                if let Some(reason) = reason {
                    tracing::error!(reason, "a command failed");
                    node.set_fault(reason);
                }
                if status < status::COMPLETE { status } else { status::OUT_OF_RESOURCES }
            }
            Err(_) => {
                tracing::error!("a command's function panicked");
                node.set_fault("the command's function panicked".to_owned());
                status::OUT_OF_RESOURCES
            }
        },
        Some(Work::Marker | Work::Barrier) | None => status::COMPLETE,
    };
    Some(Ended { node, status, retired: None })
}
