#![doc = include_str!("README.md")]
//!
//! ---
//!
//! - `jobs`: the list of jobs; `sleep`: searching and sleeping workers; `worker`: the workers' loop; `wait`: waiting threads;
//! - `strand`: callbacks;
//! - `cpus`: the number of workers; [`topology`]: the processors they run on; `lifecycle`: fork and exit.
//!
//! Not here: when a command becomes ready ([`crate::graph`]), what a thread does in a launch ([`crate::launch`]).

mod cpus;
mod jobs;
mod lifecycle;
mod sleep;
mod strand;
pub mod topology;
mod wait;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};

pub use cpus::{Processors, processors};
pub(crate) use jobs::Job;
pub(crate) use strand::call as call_back;
pub use strand::defer;
pub(crate) use wait::{Signal, wait, wait_for_queue};
pub(crate) use worker::on_worker;
use worker::on_working_worker;

use crate::graph::Node;
use crate::launch::Running;
use crate::sync::{Mutex, MutexGuard};
use jobs::{JobFilter, Jobs};
use sleep::Sleep;
use strand::Strand;

/// The options of the pools.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Number of workers; `None`: as many as the affinity mask and the cgroup quota allow. A number larger than that is used as
    /// it is; 0 means 1.
    pub threads: Option<usize>,
}

/// The number of workers has already been determined, so the options cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pool's size is already fixed")]
pub struct AlreadyFixed;

/// Maximum number of workers in a pool.
const MAX_WORKERS: usize = 1024;

/// The number of workers, once it has been determined.
static WORKERS: OnceLock<usize> = OnceLock::new();

/// Number of forks that led to this process.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// State shared by all pools of the process.
static SHARED: Shared = Shared {
    strand: Strand::new(),
    working: AtomicUsize::new(0),
    exiting: AtomicBool::new(false),
    waiting: Mutex::new(Vec::new()),
    sub_devices: Mutex::new(Vec::new()),
};

/// The pool of the root device.
static ROOT: Pool = Pool::new(None);

struct Shared {
    strand: Strand,
    /// Number of workers that execute jobs.
    working: AtomicUsize,
    /// Whether process exit has begun.
    exiting: AtomicBool,
    /// Signals of the parked waiting threads.
    waiting: Mutex<Vec<Arc<Signal>>>,
    /// The pools of sub-devices created so far.
    sub_devices: Mutex<Vec<&'static Pool>>,
}

/// A range of compute units (see [`topology`]), which a sub-device consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnitRange {
    first: usize,
    count: usize,
}

pub(crate) struct Pool {
    units: Option<UnitRange>,
    jobs: Jobs,
    sleep: Sleep,
    /// Number of threads running kernels.
    busy: AtomicUsize,
    /// Whether the pool has workers.
    has_workers: AtomicBool,
    start_state: Mutex<StartState>,
}

#[derive(Default)]
struct StartState {
    started: bool,
}

/// A handle of the pool that executes the commands of a queue: that of the root device, or of a sub-device.
#[derive(Clone, Copy)]
pub struct PoolHandle(&'static Pool);

impl PoolHandle {
    /// The pool of the root device.
    pub fn root() -> Self {
        Self(&ROOT)
    }

    /// The pool of a sub-device with `count` compute units from unit `first` on. Each worker is bound to a unit's processor. The
    /// same units always give the same pool; its workers never exit.
    pub fn sub_device(first: usize, count: usize) -> Self {
        let units = UnitRange { first, count: count.clamp(1, MAX_WORKERS) };
        let mut sub_devices = SHARED.sub_devices();
        if let Some(known) = sub_devices.iter().find(|pool| pool.units == Some(units)) {
            return Self(known);
        }
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(Some(units))));
        sub_devices.push(pool);
        Self(pool)
    }

    /// Number of its workers.
    pub fn size(self) -> usize {
        self.0.size()
    }

    pub(crate) fn get(self) -> &'static Pool {
        self.0
    }
}

impl PartialEq for PoolHandle {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for PoolHandle {}

impl Default for PoolHandle {
    fn default() -> Self {
        Self::root()
    }
}

impl core::fmt::Debug for PoolHandle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.units {
            Some(UnitRange { first, count }) => write!(f, "PoolHandle({first}..{})", first + count),
            None => f.write_str("PoolHandle(all)"),
        }
    }
}

/// Sets the options. To be called before the first queue is created and before [`worker_count`]. Starts no thread.
pub fn configure(options: PoolOptions) -> Result<(), AlreadyFixed> {
    let workers = options.threads.unwrap_or_else(cpus::usable).clamp(1, MAX_WORKERS);
    WORKERS.set(workers).map_err(|_| AlreadyFixed)
}

/// Number of worker threads that the pool has or will have: the device's compute units. Starts no thread.
pub fn worker_count() -> usize {
    *WORKERS.get_or_init(|| cpus::usable().clamp(1, MAX_WORKERS))
}

/// Number of forks that led to this process; objects with another epoch belong to the parent.
pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// Whether workers should stop because the process exits.
pub(crate) fn is_exiting() -> bool {
    SHARED.exiting.load(Ordering::Relaxed)
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Signal>>> {
        self.waiting.lock()
    }

    fn sub_devices(&self) -> MutexGuard<'_, Vec<&'static Pool>> {
        self.sub_devices.lock()
    }
}

impl Pool {
    const fn new(units: Option<UnitRange>) -> Self {
        Self {
            units,
            jobs: Jobs::new(),
            sleep: Sleep::new(),
            busy: AtomicUsize::new(0),
            has_workers: AtomicBool::new(false),
            start_state: Mutex::new(StartState { started: false }),
        }
    }

    /// Number of its workers.
    pub(crate) fn size(&self) -> usize {
        self.units.map_or_else(worker_count, |units| units.count)
    }

    /// Starts the workers if there are none.
    pub(crate) fn start(&'static self) {
        if !self.has_workers.load(Ordering::Acquire) {
            self.start_workers();
        }
    }

    /// Adds a ready command as a job.
    pub(crate) fn push(&'static self, node: Arc<Node>) {
        self.start();
        self.jobs.push(Job::Command(node));
        self.sleep.notify();
    }

    /// Adds a running launch as a job, without waking workers.
    pub(crate) fn offer(&self, running: Arc<Running>) {
        self.jobs.push(Job::Launch(running));
    }

    /// Removes a launch that no more threads can join.
    pub(crate) fn retract(&self, running: &Arc<Running>) {
        self.jobs.remove(running);
    }

    /// Wakes workers for a launch with `slots` free slots, limited by the threads that may still run kernels, and at most two.
    pub(crate) fn wake_workers(&self, slots: usize) {
        let free = self.size().saturating_sub(self.busy.load(Ordering::Relaxed));
        let coming = self.sleep.searching();
        self.sleep.wake(slots.min(free).saturating_sub(coming).min(2));
    }

    /// Whether other threads than its workers may execute its jobs: not for a sub-device, because they are not bound to its
    /// processors.
    fn allows_helpers(&self) -> bool {
        self.units.is_none()
    }

    fn start_state(&self) -> MutexGuard<'_, StartState> {
        self.start_state.lock()
    }

    /// Starts the workers, unless another thread has done so.
    fn start_workers(&'static self) {
        let mut start_state = self.start_state();
        if start_state.started {
            return;
        }
        start_state.started = true;
        lifecycle::register();
        let hired = (0..self.size()).filter(|number| worker::spawn(self, *number)).count();
        self.has_workers.store(hired > 0, Ordering::Release);
    }

    /// Whether waiting threads have to execute all jobs.
    fn has_no_workers(&self) -> bool {
        is_exiting() || !self.has_workers.load(Ordering::Relaxed)
    }

    /// Reserves room for one more thread that runs kernels.
    fn reserve(&'static self) -> Option<Busy> {
        let size = self.size();
        // A failed attempt is never counted: another thread could take it for a busy one, and sleep although there is a job.
        let add = |busy: usize| (busy < size || self.has_no_workers()).then_some(busy + 1);
        self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).is_ok().then(|| Busy(self))
    }

    /// Whether a searching worker would find a job.
    fn has_work(&self) -> bool {
        self.jobs.tasks() > 0 || (self.jobs.kernels() > 0 && self.busy.load(Ordering::Relaxed) < self.size())
    }

    /// A value that changes whenever there may be a new job to take.
    fn changes(&self) -> (usize, usize) {
        (self.jobs.pushes(), self.busy.load(Ordering::Relaxed))
    }

    /// Takes a job, with the reservation it needs.
    fn take(&'static self, wanted: JobFilter) -> Option<(Job, Option<Busy>)> {
        self.jobs.take(wanted, || self.reserve())
    }
}

/// Takes a job of any pool, for waiting threads when there are no workers any more.
fn take_from_any_pool() -> Option<(Job, Option<Busy>)> {
    let sub_devices = SHARED.sub_devices().clone();
    [&ROOT].into_iter().chain(sub_devices).find_map(|pool| pool.take(JobFilter::Any))
}

/// Counts a thread that runs kernels as busy until dropped.
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
