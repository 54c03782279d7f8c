//! A worker's life, and running jobs, which helpers do as well.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::jobs::{Job, Wanted};
use super::sleep::Bed;
use super::{Busy, Pool, SHARED, epoch, topology};
use crate::clock::now_ns;
use crate::graph::{self, Node};
use crate::{launch, sys};

/// How long a thread looks for work, or for the end it waits for, before it parks.
pub(super) const SPIN_NS: u64 = 50_000;

/// After this part of it, it gives the processor away between looks.
const POLITE_AFTER_NS: u64 = 10_000;

/// Pauses between two looks of a worker for a job: a thread that submits tiny commands gets to submit some, which then
/// follow one another without passing through the list.
const WORKER_PACE: u32 = 16;

/// Pauses between two looks of a thread that waits.
pub(super) const WAITER_PACE: u32 = 1;

/// Pauses between two looks at the clock.
const PAUSES_PER_ROUND: u32 = 32;

/// Most commands a thread runs one after the other while jobs are open.
const CHAIN_MAX: u32 = 32;

/// Stack of a worker: native functions, callbacks and the interpreter run on it.
pub(super) const STACK_BYTES: usize = 8 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A thread of the application.
    Guest,
    /// A worker.
    Worker,
    /// A worker inside a job.
    Working,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Guest) };
    static OWN: Cell<Option<&'static Pool>> = const { Cell::new(None) };
}

/// The pool that the calling thread is a worker of.
pub(super) fn own_pool() -> Option<&'static Pool> {
    OWN.try_with(Cell::get).ok().flatten()
}

fn role() -> Role {
    ROLE.try_with(Cell::get).unwrap_or(Role::Guest)
}

/// Whether the calling thread is a worker of the pool.
pub(crate) fn on_worker() -> bool {
    role() != Role::Guest
}

/// Whether the calling thread is a worker inside a job.
pub(super) fn on_working_worker() -> bool {
    role() == Role::Working
}

/// Starts a worker; false when the system refuses.
pub(super) fn spawn(pool: &'static Pool, number: usize) -> bool {
    pool.sleep.start_searching();
    let unit = pool.part.map_or(0, |part| part.first) + number;
    let builder = std::thread::Builder::new().name(format!("clift-{unit}")).stack_size(STACK_BYTES);
    let bound = pool.part.is_some().then_some(unit);
    // Signals are the application's: its threads take them.
    let spawned = sys::with_signals_blocked(|| builder.spawn(move || live(pool, bound)));
    if let Err(error) = spawned {
        tracing::error!(%error, "a worker could not be started");
        pool.sleep.stop_searching();
        return false;
    }
    true
}

/// A worker's life, on the processor of a compute unit if it is bound to one.
fn live(pool: &'static Pool, unit: Option<usize>) {
    ROLE.set(Role::Worker);
    OWN.set(Some(pool));
    if let Some(processor) = unit.and_then(topology::processor_of)
        && !sys::bind_to(processor)
    {
        tracing::warn!(processor, "a worker could not be bound to its processor");
    }
    let born = epoch();
    let bed = Bed::of_this_thread();
    loop {
        if SHARED.exiting.load(Ordering::SeqCst) {
            park_for_good();
        }
        match pool.take(Wanted::Any) {
            Some((job, busy)) => {
                if pool.sleep.stop_searching() && pool.work_waits() {
                    pool.sleep.wake(1);
                }
                work(pool, job, busy);
                if epoch() != born {
                    // A function of the application's forked on this thread: the child's pool is another.
                    return;
                }
            }
            None => {
                let found = pool.sleep.searching() <= 1 && spin(pool.size(), WORKER_PACE, || pool.work_waits());
                if !found {
                    launch::trim_arenas();
                    pool.sleep.sleep(&bed, || pool.work_waits());
                }
            }
        }
    }
}

/// Runs a job as a worker: stops being a searcher before, is one after.
fn work(pool: &'static Pool, job: Job, busy: Option<Busy>) {
    ROLE.set(Role::Working);
    SHARED.working.fetch_add(1, Ordering::SeqCst);
    let mut length = 0;
    let busy = run(pool, job, busy, |_| {
        length += 1;
        length < CHAIN_MAX || (pool.jobs.kernels() == 0 && pool.jobs.tasks() == 0)
    });
    pool.sleep.start_searching();
    drop(busy);
    SHARED.working.fetch_sub(1, Ordering::SeqCst);
    ROLE.set(Role::Worker);
}

/// Runs a job of a pool and, one after the other, commands of the pool that become ready by it and that `keep` accepts.
/// Gives back the room for a kernel if it has it at the end.
pub(super) fn run(
    pool: &'static Pool,
    job: Job,
    mut busy: Option<Busy>,
    mut keep: impl FnMut(&Node) -> bool,
) -> Option<Busy> {
    let mut keep = |node: &Node| core::ptr::eq(node.crew.pool(), pool) && keep(node);
    let mut next = Some(job);
    while let Some(job) = next {
        if job.is_kernel() && busy.is_none() {
            busy = pool.reserve();
            if busy.is_none() || (on_worker() && SHARED.exiting.load(Ordering::Relaxed)) {
                put_back(pool, job);
                break;
            }
        } else if !job.is_kernel() {
            // A function may block: it does not count.
            busy = None;
        }
        let ended = match job {
            Job::Launch(running) => running.join(),
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

fn put_back(pool: &Pool, job: Job) {
    pool.jobs.push(job);
    pool.sleep.notify();
}

/// Looks for `found` for a bounded time, unless there is one worker only.
pub(super) fn spin(workers: usize, pace: u32, mut found: impl FnMut() -> bool) -> bool {
    if workers == 1 {
        return found();
    }
    let start = now_ns();
    loop {
        for pause in 0..PAUSES_PER_ROUND {
            if pause % pace == 0 && found() {
                return true;
            }
            core::hint::spin_loop();
        }
        let spent = now_ns().saturating_sub(start);
        if spent > SPIN_NS {
            return false;
        }
        if spent > POLITE_AFTER_NS {
            std::thread::yield_now();
        }
    }
}

/// The process ends: this thread does nothing any more.
pub(super) fn park_for_good() -> ! {
    loop {
        std::thread::park_timeout(Duration::from_secs(3600));
    }
}
