//! Process events that affect the pools: fork and exit.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Once};
use std::time::Duration;

use super::sleep::Parker;
use super::strand::StrandState;
use super::{EPOCH, Job, Pool, SHARED, Signal, StartState, root};
use crate::sync::atomic::Ordering;
use crate::sync::{Instant, MutexGuard, plain};
use crate::{background, check, descriptor, fault, sys};

/// How long process exit waits for workers to stop.
const EXIT_TIMEOUT: Duration = Duration::from_millis(100);

/// Registers the handlers, once per process and its children.
pub(super) fn register() {
    if cfg!(feature = "loom") {
        // Nothing forks or exits in a model.
        return;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !sys::at_exit(leave) {
            tracing::warn!("no handler for process exit could be registered");
        }
        if !at_fork(before_fork, after_fork_parent, after_fork_child) {
            tracing::warn!("no handlers for fork could be registered");
        }
    });
}

/// Registers functions to be called before a fork, and after it in both processes: by the thread that forks. What is registered
/// later is called earlier before the fork, and later after it.
pub fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) -> bool {
    sys::at_fork(before, in_parent, in_child)
}

/// Process exit: stops the workers, see `README.md`.
extern "C" fn leave() {
    SHARED.exiting.store(true, Ordering::SeqCst);
    // Sleeping workers need not be woken. Waiting threads have to execute the work themselves from now on.
    for signal in SHARED.waiting().iter() {
        signal.raise();
    }
    let own = usize::from(super::on_working_worker());
    let start = Instant::now();
    let is_at_work = || SHARED.working.load(Ordering::SeqCst) > own || SHARED.strand.is_calling();
    while is_at_work() && start.elapsed() < EXIT_TIMEOUT {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The locks that the forking thread holds during a fork. Fields are acquired, and dropped, in lock order.
struct Held {
    sub_devices: MutexGuard<'static, Vec<&'static Pool>>,
    waiting: MutexGuard<'static, Vec<Arc<Signal>>>,
    strand: MutexGuard<'static, StrandState>,
    pools: Vec<HeldPool>,
    background: plain::MutexGuard<'static, background::State>,
    fault: fault::ForkLocks,
    /// Those of single modules, under which nothing else is acquired.
    others: [Box<dyn Any>; 2],
}

/// The locks of one pool. Only the forking thread acquires the locks of two pools.
struct HeldPool {
    pool: &'static Pool,
    start_state: MutexGuard<'static, StartState>,
    jobs: MutexGuard<'static, VecDeque<Job>>,
    idle: MutexGuard<'static, Vec<Arc<Parker>>>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let sub_devices = SHARED.sub_devices();
    // The pools' start states come first: a thread that starts workers acquires the other locks.
    let start_states: Vec<_> =
        [root()].into_iter().chain(sub_devices.iter().copied()).map(|pool| (pool, pool.start_state())).collect();
    let (waiting, strand) = (SHARED.waiting(), SHARED.strand.lock());
    let pools = start_states
        .into_iter()
        .map(|(pool, start_state)| HeldPool { pool, start_state, jobs: pool.jobs.lock(), idle: pool.sleep.lock() })
        .collect();
    let background = background::lock_for_fork();
    let fault = fault::lock_for_fork();
    let others: [Box<dyn Any>; 2] = [Box::new(check::lock_for_fork()), Box::new(descriptor::lock_for_fork())];
    let held = Held { sub_devices, waiting, strand, pools, background, fault, others };
    // On a thread that is being destroyed the guards are dropped at once; in the worst case a lock stays locked in the child.
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
            let Held { sub_devices, mut waiting, mut strand, pools, background, fault, others } = held;
            fault::after_fork_child();
            drop(fault);
            core::mem::forget(core::mem::take(&mut *waiting));
            strand.forget();
            for HeldPool { pool, mut start_state, mut jobs, mut idle } in pools {
                pool.busy.store(0, Ordering::SeqCst);
                pool.has_workers.store(false, Ordering::SeqCst);
                *start_state = StartState::default();
                pool.jobs.forget(&mut jobs);
                pool.sleep.forget(&mut idle);
            }
            drop((sub_devices, background, others));
        }
    });
}
