//! A worker's life, and running jobs, which helpers do as well.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::jobs::{Job, Wanted};
use super::sleep::Bed;
use super::{Busy, POOL, epoch, worker_count};
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
pub(super) fn spawn(number: usize) -> bool {
    POOL.sleep.start_searching();
    let builder = std::thread::Builder::new().name(format!("clift-{number}")).stack_size(STACK_BYTES);
    // Signals are the application's: its threads take them.
    let spawned = sys::with_signals_blocked(|| builder.spawn(live));
    if let Err(error) = spawned {
        tracing::error!(%error, "a worker could not be started");
        POOL.sleep.stop_searching();
        return false;
    }
    true
}

fn live() {
    ROLE.set(Role::Worker);
    let born = epoch();
    let bed = Bed::of_this_thread();
    loop {
        if POOL.exiting.load(Ordering::SeqCst) {
            park_for_good();
        }
        match POOL.take(Wanted::Any) {
            Some((job, busy)) => {
                if POOL.sleep.stop_searching() && POOL.work_waits() {
                    POOL.sleep.wake(1);
                }
                work(job, busy);
                if epoch() != born {
                    // A function of the application's forked on this thread: the child's pool is another.
                    return;
                }
            }
            None => {
                let found = POOL.sleep.searching() <= 1 && spin(WORKER_PACE, || POOL.work_waits());
                if !found {
                    launch::trim_arenas();
                    POOL.sleep.sleep(&bed, || POOL.work_waits());
                }
            }
        }
    }
}

/// Runs a job as a worker: stops being a searcher before, is one after.
fn work(job: Job, busy: Option<Busy>) {
    ROLE.set(Role::Working);
    POOL.working.fetch_add(1, Ordering::SeqCst);
    let mut length = 0;
    let busy = run(job, busy, |_| {
        length += 1;
        length < CHAIN_MAX || (POOL.jobs.kernels() == 0 && POOL.jobs.tasks() == 0)
    });
    POOL.sleep.start_searching();
    drop(busy);
    POOL.working.fetch_sub(1, Ordering::SeqCst);
    ROLE.set(Role::Worker);
}

/// Runs a job and, one after the other, commands that become ready by it and that `keep` accepts. Gives back the room for
/// a kernel if it has it at the end.
pub(super) fn run(job: Job, mut busy: Option<Busy>, mut keep: impl FnMut(&Node) -> bool) -> Option<Busy> {
    let mut next = Some(job);
    while let Some(job) = next {
        if job.is_kernel() && busy.is_none() {
            busy = POOL.reserve();
            if busy.is_none() || (on_worker() && POOL.exiting.load(Ordering::Relaxed)) {
                put_back(job);
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
            && POOL.exiting.load(Ordering::Relaxed)
            && let Some(job) = next.take()
        {
            put_back(job);
        }
    }
    busy
}

fn put_back(job: Job) {
    POOL.jobs.push(job);
    POOL.sleep.notify();
}

/// Looks for `found` for a bounded time.
pub(super) fn spin(pace: u32, mut found: impl FnMut() -> bool) -> bool {
    if worker_count() == 1 {
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
