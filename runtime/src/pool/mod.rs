#![doc = include_str!("README.md")]
//!
//! ---
//!
//! - `jobs`: the list; `sleep`: who searches and who sleeps; `worker`: a worker's life; `wait`: threads that wait;
//! - `strand`: callbacks;
//! - `cpus`: how many workers; [`topology`]: the processors they are for; `lifecycle`: fork and exit.
//!
//! Not here: why a command is ready ([`crate::graph`]), what a launch does with a thread ([`crate::launch`]).

mod cpus;
mod jobs;
mod lifecycle;
mod sleep;
mod strand;
pub mod topology;
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

/// What all pools of the process share.
static SHARED: Shared = Shared {
    strand: Strand::new(),
    working: AtomicUsize::new(0),
    exiting: AtomicBool::new(false),
    waiting: Mutex::new(Vec::new()),
    parts: Mutex::new(Vec::new()),
};

/// The pool of the whole machine.
static WHOLE: Pool = Pool::new(None);

struct Shared {
    strand: Strand,
    /// Workers running anything.
    working: AtomicUsize,
    /// Process exit has begun.
    exiting: AtomicBool,
    /// Parked waiting threads.
    waiting: Mutex<Vec<Arc<Signal>>>,
    /// The pools of parts of the machine that were asked for.
    parts: Mutex<Vec<&'static Pool>>,
}

/// A part of the machine: consecutive compute units (see [`topology`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    first: usize,
    count: usize,
}

pub(crate) struct Pool {
    part: Option<Part>,
    jobs: Jobs,
    sleep: Sleep,
    /// Threads running kernels.
    busy: AtomicUsize,
    /// Whether there is a worker.
    manned: AtomicBool,
    staff: Mutex<Staff>,
}

#[derive(Default)]
struct Staff {
    started: bool,
}

/// Who runs the commands of a queue: the workers of the whole machine, or of a part of it.
#[derive(Clone, Copy)]
pub struct Crew(&'static Pool);

impl Crew {
    /// The workers of the whole machine.
    pub fn whole() -> Self {
        Self(&WHOLE)
    }

    /// Workers of their own for `count` compute units from number `first` on, each bound to the unit's processor. Asked for
    /// the same units again, the same workers; they are never dismissed.
    pub fn part(first: usize, count: usize) -> Self {
        let part = Part { first, count: count.clamp(1, MAX_WORKERS) };
        let mut parts = SHARED.parts();
        if let Some(known) = parts.iter().find(|pool| pool.part == Some(part)) {
            return Self(known);
        }
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(Some(part))));
        parts.push(pool);
        Self(pool)
    }

    /// Number of its workers.
    pub fn size(self) -> usize {
        self.0.size()
    }

    pub(crate) fn pool(self) -> &'static Pool {
        self.0
    }
}

impl PartialEq for Crew {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for Crew {}

impl Default for Crew {
    fn default() -> Self {
        Self::whole()
    }
}

impl core::fmt::Debug for Crew {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.part {
            Some(Part { first, count }) => write!(f, "Crew({first}..{})", first + count),
            None => f.write_str("Crew(all)"),
        }
    }
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

/// Whether workers should leave what they do.
pub(crate) fn is_exiting() -> bool {
    SHARED.exiting.load(Ordering::Relaxed)
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Signal>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parts(&self) -> MutexGuard<'_, Vec<&'static Pool>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    const fn new(part: Option<Part>) -> Self {
        Self {
            part,
            jobs: Jobs::new(),
            sleep: Sleep::new(),
            busy: AtomicUsize::new(0),
            manned: AtomicBool::new(false),
            staff: Mutex::new(Staff { started: false }),
        }
    }

    /// Number of its workers.
    pub(crate) fn size(&self) -> usize {
        self.part.map_or_else(worker_count, |part| part.count)
    }

    /// Starts the workers if there are none.
    pub(crate) fn start(&'static self) {
        if !self.manned.load(Ordering::Acquire) {
            self.hire();
        }
    }

    /// Has somebody start a command that is ready.
    pub(crate) fn push(&'static self, node: Arc<Node>) {
        self.start();
        self.jobs.push(Job::Command(node));
        self.sleep.notify();
    }

    /// Makes a launch under way a job; sleepers are not woken for it yet.
    pub(crate) fn offer(&self, running: Arc<Running>) {
        self.jobs.push(Job::Launch(running));
    }

    /// There is nothing left to join in the launch.
    pub(crate) fn retract(&self, running: &Arc<Running>) {
        self.jobs.remove(running);
    }

    /// Wakes workers for a launch that can seat `seats` more threads: not more than may run, not more than two at a time.
    pub(crate) fn invite(&self, seats: usize) {
        let free = self.size().saturating_sub(self.busy.load(Ordering::Relaxed));
        let coming = self.sleep.searching();
        self.sleep.wake(seats.min(free).saturating_sub(coming).min(2));
    }

    /// Whether threads that are no workers may help with its jobs: not on a part, whose processors they do not keep to.
    fn takes_help(&self) -> bool {
        self.part.is_none()
    }

    fn staff(&self) -> MutexGuard<'_, Staff> {
        self.staff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the workers, unless another thread has.
    fn hire(&'static self) {
        let mut staff = self.staff();
        if staff.started {
            return;
        }
        staff.started = true;
        lifecycle::register();
        let hired = (0..self.size()).filter(|number| worker::spawn(self, *number)).count();
        self.manned.store(hired > 0, Ordering::Release);
    }

    /// Whether jobs have to be done by the threads that wait for them.
    fn is_unmanned(&self) -> bool {
        is_exiting() || !self.manned.load(Ordering::Relaxed)
    }

    /// Room for one more thread that runs kernels.
    fn reserve(&'static self) -> Option<Busy> {
        if self.busy.fetch_add(1, Ordering::SeqCst) < self.size() || self.is_unmanned() {
            return Some(Busy(self));
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
        None
    }

    /// Whether a searching worker would find something.
    fn work_waits(&self) -> bool {
        self.jobs.tasks() > 0 || (self.jobs.kernels() > 0 && self.busy.load(Ordering::Relaxed) < self.size())
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

/// Takes a job of any pool: for threads that wait when there are no workers any more.
fn take_anywhere() -> Option<(Job, Option<Busy>)> {
    let parts = SHARED.parts().clone();
    [&WHOLE].into_iter().chain(parts).find_map(|pool| pool.take(Wanted::Any))
}

/// A thread that runs kernels is counted as long as it has this.
struct Busy(&'static Pool);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.0.jobs.kernels() > 0 {
            self.0.sleep.notify();
        }
    }
}
