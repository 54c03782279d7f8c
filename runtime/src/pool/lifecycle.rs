//! The pool and its process: fork and exit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Once};
use std::time::{Duration, Instant};

use super::sleep::Bed;
use super::strand::State;
use super::{EPOCH, Job, POOL, Signal, Staff};
use crate::sys;

/// Longest time process exit waits for workers to leave what they run.
const EXIT_PATIENCE: Duration = Duration::from_millis(100);

/// Registers the handlers, once per process and its children.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !sys::at_exit(leave) {
            tracing::warn!("no handler for process exit could be registered");
        }
        if !sys::at_fork(before_fork, after_fork_parent, after_fork_child) {
            tracing::warn!("no handlers for fork could be registered");
        }
    });
}

/// Process exit: has the workers stop, see `README.md`.
extern "C" fn leave() {
    POOL.exiting.store(true, Ordering::SeqCst);
    // Sleepers may sleep on. Threads that wait have to do the work themselves now.
    for signal in POOL.waiting().iter() {
        signal.raise();
    }
    let own = usize::from(super::on_working_worker());
    let start = Instant::now();
    let is_at_work = || POOL.working.load(Ordering::SeqCst) > own || POOL.strand.is_calling();
    while is_at_work() && start.elapsed() < EXIT_PATIENCE {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The pool's locks, held over a fork by the forking thread. Fields are taken, and dropped, in lock order.
struct Held {
    staff: MutexGuard<'static, Staff>,
    waiting: MutexGuard<'static, Vec<Arc<Signal>>>,
    strand: MutexGuard<'static, State>,
    jobs: MutexGuard<'static, VecDeque<Job>>,
    idle: MutexGuard<'static, Vec<Arc<Bed>>>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let held = Held {
        staff: POOL.staff(),
        waiting: POOL.waiting(),
        strand: POOL.strand.lock(),
        jobs: POOL.jobs.lock(),
        idle: POOL.sleep.lock(),
    };
    // On a thread that is ending the guards are dropped at once: the child may then find a lock taken, at worst.
    let _ = HELD.try_with(|place| place.replace(Some(held)));
}

extern "C" fn after_fork_parent() {
    let _ = HELD.try_with(|place| place.take());
}

extern "C" fn after_fork_child() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
    POOL.busy.store(0, Ordering::SeqCst);
    POOL.working.store(0, Ordering::SeqCst);
    POOL.manned.store(false, Ordering::SeqCst);
    let _ = HELD.try_with(|place| {
        if let Some(mut held) = place.take() {
            *held.staff = Staff::default();
            core::mem::forget(core::mem::take(&mut *held.waiting));
            held.strand.forget();
            POOL.jobs.forget(&mut held.jobs);
            POOL.sleep.forget(&mut held.idle);
        }
    });
}
