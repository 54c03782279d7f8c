//! Threads that wait for a command: they help, spin, and park.

use std::sync::Arc;
use std::time::Duration;

use super::jobs::JobFilter;
use super::worker::{WAITER_POLL_PAUSES, on_worker, own_pool, run, spin};
use super::{CallbackSource, Pool, SHARED, take_from_any_pool};
use crate::graph::{self, Node};
use crate::launch;
use crate::sync::{Condvar, Mutex};

/// How often a parked thread polls for work when no worker would execute it.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// What a waiting thread sleeps on. (Not `std::thread::park`: applications also wait in destructors, when the thread's handle
/// no longer exists.)
#[derive(Default)]
pub(crate) struct Signal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Wakes the thread, now or when it is about to sleep.
    pub(crate) fn raise(&self) {
        *self.raised.lock() = true;
        self.changed.notify_all();
    }

    /// Sleeps until it is raised, or for a limited time.
    pub(super) fn sleep(&self, at_most: Option<Duration>) {
        let mut raised = self.raised.lock();
        match at_most {
            Some(time) if !*raised => drop(self.changed.wait_timeout(raised, time)),
            Some(_) => {}
            None => {
                while !*raised {
                    raised = self.changed.wait(raised);
                }
            }
        }
    }
}

/// Waits for a command or user event to end.
pub(crate) fn wait(node: &Arc<Node>) {
    let wanted = if node.position.in_order { JobFilter::UpTo(node.position) } else { JobFilter::Only(node.position) };
    wait_helping(node, wanted);
}

/// Waits for the command, and helps with all commands up to it in its queue.
pub(crate) fn wait_for_queue(node: &Arc<Node>) {
    wait_helping(node, JobFilter::UpTo(node.position));
}

fn wait_helping(node: &Arc<Node>, own: JobFilter) {
    graph::drain_here();
    // A waiting worker helps with jobs of its own pool.
    let pool = own_pool().unwrap_or_else(|| node.pool.get());
    while !node.is_ended() {
        let wanted = if on_worker() { JobFilter::Any } else { own };
        let look = || {
            if pool.has_no_workers() {
                take_from_any_pool()
            } else if on_worker() || pool.allows_helpers() {
                pool.take(wanted)
            } else {
                None
            }
        };
        let mut job = look();
        if job.is_none() {
            // The list is searched again only after a change: it may contain jobs that this thread may not take.
            let mut seen = pool.changes();
            spin(pool.size(), WAITER_POLL_PAUSES, || {
                let now = pool.changes();
                if now != seen {
                    seen = now;
                    job = look();
                }
                job.is_some() || node.is_ended()
            });
        }
        match job {
            Some((job, busy)) => {
                let of = job.pool();
                drop(run(of, job, busy, |next| {
                    !node.is_ended() && (pool.has_no_workers() || wanted.accepts(next.position))
                }));
            }
            None => park(pool, node),
        }
    }
    launch::trim_arenas();
    wait_for_callbacks(node.callback_source());
}

/// Waits until the callbacks of `source` that are due have been called, for a limited time. Workers do not wait.
fn wait_for_callbacks(source: CallbackSource) {
    if !on_worker() {
        SHARED.strand.wait_until_called(source);
    }
}

/// Sleeps until the node has ended, or until the thread should poll for work again.
fn park(pool: &Pool, node: &Arc<Node>) {
    let signal = Arc::new(Signal::default());
    if !node.register_waiter(&signal) {
        return;
    }
    SHARED.waiting().push(signal.clone());
    let look = (pool.has_no_workers() || on_worker()).then_some(POLL_INTERVAL);
    signal.sleep(look);
    SHARED.waiting().retain(|other| !Arc::ptr_eq(other, &signal));
    node.unregister_waiter(&signal);
}

/// As [`wait_for_callbacks`] if `may_wait`, at the end of the source.
pub(crate) fn leave_callbacks(source: CallbackSource, may_wait: bool) {
    if may_wait {
        wait_for_callbacks(source);
    }
    SHARED.strand.forget_source(source);
}
