//! Small children that wait for events. The end of the last event lets such a child begin: it joins the lists of its family.
//!
//! Like a command, it counts what it still waits for, and one until its flag lets it begin. Whoever removes the last takes the
//! child. `models.rs` runs this in all orders.
//!
//! Not here: a child of a context that can be terminated. Termination has to find what waits, so such a child is a command.

use std::sync::Arc;

use super::family::{Family, SmallChild};
use crate::graph::Event;
use crate::status;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A small child that waits for events.
pub(crate) struct WaitingChild {
    family: Arc<Family>,
    child: Waiting<SmallChild>,
}

impl WaitingChild {
    /// A child that has been counted by its family, which begins once the events have ended and
    /// [`WaitingChild::predecessor_ended`] has been called for its flag.
    pub(super) fn new(family: Arc<Family>, child: SmallChild, events: &[Event]) -> Arc<Self> {
        let waiting = Arc::new(Self { family, child: Waiting::new(child) });
        for event in events {
            event.0.precede_child(&waiting);
        }
        waiting
    }

    /// Counts an event that it waits for.
    pub(crate) fn add_predecessor(&self) {
        self.child.add_predecessor();
    }

    /// Records that an event that it need not wait for has failed.
    pub(crate) fn predecessor_failed(&self) {
        self.child.fail();
    }

    /// Handles the end of an event, or of what its flag waits for, with this status. After the last one the child begins.
    pub(crate) fn predecessor_ended(&self, status: i32) {
        if let Some((child, status)) = self.child.predecessor_ended(status) {
            self.family.begin(child, status);
        }
    }
}

/// Something that waits for its predecessors and its submission.
pub(super) struct Waiting<T> {
    /// Number of unfinished predecessors, plus one for the submission.
    predecessors: AtomicU32,
    has_failed: AtomicBool,
    waiting: Mutex<Option<T>>,
}

impl<T> Waiting<T> {
    /// Without predecessors, not submitted yet.
    pub(super) fn new(waiting: T) -> Self {
        Self { predecessors: AtomicU32::new(1), has_failed: AtomicBool::new(false), waiting: Mutex::new(Some(waiting)) }
    }

    pub(super) fn add_predecessor(&self) {
        self.predecessors.fetch_add(1, Ordering::Relaxed);
    }

    fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Handles the end of a predecessor, or of the submission. After the last one, returns what has waited, with a status that
    /// is an error if one of them has failed.
    pub(super) fn predecessor_ended(&self, status: i32) -> Option<(T, i32)> {
        if status < status::COMPLETE {
            self.fail();
        }
        if self.predecessors.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let has_failed = self.has_failed.load(Ordering::Relaxed);
        let status = if has_failed { status::WAIT_LIST_FAILED } else { status::COMPLETE };
        self.waiting.lock().take().map(|waiting| (waiting, status))
    }
}
