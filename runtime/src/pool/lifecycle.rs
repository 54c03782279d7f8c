//! The pool and its process: fork and exit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Once};
use std::time::{Duration, Instant};

use super::sleep::Bed;
use super::strand::State;
use super::{EPOCH, Job, Pool, SHARED, Signal, Staff, WHOLE};
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
    SHARED.exiting.store(true, Ordering::SeqCst);
    // Sleepers may sleep on. Threads that wait have to do the work themselves now.
    for signal in SHARED.waiting().iter() {
        signal.raise();
    }
    let own = usize::from(super::on_working_worker());
    let start = Instant::now();
    let is_at_work = || SHARED.working.load(Ordering::SeqCst) > own || SHARED.strand.is_calling();
    while is_at_work() && start.elapsed() < EXIT_PATIENCE {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The locks, held over a fork by the forking thread. Fields are taken, and dropped, in lock order.
struct Held {
    parts: MutexGuard<'static, Vec<&'static Pool>>,
    waiting: MutexGuard<'static, Vec<Arc<Signal>>>,
    strand: MutexGuard<'static, State>,
    pools: Vec<HeldPool>,
}

/// The locks of one pool. No thread but the forking one takes those of two pools.
struct HeldPool {
    pool: &'static Pool,
    staff: MutexGuard<'static, Staff>,
    jobs: MutexGuard<'static, VecDeque<Job>>,
    idle: MutexGuard<'static, Vec<Arc<Bed>>>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let parts = SHARED.parts();
    // The pools' staff first: a thread that hires takes the others' locks.
    let staffs: Vec<_> = [&WHOLE].into_iter().chain(parts.iter().copied()).map(|pool| (pool, pool.staff())).collect();
    let (waiting, strand) = (SHARED.waiting(), SHARED.strand.lock());
    let pools = staffs
        .into_iter()
        .map(|(pool, staff)| HeldPool { pool, staff, jobs: pool.jobs.lock(), idle: pool.sleep.lock() })
        .collect();
    let held = Held { parts, waiting, strand, pools };
    // On a thread that is ending the guards are dropped at once: the child may then find a lock taken, at worst.
    let _ = HELD.try_with(|place| place.replace(Some(held)));
}

extern "C" fn after_fork_parent() {
    let _ = HELD.try_with(|place| place.take());
}

extern "C" fn after_fork_child() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
    SHARED.working.store(0, Ordering::SeqCst);
    let _ = HELD.try_with(|place| {
        if let Some(held) = place.take() {
            let Held { parts, mut waiting, mut strand, pools } = held;
            core::mem::forget(core::mem::take(&mut *waiting));
            strand.forget();
            for HeldPool { pool, mut staff, mut jobs, mut idle } in pools {
                pool.busy.store(0, Ordering::SeqCst);
                pool.manned.store(false, Ordering::SeqCst);
                *staff = Staff::default();
                pool.jobs.forget(&mut jobs);
                pool.sleep.forget(&mut idle);
            }
            drop(parts);
        }
    });
}
