//! The state behind an [`Event`](super::Event): one allocation per command.
//!
//! One small lock protects all fields that several threads change. It is never held while foreign code runs. The status can also
//! be read without it. Lock order: a queue's lock, then a node's. A thread never holds the locks of two nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use smallvec::SmallVec;

use super::queue::{ErrorSink, KeepAlive, WaitList, Work};
use super::settle::{self, SettleStep};
use super::termination::Termination;
use crate::clock::now_ns;
use crate::enqueue::WaitingChild;
use crate::launch::Launch;
use crate::pool::{CallbackSource, PoolHandle, Signal};
use crate::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::trace::{self, Traced};
use crate::{pool, status};

/// A callback on a status. Its argument is the status it was registered for, or the error that ended the command.
pub(crate) type StatusCallback = Box<dyn FnOnce(i32) + Send>;

/// Callbacks to be called now, each with its argument.
pub(crate) type DueCallbacks = SmallVec<[(i32, StatusCallback); 1]>;

/// A command's position in its queue. It decides which waiting threads may help with the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    /// The queue's number, 0 for a user event.
    pub(crate) queue: u64,
    /// Position in that queue.
    pub(crate) sequence: u64,
    /// Whether the queue is in-order, so that all earlier commands have to end before this one.
    pub(crate) in_order: bool,
}

/// The profiling times.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timestamp {
    Queued,
    Submit,
    Start,
    End,
    /// The end of the command with all its child commands.
    Complete,
}

/// Number of profiling times.
pub(crate) const TIMES: usize = 5;

/// A function that gets the profiling times when the command ends.
pub(crate) type TimesCallback = Box<dyn FnOnce([u64; TIMES]) + Send>;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A user event.
    User,
    /// A command without work: a marker, a barrier, a launch without work-items.
    Nothing,
    /// A kernel launch.
    Launch,
    /// A function.
    Task,
}

/// A command, or a user event (a node without work whose status is set by the application).
pub(crate) struct Node {
    status: AtomicI32,
    /// Number of unfinished predecessors, plus one while the command is being submitted. While a command runs that may have
    /// children: one for its own work, plus the unfinished children.
    pending: AtomicU32,
    /// Whether an explicit predecessor failed.
    predecessor_failed: AtomicBool,
    /// The status of a running command that may have children, so far.
    outcome: AtomicI32,
    pub(crate) position: QueuePosition,
    /// The pool that executes it.
    pub(crate) pool: PoolHandle,
    pub(crate) kind: NodeKind,
    profiling: bool,
    /// Of its context, if that can be terminated.
    termination: Option<Arc<Termination>>,
    /// What a trace has to know of it.
    traced: Option<Traced>,
    times: [AtomicU64; TIMES],
    /// The epoch (number of forks) of the process that created the node. In a child process, a parent's unfinished node never
    /// ends.
    epoch: u32,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    work: Option<Work>,
    keep: KeepAlive,
    dependants: Dependants,
    callbacks: SmallVec<[(i32, StatusCallback); 1]>,
    waiters: SmallVec<[Arc<Signal>; 1]>,
    fault: Option<String>,
    /// Receives `fault` at the end.
    errors: Option<ErrorSink>,
    /// A finished launch whose memory is freed with the node. See [`super::queue`].
    retired: Option<Box<Launch>>,
    /// Functions that get the profiling times; `None` once they have been called.
    time_callbacks: Option<SmallVec<[TimesCallback; 1]>>,
    /// Commands that execute as a part of this one.
    parts: WaitList,
}

/// Whether a dependency propagates a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// From the wait list: it does.
    Explicit,
    /// From queue order: it does not.
    Implicit,
    /// From a child command to its running parent, whose end waits for it: it does.
    Child,
    /// From a command to a user event that ends with it and takes over its status.
    Gate,
}

/// What waits for a command.
pub(crate) enum Dependant {
    /// A command or a user event.
    Node(Arc<Node>, Dependency),
    /// A small child of a kernel, which fails when the command does.
    Child(Arc<WaitingChild>),
}

/// All that waits for a command.
pub(crate) type Dependants = SmallVec<[Dependant; 2]>;

impl Node {
    /// A user event: submitted, waiting for its status.
    pub(crate) fn user() -> Self {
        let position = QueuePosition { queue: 0, sequence: 0, in_order: false };
        Self::build(status::SUBMITTED, position, PoolHandle::root(), NodeKind::User, false, None, Inner::default())
    }

    /// A command that is being submitted, which [`Node::release`] ends.
    #[inline]
    pub(crate) fn command(
        position: QueuePosition,
        pool: PoolHandle,
        profiling: bool,
        work: Work,
        keep: KeepAlive,
        errors: Option<ErrorSink>,
        traced: Option<Traced>,
    ) -> Self {
        let kind = match &work {
            Work::Marker | Work::Barrier => NodeKind::Nothing,
            Work::Launch(launch) if launch.nd.total_groups() == 0 => NodeKind::Nothing,
            Work::Launch(_) => NodeKind::Launch,
            Work::Task(_) => NodeKind::Task,
        };
        let inner = Inner { work: Some(work), keep, errors, time_callbacks: Some(SmallVec::new()), ..Inner::default() };
        let node = Self::build(status::QUEUED, position, pool, kind, profiling, traced, inner);
        node.record(Timestamp::Queued);
        node
    }

    /// The event of a small child of a command.
    pub(crate) fn small_child(ancestor: &Node) -> Self {
        let inner = Inner { time_callbacks: Some(SmallVec::new()), ..Inner::default() };
        let node = Self::build(status::QUEUED, ancestor.position, ancestor.pool, NodeKind::Launch, true, None, inner);
        node.with_termination(ancestor.termination.clone())
    }

    #[inline]
    fn build(
        status: i32,
        position: QueuePosition,
        pool: PoolHandle,
        kind: NodeKind,
        profiling: bool,
        traced: Option<Traced>,
        inner: Inner,
    ) -> Self {
        Self {
            status: AtomicI32::new(status),
            pending: AtomicU32::new(1),
            predecessor_failed: AtomicBool::new(false),
            outcome: AtomicI32::new(status::COMPLETE),
            position,
            pool,
            kind,
            profiling,
            termination: None,
            traced,
            times: [const { AtomicU64::new(0) }; TIMES],
            epoch: pool::epoch(),
            inner: Mutex::new(inner),
        }
    }

    /// Makes it a command of a context that can be terminated.
    #[inline]
    pub(crate) fn with_termination(mut self, termination: Option<Arc<Termination>>) -> Self {
        self.termination = termination;
        self
    }

    /// Gives it commands that execute as a part of it.
    #[inline]
    pub(crate) fn with_parts(self, parts: WaitList) -> Self {
        self.lock().parts = parts;
        self
    }

    /// The termination of its context, if that can be terminated.
    pub(crate) fn termination(&self) -> Option<&Arc<Termination>> {
        self.termination.as_ref()
    }

    /// Whether the termination of its context has begun.
    pub(crate) fn is_terminated(&self) -> bool {
        self.termination.as_ref().is_some_and(|termination| termination.has_begun())
    }

    /// Whether it runs. If not, it does not start after its context's termination has begun.
    pub(crate) fn is_running(&self) -> bool {
        let _inner = self.lock();
        self.status() == status::RUNNING
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// The status. A parent process's node that will never end reads as failed.
    pub(crate) fn status(&self) -> i32 {
        let now = self.status.load(Ordering::Acquire);
        if now > status::COMPLETE && self.epoch != pool::epoch() { status::OUT_OF_RESOURCES } else { now }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.status() <= status::COMPLETE
    }

    pub(crate) fn is_user(&self) -> bool {
        self.kind == NodeKind::User
    }

    /// Whether an explicit predecessor failed. Final once the command is ready.
    pub(crate) fn has_failed_predecessor(&self) -> bool {
        self.predecessor_failed.load(Ordering::Acquire)
    }

    /// Whether its times are recorded: for profiling, or for a trace.
    #[inline]
    fn is_timed(&self) -> bool {
        self.profiling || self.traced.is_some()
    }

    /// Records a profiling time, if somebody wants it.
    #[inline]
    pub(crate) fn record(&self, time: Timestamp) {
        if self.is_timed() {
            self.times[time as usize].store(now_ns(), Ordering::Relaxed);
        }
    }

    /// Records the start. A command with parts has been queued, submitted and started when the first of them has.
    pub(crate) fn record_start(&self) {
        self.record(Timestamp::Start);
        if self.is_timed() {
            // In a statement of its own: events are dropped without the lock.
            let parts = core::mem::take(&mut self.lock().parts);
            for part in parts {
                let times = part.0.recorded();
                for time in [Timestamp::Queued, Timestamp::Submit, Timestamp::Start] {
                    if times[time as usize] > 0 {
                        self.times[time as usize].fetch_min(times[time as usize], Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Records the end: that of the command's own work, unless it is known, and that of the whole command.
    pub(crate) fn record_end(&self) {
        if self.is_timed() {
            self.record(Timestamp::Complete);
            let complete = self.times[Timestamp::Complete as usize].load(Ordering::Relaxed);
            let end = &self.times[Timestamp::End as usize];
            let _ = end.compare_exchange(0, complete, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Adds to the trace that the calling thread submits the command.
    pub(crate) fn trace_submitted(&self) {
        if let Some(traced) = &self.traced {
            traced.submitted();
        }
    }

    /// Adds to the trace that the command is started.
    pub(crate) fn trace_start(&self) {
        if let Some(traced) = &self.traced {
            traced.started(self.position.queue);
        }
    }

    /// Adds the command to the trace: it ends with this status.
    pub(crate) fn trace_end(&self, status: i32) {
        if let Some(Traced { id, name, size }) = &self.traced {
            let [queued, submit, start, end, _] = self.recorded();
            let QueuePosition { queue, sequence, .. } = self.position;
            let work = size.and_then(|size| size.work);
            tracing::trace!(
                target: trace::TARGET,
                command = &**name, id, queue, number = sequence, queued, submit, start, end, status,
                items = size.map(|size| size.items), groups = size.map(|size| size.groups),
                argument_bytes = size.map(|size| size.argument_bytes),
                float_operations = work.map(|work| work.float_operations),
                int_operations = work.map(|work| work.int_operations),
                bytes = work.map(|work| work.bytes), is_bound = work.map(|work| work.is_bound),
            );
        }
    }

    /// Adds to the trace that these commands waited for this one.
    pub(crate) fn trace_waiting(&self, waiting: &[Dependant]) {
        let traced = |waiting: &Dependant| match waiting {
            Dependant::Node(node, _) => node.traced.as_ref().map(|traced| traced.id),
            // With a trace, no child is small.
            Dependant::Child(_) => None,
        };
        for before in waiting.iter().filter_map(traced) {
            let after = self.traced.as_ref().map_or(0, |traced| traced.id);
            tracing::trace!(target: trace::TARGET, before, after);
        }
    }

    /// The times, once the command has ended.
    pub(crate) fn times(&self) -> Option<[u64; TIMES]> {
        (self.profiling && self.is_ended()).then(|| self.recorded())
    }

    fn recorded(&self) -> [u64; TIMES] {
        core::array::from_fn(|i| self.times[i].load(Ordering::Relaxed))
    }

    /// Makes `later` wait for this one; false if this one has ended already.
    pub(crate) fn precede(&self, later: &Arc<Node>, dependency: Dependency) -> bool {
        let ended = self.add_dependant(|| {
            later.pending.fetch_add(1, Ordering::Relaxed);
            Dependant::Node(later.clone(), dependency)
        });
        if dependency == Dependency::Explicit && ended.is_some_and(|status| status < status::COMPLETE) {
            later.predecessor_failed.store(true, Ordering::Release);
        }
        ended.is_none()
    }

    /// Makes a small child wait for this command.
    pub(crate) fn precede_child(&self, later: &Arc<WaitingChild>) {
        let ended = self.add_dependant(|| {
            later.add_predecessor();
            Dependant::Child(later.clone())
        });
        if ended.is_some_and(|status| status < status::COMPLETE) {
            later.predecessor_failed();
        }
    }

    /// Adds what waits for this command, unless it has ended: then the result is its status.
    fn add_dependant(&self, counted: impl FnOnce() -> Dependant) -> Option<i32> {
        if self.is_ended() || self.epoch != pool::epoch() {
            return Some(self.status());
        }
        let mut inner = self.lock();
        let now = self.status();
        if now <= status::COMPLETE {
            return Some(now);
        }
        inner.dependants.push(counted());
        None
    }

    /// Removes one predecessor (or the submission); returns whether the command has become ready.
    pub(crate) fn release(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Handles the end of a predecessor with `status`; returns whether the command has become ready.
    pub(crate) fn predecessor_ended(&self, dependency: Dependency, status: i32) -> bool {
        if dependency == Dependency::Explicit && status < status::COMPLETE {
            self.predecessor_failed.store(true, Ordering::Release);
        }
        self.release()
    }

    /// Sets the status to running; returns the work, which only one thread gets, and the callbacks that are now due. A command
    /// of a terminated context does not run.
    pub(crate) fn begin(&self) -> (Option<Work>, DueCallbacks) {
        let mut inner = self.lock();
        if self.is_terminated() {
            return (None, SmallVec::new());
        }
        self.status.store(status::RUNNING, Ordering::Release);
        (inner.work.take(), due(&mut inner, status::RUNNING))
    }

    /// Takes the resources that the command keeps alive.
    pub(crate) fn take_resources(&self) -> (Option<Work>, KeepAlive, WaitList) {
        let mut inner = self.lock();
        (inner.work.take(), core::mem::take(&mut inner.keep), core::mem::take(&mut inner.parts))
    }

    /// Begins a command that may have children.
    pub(crate) fn begin_family(&self) {
        self.pending.store(1, Ordering::Relaxed);
    }

    /// Makes a command that may have children wait for one more, which leaves it by [`Node::leave_family`].
    pub(crate) fn add_member(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a descendant has failed: the first error is the command's, unless its own work fails.
    pub(crate) fn member_failed(&self, status: i32) {
        let _ = self.outcome.compare_exchange(status::COMPLETE, status, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Records the end of the own work of a command that may have children.
    pub(crate) fn end_work(&self, status: i32) {
        self.record(Timestamp::End);
        if status < status::COMPLETE {
            self.outcome.store(status, Ordering::Relaxed);
        }
    }

    /// Removes one child, or the own work; returns the final status if the command has ended thereby.
    pub(crate) fn leave_family(&self, status: i32) -> Option<i32> {
        if status < status::COMPLETE {
            self.member_failed(status);
        }
        self.release().then(|| self.outcome.load(Ordering::Relaxed))
    }

    /// Makes `callback` get the profiling times when the command ends. If it has ended, returns the callback and the times.
    pub(crate) fn on_times(&self, callback: TimesCallback) -> Option<(TimesCallback, [u64; TIMES])> {
        let mut inner = self.lock();
        match &mut inner.time_callbacks {
            Some(list) => {
                list.push(callback);
                None
            }
            None => {
                drop(inner);
                Some((callback, self.recorded()))
            }
        }
    }

    /// Calls the functions that get the profiling times.
    pub(crate) fn report_times(&self) {
        let list = self.lock().time_callbacks.take();
        for callback in list.into_iter().flatten() {
            callback(self.recorded());
        }
    }

    /// Sets a status that is not final; returns the callbacks that are now due.
    pub(crate) fn advance(&self, to: i32) -> DueCallbacks {
        let mut inner = self.lock();
        if self.is_terminated() {
            // It may have ended.
            return SmallVec::new();
        }
        self.status.store(to, Ordering::Release);
        due(&mut inner, to)
    }

    /// Sets the final status; `None` when there already is one. `retired` is freed with the node.
    pub(crate) fn end(&self, status: i32, retired: Option<Box<Launch>>) -> Option<Completion> {
        let mut inner = self.lock();
        if self.status.load(Ordering::Acquire) <= status::COMPLETE {
            return None;
        }
        inner.retired = retired;
        let callbacks = due(&mut inner, status);
        let has_callbacks = !callbacks.is_empty();
        if has_callbacks {
            pool::make_due(self.callback_source(), callbacks, || self.status.store(status, Ordering::Release));
        } else {
            self.status.store(status, Ordering::Release);
        }
        Some(Completion {
            dependants: core::mem::take(&mut inner.dependants),
            has_callbacks,
            waiters: core::mem::take(&mut inner.waiters),
        })
    }

    /// Registers a callback. If its status has already been reached, returns the callback and its argument instead.
    pub(crate) fn on_status(&self, threshold: i32, callback: StatusCallback) -> Option<(i32, StatusCallback)> {
        if self.epoch != pool::epoch() {
            return Some((callback_status(self.status(), threshold), callback));
        }
        let mut inner = self.lock();
        let now = self.status();
        if now <= threshold {
            return Some((callback_status(now, threshold), callback));
        }
        inner.callbacks.push((threshold, callback));
        None
    }

    /// Whose its callbacks are, for threads that wait for them.
    pub(crate) fn callback_source(&self) -> CallbackSource {
        match self.kind {
            NodeKind::User => CallbackSource::UserEvents,
            NodeKind::Nothing | NodeKind::Launch | NodeKind::Task => CallbackSource::Queue(self.position.queue),
        }
    }

    /// Registers a signal to be raised at the end; false when the command has already ended.
    pub(crate) fn register_waiter(&self, signal: &Arc<Signal>) -> bool {
        if self.is_ended() {
            return false;
        }
        let mut inner = self.lock();
        if self.is_ended() {
            return false;
        }
        inner.waiters.push(signal.clone());
        true
    }

    /// Removes a signal.
    pub(crate) fn unregister_waiter(&self, signal: &Arc<Signal>) {
        if !self.is_ended() {
            self.lock().waiters.retain(|other| !Arc::ptr_eq(other, signal));
        }
    }

    /// Records why the command failed; only the first message is kept.
    pub(crate) fn set_fault(&self, message: String) {
        self.lock().fault.get_or_insert(message);
    }

    /// Number of commands that wait for this one.
    #[cfg(test)]
    pub(super) fn dependant_count(&self) -> usize {
        self.lock().dependants.len()
    }

    /// The resources that the command keeps alive.
    pub(crate) fn kept(&self) -> KeepAlive {
        self.lock().keep.clone()
    }

    /// The reason for the failure and its receiver, if there are both.
    pub(crate) fn report(&self) -> Option<(String, ErrorSink)> {
        let mut inner = self.lock();
        let errors = inner.errors.take();
        inner.fault.clone().zip(errors)
    }

    pub(crate) fn fault(&self) -> Option<String> {
        if self.epoch != pool::epoch() {
            return None;
        }
        self.lock().fault.clone()
    }
}

/// What remains to be done when a command has ended.
pub(crate) struct Completion {
    pub(crate) dependants: Dependants,
    /// Whether it made callbacks due.
    pub(crate) has_callbacks: bool,
    pub(crate) waiters: SmallVec<[Arc<Signal>; 1]>,
}

/// The argument of a callback: the status it was registered for, or the error.
fn callback_status(now: i32, threshold: i32) -> i32 {
    if now < status::COMPLETE { now } else { threshold }
}

/// Removes the callbacks whose status has been reached: earlier statuses first, then in the order of registration.
fn due(inner: &mut Inner, now: i32) -> DueCallbacks {
    if inner.callbacks.is_empty() {
        return SmallVec::new();
    }
    let (mut reached, rest): (DueCallbacks, DueCallbacks) =
        core::mem::take(&mut inner.callbacks).into_iter().partition(|(threshold, _)| now <= *threshold);
    inner.callbacks = rest;
    reached.sort_by_key(|(threshold, _)| core::cmp::Reverse(*threshold));
    for (threshold, _) in &mut reached {
        *threshold = callback_status(now, *threshold);
    }
    reached
}

impl Drop for Node {
    /// A user event whose status can no longer be set fails its dependants; otherwise they would wait forever.
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        if self.epoch != pool::epoch() {
            // In the child of a fork: the parent's dependants, a chain of any length that will never run. They are leaked.
            core::mem::forget(core::mem::take(&mut inner.dependants));
            return;
        }
        if self.kind != NodeKind::User || self.status.load(Ordering::Relaxed) <= status::COMPLETE {
            return;
        }
        let dependants = core::mem::take(&mut inner.dependants);
        if !dependants.is_empty() {
            settle::run(SettleStep::Release(dependants, status::WAIT_LIST_FAILED), |_| false);
        }
    }
}
