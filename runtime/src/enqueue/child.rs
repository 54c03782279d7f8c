//! How a child becomes a command: it is linked to its parent, to the events that it waits for, and to what its flag says.

use std::sync::Arc;

use clift_include::request::{Begin, Enqueued, status};

use super::queue::{DeviceQueue, Share};
use super::{Enqueuing, after_group};
use crate::graph::{self, Dependency, Event, KeepAlive, Node, WaitList, Work};
use crate::launch::{ArgBlock, Launch, Running};
use crate::ndrange::NdRange;
use crate::trace::Traced;

/// Estimated memory of a command besides its arguments, in bytes.
const COMMAND_BYTES: u64 = 1024;

/// A kernel to be enqueued, whose arguments have been checked.
pub(super) struct ChildLaunch {
    /// Number of the kernel.
    pub(super) kernel: usize,
    pub(super) nd: NdRange,
    pub(super) args: ArgBlock,
    pub(super) local_arg_bytes: u64,
}

/// What kernels and markers have in common.
pub(super) struct ChildCommand<'a> {
    pub(super) queue: &'a DeviceQueue,
    pub(super) begin: Begin,
    pub(super) waits: WaitList,
    /// Whether the kernel gets an event.
    pub(super) wants_event: bool,
}

/// Enqueues a child of a running launch: a kernel, or a marker if there is none.
pub(super) fn enqueue(
    parent: &Running,
    enqueuing: &Enqueuing,
    command: ChildCommand<'_>,
    launch: Option<ChildLaunch>,
) -> Result<Enqueued, i16> {
    let bytes = COMMAND_BYTES + launch.as_ref().map_or(0, |launch| launch.args.bytes().len() as u64);
    let share: Arc<Share> = Arc::new(command.queue.reserve(bytes).ok_or(status::DEVICE_QUEUE_FULL)?);
    // A child without an event is not waited for by anybody: its own children are those of its ancestor.
    let ancestor = enqueuing.ancestor.as_ref().unwrap_or(parent.node());
    let work = match launch {
        None => Work::Marker,
        Some(ChildLaunch { kernel, nd, args, local_arg_bytes }) => {
            let kernel = &enqueuing.shared.kernels.list[kernel];
            let its_ancestor = if command.wants_event { None } else { Some(ancestor.clone()) };
            Work::Launch(Box::new(Launch {
                entry: kernel.entry,
                resources: kernel.resources,
                args,
                nd,
                local_arg_bytes,
                printf_sink: parent.launch().printf_sink.clone(),
                enqueuing: kernel
                    .enqueues
                    .then(|| Enqueuing { shared: enqueuing.shared.clone(), ancestor: its_ancestor }),
                info: Some(kernel.cost.clone()),
                checks: None,
            }))
        }
    };
    let mut keep = KeepAlive::new();
    keep.push(share);
    let place = parent.node();
    let traced = Traced::new("marker", &work, &keep);
    if let Some(traced) = &traced {
        traced.submitted();
    }
    let child = Node::command(place.position, place.pool, command.wants_event, work, keep, None, traced);
    let child = Arc::new(child.with_termination(place.termination().cloned()));
    let event = if command.wants_event {
        let event = enqueuing.shared.events.insert(Event(child.clone()));
        event.ok_or(status::EVENT_ALLOCATION_FAILURE)?
    } else {
        0
    };
    child.precede(ancestor, Dependency::Child);
    if let Some(termination) = child.termination() {
        termination.add(&child);
    }
    for event in &command.waits {
        event.0.precede(&child, Dependency::Explicit);
    }
    drop(command.waits);
    match command.begin {
        Begin::AtOnce => graph::submitted(child),
        Begin::AfterKernel => parent.node().hold_back(child),
        Begin::AfterWorkGroup => after_group(child),
    }
    Ok(Enqueued { status: status::SUCCESS, event })
}
