//! The workers' loop, and the execution of jobs, which helpers use too.

use std::cell::Cell;
use std::time::Duration;

use super::jobs::{Job, JobFilter};
use super::sleep::Parker;
use super::{Busy, LINGER, Pool, SHARED, epoch, topology};
use crate::clock::now_ns;
use crate::graph::{self, Node};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{per_thread, shared, thread};
use crate::{enqueue, launch, sys};

/// How long a thread searches for work, or polls for an event, before it parks.
pub(super) const SPIN_NS: u64 = 50_000;

/// After this time it yields the processor between polls.
const YIELD_AFTER_NS: u64 = 10_000;

/// Pauses between two polls of a worker: with them, a thread that submits tiny commands can submit several, which then run one
/// after the other without passing through the list.
const WORKER_POLL_PAUSES: u32 = 16;

/// Pauses between two polls of a waiting thread.
pub(super) const WAITER_POLL_PAUSES: u32 = 1;

/// Pauses between two readings of the clock.
const PAUSES_PER_ROUND: u32 = 32;

/// Maximum number of commands that a thread runs in a chain while jobs are open.
const MAX_CHAIN: u32 = 32;

/// Stack size of a worker. Native functions, callbacks and the interpreter run on this stack.
pub(super) const STACK_BYTES: usize = 8 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A thread of the application, which may help.
    Helper,
    /// A worker.
    Worker,
    /// A worker that executes a job.
    Working,
}

per_thread! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Helper) };
    static OWN: Cell<Option<&'static Pool>> = const { Cell::new(None) };
    static PLACE: usize = PLACES.fetch_add(1, Ordering::Relaxed);
}

shared! {
    /// Number of threads that have a place.
    static PLACES: AtomicUsize = AtomicUsize::new(0);
}

/// A number that few other threads have.
pub(crate) fn place() -> usize {
    PLACE.try_with(|place| *place).unwrap_or(0)
}

/// The pool that the calling thread is a worker of.
pub(super) fn own_pool() -> Option<&'static Pool> {
    OWN.try_with(Cell::get).ok().flatten()
}

fn role() -> Role {
    ROLE.try_with(Cell::get).unwrap_or(Role::Helper)
}

fn set_role(role: Role) {
    ROLE.with(|own| own.set(role));
}

/// Whether the calling thread is a worker of the pool.
pub(crate) fn on_worker() -> bool {
    role() != Role::Helper
}

/// Whether the calling thread is a worker that executes a job.
pub(super) fn on_working_worker() -> bool {
    role() == Role::Working
}

/// Starts a worker; false on an error.
pub(super) fn spawn(pool: &'static Pool, number: usize) -> bool {
    pool.sleep.start_searching();
    let unit = pool.units.map_or(0, |units| units.first) + number;
    let builder = thread::Builder::new().name(format!("clift-{unit}")).stack_size(STACK_BYTES);
    let bound = pool.units.is_some().then_some(unit);
    // Signals are delivered to the application's own threads.
    let spawned = sys::with_signals_blocked(|| builder.spawn(move || live(pool, number, bound)));
    if let Err(error) = spawned {
        tracing::error!(%error, "a worker could not be started");
        pool.sleep.stop_searching();
        return false;
    }
    true
}

/// The loop of a worker with this number, on the processor of a compute unit if it is bound to one.
fn live(pool: &'static Pool, number: usize, unit: Option<usize>) {
    set_role(Role::Worker);
    OWN.with(|own| own.set(Some(pool)));
    if let Some(processor) = unit.and_then(topology::processor_of)
        && !sys::bind_to(processor)
    {
        tracing::warn!(processor, "a worker could not be bound to its processor");
    }
    let born = epoch();
    let parker = Parker::for_current_thread();
    loop {
        if SHARED.exiting.load(Ordering::SeqCst) {
            park_for_good();
        }
        match pool.take(JobFilter::Any) {
            Some((job, busy)) => {
                if pool.sleep.stop_searching() && pool.has_work() {
                    pool.sleep.wake(1);
                }
                work(pool, job, busy);
                if epoch() != born {
                    // A function of the application has forked on this thread. The child's workers are new threads.
                    return;
                }
            }
            None => {
                let found = pool.sleep.searching() <= 1 && spin(pool.size(), WORKER_POLL_PAUSES, || pool.has_work());
                if !found {
                    launch::trim_arenas();
                    // Read after it is counted as sleeping: a queue that is removed later wakes it.
                    let limit = || (pool.queues.load(Ordering::SeqCst) == 0).then_some(LINGER);
                    let expired = !pool.should_leave(false)
                        && pool.sleep.sleep(&parker, || pool.has_work() || pool.should_leave(false), limit);
                    if pool.should_leave(expired) && !pool.has_work() && pool.leave(number) {
                        return;
                    }
                }
            }
        }
    }
}

/// Runs a job as a worker: the worker is not counted as searching meanwhile.
fn work(pool: &'static Pool, job: Job, busy: Option<Busy>) {
    set_role(Role::Working);
    SHARED.working.fetch_add(1, Ordering::SeqCst);
    let mut length = 0;
    let busy = run(pool, job, busy, |_| {
        length += 1;
        length < MAX_CHAIN || (pool.jobs.kernels() == 0 && pool.jobs.tasks() == 0)
    });
    pool.sleep.start_searching();
    drop(busy);
    SHARED.working.fetch_sub(1, Ordering::SeqCst);
    set_role(Role::Worker);
}

/// Runs a job of a pool, and then, in a chain, commands of the pool that become ready by it and that `keep` accepts. Returns the
/// reservation for a kernel if there is one at the end.
pub(super) fn run(
    pool: &'static Pool,
    job: Job,
    mut busy: Option<Busy>,
    mut keep: impl FnMut(&Node) -> bool,
) -> Option<Busy> {
    let mut keep = |node: &Node| core::ptr::eq(node.pool.get(), pool) && keep(node);
    let mut next = Some(job);
    while let Some(job) = next {
        if job.is_kernel() && busy.is_none() {
            busy = pool.reserve();
            if busy.is_none() || (on_worker() && SHARED.exiting.load(Ordering::Relaxed)) {
                put_back(pool, job);
                break;
            }
        } else if !job.is_kernel() {
            // A function may block, so it does not count as busy.
            busy = None;
        }
        let ended = match job {
            Job::Launch(running) => running.join(),
            Job::Family(family) => enqueue::work(&family, || {
                !(on_worker() && SHARED.exiting.load(Ordering::Relaxed)) && keep(family.ancestor())
            }),
            Job::Command(node) => launch::perform(node),
        };
        next = ended.and_then(|ended| graph::finish(ended, &mut keep)).map(Job::Command);
        if on_worker()
            && SHARED.exiting.load(Ordering::Relaxed)
            && let Some(job) = next.take()
        {
            put_back(pool, job);
        }
    }
    busy
}

fn put_back(pool: &'static Pool, job: Job) {
    pool.jobs.push(job);
    pool.sleep.notify();
    if !SHARED.exiting.load(Ordering::Relaxed) {
        pool.start();
    }
}

/// Polls `found` for a bounded time; only once if there is only one worker, and in models, which have no time.
pub(super) fn spin(workers: usize, poll_pauses: u32, mut found: impl FnMut() -> bool) -> bool {
    if workers == 1 || cfg!(feature = "loom") {
        return found();
    }
    let start = now_ns();
    loop {
        for pause in 0..PAUSES_PER_ROUND {
            if pause % poll_pauses == 0 && found() {
                return true;
            }
            core::hint::spin_loop();
        }
        let elapsed = now_ns().saturating_sub(start);
        if elapsed > SPIN_NS {
            return false;
        }
        if elapsed > YIELD_AFTER_NS {
            thread::yield_now();
        }
    }
}

/// Parks this thread until the process has ended.
pub(super) fn park_for_good() -> ! {
    loop {
        thread::park_timeout(Duration::from_secs(3600));
    }
}
