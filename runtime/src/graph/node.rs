//! The state behind an [`Event`](super::Event): one allocation per command.
//!
//! All fields that several threads change together are under one small lock, which is never held while foreign code runs.
//! The status is also readable without it. Lock order: a queue's lock, then a node's; never two nodes' at once.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::queue::{Keep, Work};
use super::settle::{self, Step};
use crate::clock::now_ns;
use crate::launch::Launch;
use crate::pool::{Crew, Signal};
use crate::{pool, status};

/// A callback on a status: told the status it was registered for, or the error that ended the command.
pub(crate) type StatusCallback = Box<dyn FnOnce(i32) + Send>;

/// Callbacks to be called now, each with the status to tell it.
pub(crate) type DueCallbacks = SmallVec<[(i32, StatusCallback); 1]>;

/// Where a command comes from: who may help with it is decided by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The queue's number, 0 for a user event.
    pub(crate) queue: u64,
    /// Position in that queue.
    pub(crate) sequence: u64,
    /// Whether the queue is in-order: then everything before a command has to end before it.
    pub(crate) in_order: bool,
}

/// The four profiling times.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    Queued,
    Submit,
    Start,
    End,
}

/// What kind of thing a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A user event.
    User,
    /// A command that does nothing: a marker, a barrier, a launch without work-items.
    Nothing,
    /// A kernel launch.
    Launch,
    /// A function.
    Task,
}

/// A command, or a user event (a node without work whose status is set from outside).
pub(crate) struct Node {
    status: AtomicI32,
    /// Unfinished predecessors, plus one while the command is being submitted.
    pending: AtomicU32,
    /// Whether an explicit predecessor failed.
    doomed: AtomicBool,
    pub(crate) origin: Origin,
    /// Who runs it.
    pub(crate) crew: Crew,
    pub(crate) kind: Kind,
    profiling: bool,
    times: [AtomicU64; 4],
    /// The process (counted by forks) the node belongs to: in a child, a parent's unfinished node never ends.
    epoch: u32,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    work: Option<Work>,
    keep: Keep,
    dependants: SmallVec<[(Arc<Node>, Edge); 2]>,
    callbacks: SmallVec<[(i32, StatusCallback); 1]>,
    waiters: SmallVec<[Arc<Signal>; 1]>,
    fault: Option<String>,
    /// What is left of a launch: memory to be freed with the node. See [`super::queue`].
    spent: Option<Box<Launch>>,
}

/// Whether a failure passes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// From the wait list: it does.
    Explicit,
    /// From queue order: it does not.
    Implicit,
}

impl Node {
    /// A user event: submitted, waiting for its status.
    pub(crate) fn user() -> Self {
        let origin = Origin { queue: 0, sequence: 0, in_order: false };
        Self::build(status::SUBMITTED, origin, Crew::whole(), Kind::User, false, Inner::default())
    }

    /// A command being submitted; the end of the submission ends that.
    pub(crate) fn command(origin: Origin, crew: Crew, profiling: bool, work: Work, keep: Keep) -> Self {
        let kind = match &work {
            Work::Marker | Work::Barrier => Kind::Nothing,
            Work::Launch(launch) if launch.nd.total_groups() == 0 => Kind::Nothing,
            Work::Launch(_) => Kind::Launch,
            Work::Task(_) => Kind::Task,
        };
        let inner = Inner { work: Some(work), keep, ..Inner::default() };
        let node = Self::build(status::QUEUED, origin, crew, kind, profiling, inner);
        node.record(Time::Queued);
        node
    }

    fn build(status: i32, origin: Origin, crew: Crew, kind: Kind, profiling: bool, inner: Inner) -> Self {
        Self {
            status: AtomicI32::new(status),
            pending: AtomicU32::new(1),
            doomed: AtomicBool::new(false),
            origin,
            crew,
            kind,
            profiling,
            times: [const { AtomicU64::new(0) }; 4],
            epoch: pool::epoch(),
            inner: Mutex::new(inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The status; a node of the parent process that will never end reads as failed.
    pub(crate) fn status(&self) -> i32 {
        let now = self.status.load(Ordering::Acquire);
        if now > status::COMPLETE && self.epoch != pool::epoch() { status::OUT_OF_RESOURCES } else { now }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.status() <= status::COMPLETE
    }

    pub(crate) fn is_user(&self) -> bool {
        self.kind == Kind::User
    }

    /// Whether an explicit predecessor failed. Final once the command is ready.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// Notes the time of a step when the queue profiles.
    pub(crate) fn record(&self, time: Time) {
        if self.profiling {
            self.times[time as usize].store(now_ns(), Ordering::Relaxed);
        }
    }

    /// The times, once the command has ended.
    pub(crate) fn times(&self) -> Option<[u64; 4]> {
        if !self.profiling || !self.is_ended() {
            return None;
        }
        Some(core::array::from_fn(|i| self.times[i].load(Ordering::Relaxed)))
    }

    /// Makes `later` wait for this one, unless this one has ended already.
    pub(crate) fn precede(&self, later: &Arc<Node>, edge: Edge) {
        if self.is_ended() || self.epoch != pool::epoch() {
            if edge == Edge::Explicit && self.status() < status::COMPLETE {
                later.doomed.store(true, Ordering::Release);
            }
            return;
        }
        let mut inner = self.lock();
        let now = self.status();
        if now > status::COMPLETE {
            later.pending.fetch_add(1, Ordering::Relaxed);
            inner.dependants.push((later.clone(), edge));
        } else if edge == Edge::Explicit && now < status::COMPLETE {
            later.doomed.store(true, Ordering::Release);
        }
    }

    /// One predecessor (or the submission) is done with; says whether the command has become ready.
    pub(crate) fn release(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// A predecessor ended with `status`; says whether the command has become ready.
    pub(crate) fn predecessor_ended(&self, edge: Edge, status: i32) -> bool {
        if edge == Edge::Explicit && status < status::COMPLETE {
            self.doomed.store(true, Ordering::Release);
        }
        self.release()
    }

    /// The command runs: takes its work, which only one thread gets, and the callbacks this makes due.
    pub(crate) fn begin(&self) -> (Option<Work>, DueCallbacks) {
        let mut inner = self.lock();
        self.status.store(status::RUNNING, Ordering::Release);
        (inner.work.take(), due(&mut inner, status::RUNNING))
    }

    /// Takes what the command has kept alive.
    pub(crate) fn take_belongings(&self) -> (Option<Work>, Keep) {
        let mut inner = self.lock();
        (inner.work.take(), core::mem::take(&mut inner.keep))
    }

    /// Moves on to a status that is not final and returns the callbacks this makes due.
    pub(crate) fn advance(&self, to: i32) -> DueCallbacks {
        let mut inner = self.lock();
        self.status.store(to, Ordering::Release);
        due(&mut inner, to)
    }

    /// Sets the final status; `None` when there is one already. `spent` is freed with the node.
    pub(crate) fn end(&self, status: i32, spent: Option<Box<Launch>>) -> Option<Aftermath> {
        let mut inner = self.lock();
        inner.spent = spent;
        if self.status.load(Ordering::Acquire) <= status::COMPLETE {
            return None;
        }
        self.status.store(status, Ordering::Release);
        Some(Aftermath {
            dependants: core::mem::take(&mut inner.dependants),
            callbacks: due(&mut inner, status),
            waiters: core::mem::take(&mut inner.waiters),
        })
    }

    /// Registers a callback, or hands it back with the status to tell it when that status is already past.
    pub(crate) fn on_status(&self, threshold: i32, callback: StatusCallback) -> Option<(i32, StatusCallback)> {
        if self.epoch != pool::epoch() {
            return Some((told(self.status(), threshold), callback));
        }
        let mut inner = self.lock();
        let now = self.status();
        if now <= threshold {
            return Some((told(now, threshold), callback));
        }
        inner.callbacks.push((threshold, callback));
        None
    }

    /// Registers a signal to be raised at the end; false when that is past.
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

    /// Takes a signal out again.
    pub(crate) fn unregister_waiter(&self, signal: &Arc<Signal>) {
        if !self.is_ended() {
            self.lock().waiters.retain(|other| !Arc::ptr_eq(other, signal));
        }
    }

    /// Remembers why the command failed; the first message counts.
    pub(crate) fn set_fault(&self, message: String) {
        self.lock().fault.get_or_insert(message);
    }

    pub(crate) fn fault(&self) -> Option<String> {
        if self.epoch != pool::epoch() {
            return None;
        }
        self.lock().fault.clone()
    }
}

/// What the end of a command sets off.
pub(crate) struct Aftermath {
    pub(crate) dependants: SmallVec<[(Arc<Node>, Edge); 2]>,
    pub(crate) callbacks: DueCallbacks,
    pub(crate) waiters: SmallVec<[Arc<Signal>; 1]>,
}

/// The status a callback is told: the one it asked for, or the error.
fn told(now: i32, threshold: i32) -> i32 {
    if now < status::COMPLETE { now } else { threshold }
}

/// Takes the callbacks whose status is reached, the earliest status first, in the order of registration.
fn due(inner: &mut Inner, now: i32) -> DueCallbacks {
    if inner.callbacks.is_empty() {
        return SmallVec::new();
    }
    let (mut reached, rest): (DueCallbacks, DueCallbacks) =
        core::mem::take(&mut inner.callbacks).into_iter().partition(|(threshold, _)| now <= *threshold);
    inner.callbacks = rest;
    reached.sort_by_key(|(threshold, _)| core::cmp::Reverse(*threshold));
    for (threshold, _) in &mut reached {
        *threshold = told(now, *threshold);
    }
    reached
}

impl Drop for Node {
    /// A user event nobody can set any more fails its dependants: they would wait for ever.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.epoch != pool::epoch() {
            // The parent's, in the child of a fork: a chain of any length, which nobody runs. It is left alone.
            core::mem::forget(core::mem::take(&mut inner.dependants));
            return;
        }
        if self.kind != Kind::User || *self.status.get_mut() <= status::COMPLETE {
            return;
        }
        let dependants = core::mem::take(&mut inner.dependants);
        if !dependants.is_empty() {
            settle::run(Step::Release(dependants, status::WAIT_LIST_FAILED), |_| false);
        }
    }
}
