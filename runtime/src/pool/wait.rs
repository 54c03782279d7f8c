//! Threads that wait for a command: they help, spin, and park.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::jobs::Wanted;
use super::worker::{WAITER_PACE, on_worker, own_pool, run, spin};
use super::{Pool, SHARED, take_anywhere};
use crate::graph::{self, Node};
use crate::launch;

/// How often a parked thread looks around while nobody else would do its work.
const UNMANNED_LOOK: Duration = Duration::from_millis(1);

/// What a parked thread is woken by. (Not `std::thread::park`: applications wait in destructors, too, when their thread
/// has lost its handle.)
#[derive(Default)]
pub(crate) struct Signal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Wakes the thread, now or when it goes to sleep.
    pub(crate) fn raise(&self) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn sleep(&self, at_most: Option<Duration>) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match at_most {
            Some(time) if !*raised => drop(self.changed.wait_timeout(raised, time)),
            Some(_) => {}
            None => {
                while !*raised {
                    raised = self.changed.wait(raised).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Waits for a command or user event to end.
pub(crate) fn wait(node: &Arc<Node>) {
    let wanted = if node.origin.in_order { Wanted::UpTo(node.origin) } else { Wanted::Just(node.origin) };
    wait_helping(node, wanted);
}

/// Waits for the command, and helps with any before it in its queue.
pub(crate) fn wait_for_queue(node: &Arc<Node>) {
    wait_helping(node, Wanted::UpTo(node.origin));
}

fn wait_helping(node: &Arc<Node>, own: Wanted) {
    graph::drain_here();
    // A worker that waits keeps its own pool going.
    let pool = own_pool().unwrap_or_else(|| node.crew.pool());
    while !node.is_ended() {
        let wanted = if on_worker() { Wanted::Any } else { own };
        let look = || {
            if pool.is_unmanned() {
                take_anywhere()
            } else if on_worker() || pool.takes_help() {
                pool.take(wanted)
            } else {
                None
            }
        };
        let mut job = look();
        if job.is_none() {
            // The list is looked into again only when something has changed: it may hold jobs that are none of ours.
            let mut seen = pool.changes();
            spin(pool.size(), WAITER_PACE, || {
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
                    !node.is_ended() && (pool.is_unmanned() || wanted.accepts(next.origin))
                }));
            }
            None => park(pool, node),
        }
    }
    launch::trim_arenas();
}

/// Sleeps until the node has ended, or until the thread should look for work again.
fn park(pool: &Pool, node: &Arc<Node>) {
    let signal = Arc::new(Signal::default());
    if !node.register_waiter(&signal) {
        return;
    }
    SHARED.waiting().push(signal.clone());
    let look = (pool.is_unmanned() || on_worker()).then_some(UNMANNED_LOOK);
    signal.sleep(look);
    SHARED.waiting().retain(|other| !Arc::ptr_eq(other, &signal));
    node.unregister_waiter(&signal);
}
