//! The handle of a command or user event.

use std::sync::Arc;

use super::node::{DueCallbacks, Node, StatusCallback};
use super::settle::{self, Step};
use crate::{pool, status};

/// What became, or is to become, of a command; or a *user event*, whose status is set from outside. Cloning is cheap.
///
/// When the last handle of a user event goes without its status having been set, the commands that wait for it fail.
#[derive(Clone)]
pub struct Event(pub(crate) Arc<Node>);

/// A user event's status can be set once only, and a command's not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event's status is already set")]
pub struct AlreadySet;

/// When a command passed from state to state, in nanoseconds of [`crate::clock::now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilingTimes {
    /// Put into its queue.
    pub queued: u64,
    /// Handed to the pool: nothing left to wait for.
    pub submit: u64,
    /// Started.
    pub start: u64,
    /// Ended.
    pub end: u64,
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

    /// Sets a user event's status, 0 or negative; other numbers count as an error too.
    pub fn set_user_status(&self, status: i32) -> Result<(), AlreadySet> {
        if !self.is_user() || self.0.is_ended() {
            return Err(AlreadySet);
        }
        let status = if status > status::COMPLETE { status::OUT_OF_RESOURCES } else { status };
        let aftermath = self.0.end(status, None).ok_or(AlreadySet)?;
        settle::run(Step::Aftermath(aftermath, status), |_| false);
        Ok(())
    }

    /// The status with OpenCL's numbers, see [`crate::status`].
    pub fn status(&self) -> i32 {
        self.0.status()
    }

    /// Waits for the end and returns the final status. The calling thread helps with work the event waits for instead of
    /// sleeping, when it can.
    pub fn wait(&self) -> i32 {
        pool::wait(&self.0);
        self.0.status()
    }

    /// Calls `callback` once, when the status has come down to `threshold` ([`status::SUBMITTED`], [`status::RUNNING`] or
    /// [`status::COMPLETE`]) or the command failed, or soon when that is already past: with `threshold`, or with the error.
    ///
    /// Callbacks are called one after the other in the order they became due, by a thread of their own and with no lock
    /// held. A panic in one ends with it.
    pub fn on_status(&self, threshold: i32, callback: StatusCallback) {
        if let Some(due) = self.0.on_status(threshold, callback) {
            pool::call_back(DueCallbacks::from_iter([due]));
        }
    }

    /// The profiling times; `None` before the end, for user events, and when the queue does not profile.
    pub fn times(&self) -> Option<ProfilingTimes> {
        let [queued, submit, start, end] = self.0.times()?;
        Some(ProfilingTimes { queued, submit, start, end })
    }

    /// Why the command failed, as far as the kernel or the runtime said it.
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
        f.debug_struct("Event").field("origin", &self.0.origin).field("status", &self.status()).finish()
    }
}
