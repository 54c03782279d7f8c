//! Device-side enqueue: kernels enqueue child kernels, markers and user events.
//!
//! A child belongs to no host queue: it has its parent's position, so that a thread that waits for the parent may execute it. Its
//! parent ends when all its children have ended ([`crate::graph`]); until then the parent's resources exist, which are all that
//! its children use. A small child is a record of its family; others are ordinary commands of the graph.
//! `docs/device-enqueue.md` describes the whole.
//!
//! - `request`: the requests of generated code; `child`: how a child becomes a command or a record;
//! - `family`: the small children; `pending`: how threads find them; `waiting`: how they wait for events;
//! - `kernels`: the child kernels of a program; `queue`: device queues; `events`: the events that kernels hold.
//!
//! Not here: what the application may query of device queues.

mod child;
mod events;
mod family;
mod kernels;
#[cfg(all(test, feature = "loom"))]
mod models;
mod pending;
mod queue;
mod request;
#[cfg(test)]
mod tests;
mod waiting;

use core::borrow::Borrow;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

pub use events::DeviceEvents;
pub(crate) use family::{Family, SmallChild, work};
pub use kernels::{ChildKernel, ChildKernels, LocalArg};
pub use queue::DeviceQueue;
pub(crate) use request::on_request;
pub(crate) use waiting::WaitingChild;

use crate::graph::{self, Ended, Node};
use crate::launch::{PrintfSink, Running};

/// What the requests of a launch refer to.
#[derive(Clone)]
pub struct Enqueuing {
    shared: Arc<Shared>,
    /// The family that the launch's children belong to. `None`: its own.
    family: Option<Arc<Family>>,
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
        Self { shared: Arc::new(Shared { kernels, events, default_queue }), family: None }
    }

    /// The family of the children of a launch by this command, if they have one of their own.
    pub(crate) fn own_family(&self, node: &Arc<Node>, printf_sink: Option<PrintfSink>) -> Arc<Family> {
        Family::new(node.clone(), self.shared.clone(), printf_sink)
    }

    /// The family of an ancestor that the launch's children belong to.
    pub(crate) fn family(&self) -> Option<&Arc<Family>> {
        self.family.as_ref()
    }
}

impl core::fmt::Debug for Enqueuing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Enqueuing").field("kernels", &self.shared.kernels).finish_non_exhaustive()
    }
}

/// A child that may not begin yet.
pub(crate) enum Child {
    /// A command.
    Command(Arc<Node>),
    /// A record of its parent's family.
    Small(Box<SmallChild>),
    /// Such a record, which waits for events, too.
    Waiting(Arc<WaitingChild>),
}

thread_local! {
    /// Children that wait for the work-groups that this thread executes. It is empty between launches. It is not dropped, because
    /// destructors of static objects may launch kernels when the values of their thread are destroyed.
    static AFTER_GROUPS: ManuallyDrop<RefCell<Vec<Child>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Keeps a child from beginning before the work-group that enqueues it has ended.
fn after_group(child: Child) {
    AFTER_GROUPS.with(|list| list.borrow_mut().push(child));
}

/// Handles the end of the work-groups that this thread has executed, of a launch with this status so far.
pub(crate) fn groups_ended(parent: &Running, status: i32) {
    let children = AFTER_GROUPS.with(|list| list.take());
    begin_all(parent, children, status);
}

/// Handles the end of the own work of a launch that may have children. Returns the command if it has no unfinished children.
pub(crate) fn work_ended(parent: impl Borrow<Running>, status: i32) -> Option<Ended> {
    let node = parent.borrow().node().clone();
    graph::end_work(&node, status, move || {
        let running = parent.borrow();
        begin_all(running, running.take_held(), status);
        // The launch is freed before the last of its family can end the command.
    })
}

/// Lets children of a launch begin that have waited for its work, which ended with this status.
pub(crate) fn begin_all(parent: &Running, children: Vec<Child>, status: i32) {
    for child in children {
        match child {
            Child::Command(node) => graph::begin_child(node, status),
            Child::Waiting(child) => child.predecessor_ended(status),
            Child::Small(child) => {
                if let Some(family) = parent.family() {
                    family.begin(*child, status);
                }
            }
        }
    }
}
