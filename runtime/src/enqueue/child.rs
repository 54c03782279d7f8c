//! How a child becomes a command, which is linked to its parent, to the events that it waits for, and to what its flag says;
//! or, if it is small, a record of its family.

use core::ptr;
use std::sync::Arc;

use clift_include::request::{Begin, Enqueued, status};
use smallvec::SmallVec;

use super::family::{Family, INLINE_ARGS, SmallChild};
use super::queue::{DeviceQueue, Share};
use super::waiting::WaitingChild;
use super::{Child, Enqueuing, after_group};
use crate::graph::{self, Dependency, Event, KeepAlive, Node, WaitList, Work};
use crate::launch::{ArgBlock, Launch, Running};
use crate::ndrange::NdRange;
use crate::trace::{self, Traced};

/// Estimated memory of a command besides its arguments, in bytes.
const COMMAND_BYTES: u64 = 1024;

/// A kernel to be enqueued, whose arguments have been checked.
pub(super) struct ChildLaunch {
    /// Number of the kernel.
    pub(super) kernel: u32,
    pub(super) nd: NdRange,
    /// The argument block.
    pub(super) args: SmallVec<[u8; INLINE_ARGS]>,
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

/// A launch that enqueues a child.
#[derive(Clone, Copy)]
pub(super) struct Parent<'a> {
    pub(super) running: &'a Running,
    pub(super) enqueuing: &'a Enqueuing,
    pub(super) family: &'a Arc<Family>,
}

impl ChildCommand<'_> {
    /// Whether the kernel is a small child of its family.
    fn is_small(&self, parent: Parent<'_>, launch: &ChildLaunch) -> bool {
        let kernel = &parent.enqueuing.shared.kernels.list[launch.kernel as usize];
        let node = parent.running.node();
        // An event ends after the children. Termination finds only commands. Each command is in a trace.
        if self.wants_event && kernel.enqueues
            || self.has_to_wait() && node.termination().is_some()
            || trace::is_enabled()
        {
            return false;
        }
        Running::is_of_one_thread(&launch.nd, &kernel.cost, node.pool.size())
    }

    /// Whether it waits for events that have not ended, or have failed.
    fn has_to_wait(&self) -> bool {
        self.waits.iter().any(|event| event.status() != crate::status::COMPLETE)
    }
}

/// Enqueues a kernel.
pub(super) fn enqueue_kernel(
    parent: Parent<'_>,
    command: ChildCommand<'_>,
    launch: ChildLaunch,
) -> Result<Enqueued, i16> {
    let Parent { running, enqueuing, family } = parent;
    let bytes = COMMAND_BYTES + launch.args.len() as u64;
    let ChildLaunch { kernel, nd, args, local_arg_bytes } = if command.is_small(parent, &launch) {
        return enqueue_small(parent, &command, launch, bytes);
    } else {
        launch
    };
    let kernel = &enqueuing.shared.kernels.list[kernel as usize];
    // A child without an event is not waited for by anybody: its own children are those of its ancestor.
    let of = if command.wants_event { None } else { Some(family.clone()) };
    let mut block = ArgBlock::new(args.len());
    block.bytes_mut().copy_from_slice(&args);
    let work = Work::Launch(Box::new(Launch {
        entry: kernel.entry,
        resources: kernel.resources,
        args: block,
        nd,
        local_arg_bytes,
        printf_sink: running.launch().printf_sink.clone(),
        enqueuing: kernel.enqueues.then(|| Enqueuing { shared: enqueuing.shared.clone(), family: of }),
        info: Some(kernel.cost.clone()),
        checks: None,
    }));
    enqueue(parent, command, work, bytes)
}

/// Enqueues a marker.
pub(super) fn enqueue_marker(parent: Parent<'_>, command: ChildCommand<'_>) -> Result<Enqueued, i16> {
    enqueue(parent, command, Work::Marker, COMMAND_BYTES)
}

/// Adds a small child to its family.
fn enqueue_small(
    parent: Parent<'_>,
    command: &ChildCommand<'_>,
    launch: ChildLaunch,
    bytes: u64,
) -> Result<Enqueued, i16> {
    let Parent { running, enqueuing, family } = parent;
    let queue = command.queue;
    let is_default = enqueuing.shared.default_queue.as_deref().is_some_and(|default| ptr::eq(default, queue));
    let handle = if is_default { None } else { queue.handle() };
    if !queue.reserve(bytes) {
        return Err(status::DEVICE_QUEUE_FULL);
    }
    let (mut event, mut number) = (None, 0);
    if command.wants_event {
        let node = event.insert(Arc::new(Node::small_child(family.ancestor())));
        let Some(inserted) = enqueuing.shared.events.insert(Event(node.clone())) else {
            queue.give_back(bytes);
            return Err(status::EVENT_ALLOCATION_FAILURE);
        };
        number = inserted;
    }
    let ChildLaunch { kernel, nd, args, local_arg_bytes } = launch;
    let child = SmallChild { kernel, nd, args, local_arg_bytes, bytes, queue: handle, event };
    family.count(running);
    if command.has_to_wait() {
        let child = WaitingChild::new(family.clone(), child, &command.waits);
        match command.begin {
            Begin::AtOnce => child.predecessor_ended(crate::status::COMPLETE),
            Begin::AfterKernel => running.hold_back(Child::Waiting(child)),
            Begin::AfterWorkGroup => after_group(Child::Waiting(child)),
        }
    } else {
        match command.begin {
            Begin::AtOnce => family.begin(child, crate::status::COMPLETE),
            Begin::AfterKernel => running.hold_back(Child::Small(Box::new(child))),
            Begin::AfterWorkGroup => after_group(Child::Small(Box::new(child))),
        }
    }
    Ok(Enqueued { status: status::SUCCESS, event: number })
}

/// Enqueues a child that is a command.
fn enqueue(parent: Parent<'_>, command: ChildCommand<'_>, work: Work, bytes: u64) -> Result<Enqueued, i16> {
    let Parent { running, enqueuing, family } = parent;
    let share: Arc<Share> = Arc::new(command.queue.share(bytes).ok_or(status::DEVICE_QUEUE_FULL)?);
    let ancestor = family.ancestor();
    let mut keep = KeepAlive::new();
    keep.push(share);
    let place = running.node();
    let traced = Traced::new("marker", &work, &keep);
    let child = Node::command(place.position, place.pool, command.wants_event, work, keep, None, traced);
    let child = Arc::new(child.with_termination(place.termination().cloned()));
    let event = if command.wants_event {
        let event = enqueuing.shared.events.insert(Event(child.clone()));
        event.ok_or(status::EVENT_ALLOCATION_FAILURE)?
    } else {
        0
    };
    child.trace_submitted();
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
        Begin::AfterKernel => running.hold_back(Child::Command(child)),
        Begin::AfterWorkGroup => after_group(Child::Command(child)),
    }
    Ok(Enqueued { status: status::SUCCESS, event })
}
