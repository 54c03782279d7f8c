#![doc = include_str!("README.md")]
//!
//! ---
//!
//! - `jobs`: the list; `sleep`: who searches and who sleeps; `worker`: a worker's life; `wait`: threads that wait;
//! - `strand`: callbacks;
//! - `cpus`: how many workers; `lifecycle`: fork and exit.
//!
//! Not here: why a command is ready ([`crate::graph`]), what a launch does with a thread ([`crate::launch`]).

mod cpus;
mod jobs;
mod lifecycle;
mod sleep;
mod strand;
mod wait;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use jobs::Job;
pub(crate) use strand::call as call_back;
pub use strand::defer;
pub(crate) use wait::{Signal, wait, wait_for_queue};
pub(crate) use worker::on_worker;
use worker::on_working_worker;

use crate::graph::Node;
use crate::launch::Running;
use jobs::{Jobs, Wanted};
use sleep::Sleep;
use strand::Strand;

/// How the pool is built.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Number of workers; `None`: as many as the affinity mask and the cgroup quota allow. A larger number than the mask
    /// allows is taken as it is, 0 as 1.
    pub threads: Option<usize>,
}

/// The pool has been started or its size asked for: its options are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pool's size is already fixed")]
pub struct AlreadyFixed;

/// Most workers a pool has.
const MAX_WORKERS: usize = 1024;

/// The number of workers, once it is fixed.
static WORKERS: OnceLock<usize> = OnceLock::new();

/// Counts the forks that led to this process.
static EPOCH: AtomicU32 = AtomicU32::new(0);

static POOL: Pool = Pool {
    jobs: Jobs::new(),
    strand: Strand::new(),
    sleep: Sleep::new(),
    busy: AtomicUsize::new(0),
    working: AtomicUsize::new(0),
    manned: AtomicBool::new(false),
    exiting: AtomicBool::new(false),
    staff: Mutex::new(Staff { started: false }),
    waiting: Mutex::new(Vec::new()),
};

struct Pool {
    jobs: Jobs,
    strand: Strand,
    sleep: Sleep,
    /// Threads running kernels.
    busy: AtomicUsize,
    /// Workers running anything.
    working: AtomicUsize,
    /// Whether there is a worker.
    manned: AtomicBool,
    /// Process exit has begun.
    exiting: AtomicBool,
    staff: Mutex<Staff>,
    /// Parked waiting threads.
    waiting: Mutex<Vec<Arc<Signal>>>,
}

#[derive(Default)]
struct Staff {
    started: bool,
}

/// Sets the options, before the first queue is made and before [`worker_count`] is asked. Starts nothing.
pub fn configure(options: PoolOptions) -> Result<(), AlreadyFixed> {
    let workers = options.threads.unwrap_or_else(cpus::usable).clamp(1, MAX_WORKERS);
    WORKERS.set(workers).map_err(|_| AlreadyFixed)
}

/// Number of worker threads the pool has or will have: the device's compute units. Starts nothing.
pub fn worker_count() -> usize {
    *WORKERS.get_or_init(|| cpus::usable().clamp(1, MAX_WORKERS))
}

/// Counts the forks that led to this process: what has another number is the parent's.
pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// Starts the workers if there are none.
pub(crate) fn start() {
    if !POOL.manned.load(Ordering::Acquire) {
        POOL.hire();
    }
}

/// Has somebody start a command that is ready.
pub(crate) fn push(node: Arc<Node>) {
    start();
    POOL.jobs.push(Job::Command(node));
    POOL.sleep.notify();
}

/// Makes a launch under way a job; sleepers are not woken for it yet.
pub(crate) fn offer(running: Arc<Running>) {
    POOL.jobs.push(Job::Launch(running));
}

/// There is nothing left to join in the launch.
pub(crate) fn retract(running: &Arc<Running>) {
    POOL.jobs.remove(running);
}

/// Wakes workers for a launch that can seat `seats` more threads: not more than may run, not more than two at a time.
pub(crate) fn invite(seats: usize) {
    let free = worker_count().saturating_sub(POOL.busy.load(Ordering::Relaxed));
    let coming = POOL.sleep.searching();
    POOL.sleep.wake(seats.min(free).saturating_sub(coming).min(2));
}

/// Whether workers should leave what they do.
pub(crate) fn is_exiting() -> bool {
    POOL.exiting.load(Ordering::Relaxed)
}

impl Pool {
    fn staff(&self) -> MutexGuard<'_, Staff> {
        self.staff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Signal>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the workers, unless another thread has.
    fn hire(&self) {
        let mut staff = self.staff();
        if staff.started {
            return;
        }
        staff.started = true;
        lifecycle::register();
        let hired = (0..worker_count()).filter(|number| worker::spawn(*number)).count();
        self.manned.store(hired > 0, Ordering::Release);
    }

    /// Whether jobs have to be done by the threads that wait for them.
    fn is_unmanned(&self) -> bool {
        is_exiting() || !self.manned.load(Ordering::Relaxed)
    }

    /// Room for one more thread that runs kernels.
    fn reserve(&'static self) -> Option<Busy> {
        if self.busy.fetch_add(1, Ordering::SeqCst) < worker_count() || self.is_unmanned() {
            return Some(Busy);
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
        None
    }

    /// Whether a searching worker would find something.
    fn work_waits(&self) -> bool {
        self.jobs.tasks() > 0 || (self.jobs.kernels() > 0 && self.busy.load(Ordering::Relaxed) < worker_count())
    }

    /// Changes whenever there may be a job to take that was not there before.
    fn changes(&self) -> (usize, usize) {
        (self.jobs.pushes(), self.busy.load(Ordering::Relaxed))
    }

    /// Takes a job, with the room it needs.
    fn take(&'static self, wanted: Wanted) -> Option<(Job, Option<Busy>)> {
        self.jobs.take(wanted, || self.reserve())
    }
}

/// A thread that runs kernels is counted as long as it has this.
struct Busy;

impl Drop for Busy {
    fn drop(&mut self) {
        POOL.busy.fetch_sub(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if POOL.jobs.kernels() > 0 {
            POOL.sleep.notify();
        }
    }
}
