//! Device-side enqueue: kernels enqueue child kernels, markers and user events.
//!
//! A child is an ordinary command of the graph. It belongs to no host queue: it has its parent's position, so that a thread that
//! waits for the parent may execute it. Its parent ends when all its children have ended ([`crate::graph`]); until then the
//! parent's resources exist, which are all that its children use. `docs/device-enqueue.md` describes the whole.
//!
//! - `request`: the requests of generated code; `child`: how a child becomes a command;
//! - `kernels`: the child kernels of a program; `queue`: device queues; `events`: the events that kernels hold.
//!
//! Not here: what the application may query of device queues.

mod child;
mod events;
mod kernels;
mod queue;
mod request;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;

pub use events::DeviceEvents;
pub use kernels::{ChildKernel, ChildKernels, LocalArg};
pub use queue::DeviceQueue;
pub(crate) use request::on_request;

use crate::graph::{self, Node};

/// What the requests of a launch refer to.
#[derive(Clone)]
pub struct Enqueuing {
    shared: Arc<Shared>,
    /// The command that ends only after the launch's children. `None`: the launch's own.
    ancestor: Option<Arc<Node>>,
}

/// What the launches of a family share.
struct Shared {
    kernels: Arc<ChildKernels>,
    events: Arc<DeviceEvents>,
    default_queue: Option<Arc<DeviceQueue>>,
}

impl Enqueuing {
    /// For a launch by the application: the child kernels of its program, the events of its context, and the default queue of its
    /// device.
    pub fn new(kernels: Arc<ChildKernels>, events: Arc<DeviceEvents>, default_queue: Option<Arc<DeviceQueue>>) -> Self {
        Self { shared: Arc::new(Shared { kernels, events, default_queue }), ancestor: None }
    }
}

impl core::fmt::Debug for Enqueuing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Enqueuing").field("kernels", &self.shared.kernels).finish_non_exhaustive()
    }
}

thread_local! {
    /// Children that wait for the work-groups that this thread executes.
    static AFTER_GROUPS: RefCell<Vec<Arc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a child from beginning before the work-group that enqueues it has ended.
fn after_group(child: Arc<Node>) {
    AFTER_GROUPS.with_borrow_mut(|list| list.push(child));
}

/// Handles the end of the work-groups that this thread has executed, of a launch with this status so far.
pub(crate) fn groups_ended(status: i32) {
    let children = AFTER_GROUPS.with_borrow_mut(core::mem::take);
    for child in children {
        graph::begin_child(child, status);
    }
}
