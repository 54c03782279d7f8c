//! Stopping threads that are in generated code. A thread of its own (the *watch*) sends them a signal, again and again until they
//! have left: a thread may be in a function of the runtime, which is not left. The watch is started when it is first needed:
//! with a time limit, by the first launch; otherwise when a launch fails on one of several threads. It sleeps until the next
//! time limit, or until it is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{StopReason, handler, threads};
use crate::clock::now_ns;
use crate::graph::Termination;
use crate::sync::plain::{Condvar, Mutex, MutexGuard};
use crate::{pool, sys};

/// Nanoseconds; 0 for none.
static TIME_LIMIT: AtomicU64 = AtomicU64::new(0);

/// Time between two signals to a thread.
const AGAIN_NS: u64 = 2_000_000;

/// Stack of the watch.
const STACK_BYTES: usize = 256 << 10;

static WATCH: Watch = Watch {
    state: Mutex::new(WatchState { runs_in: None, needed: false }),
    changed: Condvar::new(),
    idle: AtomicBool::new(true),
};

struct Watch {
    state: Mutex<WatchState>,
    changed: Condvar,
    /// Whether it sleeps although work with a time limit may begin, or does not run yet.
    idle: AtomicBool,
}

pub(crate) struct WatchState {
    /// The epoch (number of forks) of the process in which it runs.
    runs_in: Option<u32>,
    /// Whether it is to look at all threads again.
    needed: bool,
}

/// Sets the time limit of launches.
pub(super) fn set_time_limit(limit: Duration) {
    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
    let _ = TIME_LIMIT.compare_exchange(0, limit, Ordering::SeqCst, Ordering::SeqCst);
}

/// Called when a thread has begun to work on a launch.
pub(super) fn work_begins() {
    if TIME_LIMIT.load(Ordering::Relaxed) == 0 {
        return;
    }
    // The watch either sees the work, or this thread sees that the watch sleeps.
    std::sync::atomic::fence(Ordering::SeqCst);
    if WATCH.idle.load(Ordering::SeqCst) {
        wake();
    }
}

/// Stops all other threads that work on a launch.
pub(crate) fn stop_launch(launch: usize) {
    if threads::request_stop_of(launch) {
        wake();
    }
}

/// Stops all threads that work on launches of a context that is terminated.
pub(crate) fn stop_terminated(termination: &Arc<Termination>) {
    if threads::request_stop_of_context(Arc::as_ptr(termination).addr()) {
        wake();
    }
}

fn wake() {
    let mut state = WATCH.state.lock();
    state.needed = true;
    if state.runs_in != Some(pool::epoch()) {
        let builder = std::thread::Builder::new().name("clift-watch".to_owned()).stack_size(STACK_BYTES);
        match sys::with_signals_blocked(|| builder.spawn(watch)) {
            Ok(_) => state.runs_in = Some(pool::epoch()),
            Err(error) => tracing::error!(%error, "the thread that stops kernels could not be started"),
        }
    }
    drop(state);
    WATCH.changed.notify_one();
}

/// Lets the watch see that there are no more queues.
pub(crate) fn no_more_queues() {
    let state = WATCH.state.lock();
    WATCH.changed.notify_one();
    drop(state);
}

/// The loop of the watch, which leaves when there is nothing to watch and there are no queues.
fn watch() {
    let mut state = WATCH.state.lock();
    loop {
        state.needed = false;
        WATCH.idle.store(false, Ordering::SeqCst);
        drop(state);
        let mut wait = look();
        state = WATCH.state.lock();
        if wait.is_none() {
            // From here on, new work wakes it.
            WATCH.idle.store(true, Ordering::SeqCst);
            std::sync::atomic::fence(Ordering::SeqCst);
            wait = look();
        }
        if !state.needed {
            state = match wait {
                Some(time) => WATCH.changed.wait_timeout(state, Duration::from_nanos(time)),
                None if pool::has_queues() => WATCH.changed.wait(state),
                None => {
                    state.runs_in = None;
                    return;
                }
            };
        }
    }
}

/// Sends the signals that are due, and returns the nanoseconds until it has to look again: `None` if no thread works under a time
/// limit or has been asked to stop.
fn look() -> Option<u64> {
    let limit = Some(TIME_LIMIT.load(Ordering::Relaxed)).filter(|limit| *limit != 0);
    let signal = handler::stop_signal();
    let now = now_ns();
    let mut wait: Option<u64> = None;
    threads::for_each_working(|record, work, started| {
        let left = limit.map(|limit| started.saturating_add(limit).saturating_sub(now));
        if left == Some(0) {
            record.request_stop(work, StopReason::TimeLimit);
        }
        let next = if record.stop_requested().is_some() {
            if let Some(signal) = signal {
                sys::signal_thread(record.tid.load(std::sync::atomic::Ordering::Relaxed), signal);
            }
            Some(AGAIN_NS)
        } else {
            left
        };
        wait = match (wait, next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    });
    wait
}

/// The locks of this module, for a thread that forks.
pub(crate) fn lock_for_fork() -> ForkLocks {
    let state = WATCH.state.lock();
    (state, threads::lock_owners(), handler::lock_installed())
}

/// The locks that a forking thread holds.
pub(crate) type ForkLocks =
    (MutexGuard<'static, WatchState>, MutexGuard<'static, ()>, MutexGuard<'static, [usize; handler::SIGNALS]>);

/// In the child of a fork: the watch does not run there.
pub(super) fn after_fork_child() {
    WATCH.idle.store(true, Ordering::SeqCst);
}
