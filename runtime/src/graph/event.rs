//! The handle of a command or a user event.

use std::sync::Arc;

use super::node::{Dependency, DueCallbacks, Node, StatusCallback};
use super::settle::{self, SettleStep};
use crate::{pool, status, trace};

/// A handle of a command, or of a *user event*, whose status the application sets. Cloning is cheap.
///
/// When the last handle of a user event is dropped before its status has been set, the commands that wait for it fail.
#[derive(Clone)]
pub struct Event(pub(crate) Arc<Node>);

/// A user event's status can be set only once, and a command's not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event's status is already set")]
pub struct AlreadySet;

/// The times at which a command changed its status, in nanoseconds of [`crate::clock::now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilingTimes {
    /// Submitted to its queue.
    pub queued: u64,
    /// All its dependencies are satisfied, and it was given to the pool.
    pub submit: u64,
    /// Started.
    pub start: u64,
    /// Ended.
    pub end: u64,
    /// Ended with all child commands.
    pub complete: u64,
}

impl Event {
    /// A user event with status [`status::SUBMITTED`].
    pub fn user() -> Self {
        Self(Arc::new(Node::user()))
    }

    /// Whether this is a user event.
    pub fn is_user(&self) -> bool {
        self.0.is_user()
    }

    /// Sets a user event's status, 0 or negative; a positive number counts as an error.
    pub fn set_user_status(&self, status: i32) -> Result<(), AlreadySet> {
        if !self.is_user() || self.0.is_ended() {
            return Err(AlreadySet);
        }
        let status = if status > status::COMPLETE { status::OUT_OF_RESOURCES } else { status };
        let completion = self.0.end(status, None).ok_or(AlreadySet)?;
        if trace::is_enabled() {
            self.0.trace_waiting(&completion.dependants);
        }
        settle::run(SettleStep::Completion(completion, status), |_| false);
        Ok(())
    }

    /// Makes a user event end with another event, with the same status. Does nothing if its status is already set.
    pub fn end_with(&self, other: &Event) {
        if self.is_user() && !other.0.precede(&self.0, Dependency::Gate) {
            let _ = self.set_user_status(other.status());
        }
    }

    /// The status with OpenCL's numbers, see [`crate::status`].
    pub fn status(&self) -> i32 {
        self.0.status()
    }

    /// Waits for the end and returns the final status. Instead of sleeping, the calling thread executes work that the event waits
    /// for if it can.
    pub fn wait(&self) -> i32 {
        pool::wait(&self.0);
        self.0.status()
    }

    /// Calls `callback` once, when the status has reached `threshold` ([`status::SUBMITTED`], [`status::RUNNING`] or
    /// [`status::COMPLETE`]) or the command has failed. If that has already happened, the call follows soon. The argument is
    /// `threshold`, or the error.
    ///
    /// A dedicated thread calls callbacks one after the other, in the order they became due, and with no lock held. A panic ends
    /// only the callback that caused it.
    pub fn on_status(&self, threshold: i32, callback: StatusCallback) {
        if let Some(due) = self.0.on_status(threshold, callback) {
            pool::call_back(self.0.callback_source(), DueCallbacks::from_iter([due]));
        }
    }

    /// The profiling times; `None` before the end, for user events, and when profiling is disabled.
    pub fn times(&self) -> Option<ProfilingTimes> {
        let [queued, submit, start, end, complete] = self.0.times()?;
        Some(ProfilingTimes { queued, submit, start, end, complete })
    }

    /// Why the command failed, if the kernel or the runtime reported a reason.
    pub fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    /// Whether both are handles of the same command.
    pub fn same(&self, other: &Event) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl core::fmt::Debug for Event {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Event").field("position", &self.0.position).field("status", &self.status()).finish()
    }
}
