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
#[cfg(all(test, feature = "loom"))]
mod models;
mod sleep;
mod strand;
pub mod topology;
mod wait;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use cpus::{Processors, processors};
pub(crate) use jobs::Job;
pub use lifecycle::at_fork;
pub use strand::defer;
pub(crate) use strand::{CallbackSource, call as call_back, call_due, make_due};
pub(crate) use wait::{Signal, leave_callbacks, wait, wait_for_queue};
use worker::on_working_worker;
pub(crate) use worker::{on_worker, place};

use crate::enqueue::Family;
use crate::graph::Node;
use crate::launch::Running;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, const_fn, shared};
use crate::{fault, memory};
use jobs::{JobFilter, Jobs};
use sleep::Sleep;
use strand::Strand;

/// The options of the pools.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Number of workers; `None`: as many as the affinity mask and the cgroup quota allow. A number larger than that is used as
    /// it is, up to [`MAX_WORKERS`]; 0 means 1.
    pub threads: Option<usize>,
}

/// The number of workers has already been determined, so the options cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pool's size is already fixed")]
pub struct AlreadyFixed;

/// Maximum number of workers in a pool.
pub const MAX_WORKERS: usize = 4096;

shared! {
    /// The number of workers, once it has been determined.
    static WORKERS: OnceLock<usize> = OnceLock::new();
}

/// Number of forks that led to this process.
static EPOCH: AtomicU32 = AtomicU32::new(0);

shared! {
    /// State shared by all pools of the process.
    static SHARED: Shared = Shared {
        strand: Strand::new(),
        working: AtomicUsize::new(0),
        queues: AtomicUsize::new(0),
        exiting: AtomicBool::new(false),
        waiting: Mutex::new(Vec::new()),
        sub_devices: Mutex::new(Vec::new()),
    };
}

shared! {
    /// The pool of the root device.
    static ROOT: Pool = Pool::new(None);
}

fn root() -> &'static Pool {
    &ROOT
}

struct Shared {
    strand: Strand,
    /// Number of workers that execute jobs.
    working: AtomicUsize,
    /// Number of queues of all pools.
    queues: AtomicUsize,
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
    /// Number of queues whose commands it executes.
    queues: AtomicUsize,
    /// Whether the pool has workers.
    has_workers: AtomicBool,
    /// Whether it has had no queue for so long that its workers leave.
    retired: AtomicBool,
    start_state: Mutex<StartState>,
}

#[derive(Default)]
struct StartState {
    /// Whether an attempt to start workers has been made since there were none.
    started: bool,
    /// The numbers of its workers.
    workers: BTreeSet<usize>,
}

/// How long threads wait for another queue before they leave.
const LINGER: Duration = Duration::from_millis(100);

/// A handle of the pool that executes the commands of a queue: that of the root device, or of a sub-device.
#[derive(Clone, Copy)]
pub struct PoolHandle(&'static Pool);

impl PoolHandle {
    /// The pool of the root device.
    pub fn root() -> Self {
        Self(root())
    }

    /// The pool of a sub-device with `count` compute units from unit `first` on. Each worker is bound to a unit's processor. The
    /// same units always give the same pool.
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

    /// Counts a new queue, and starts the workers if there are none.
    pub(crate) fn add_queue(self) {
        SHARED.queues.fetch_add(1, Ordering::SeqCst);
        self.0.queues.fetch_add(1, Ordering::SeqCst);
        self.0.retired.store(false, Ordering::SeqCst);
        self.0.start_workers(true);
    }

    /// Discounts a queue. When there are no more queues, idle threads leave soon.
    pub(crate) fn remove_queue(self) {
        if self.0.queues.fetch_sub(1, Ordering::SeqCst) == 1 {
            // One worker waits for another queue on behalf of all.
            fence(Ordering::SeqCst);
            self.0.sleep.wake(1);
        }
        if SHARED.queues.fetch_sub(1, Ordering::SeqCst) == 1 {
            SHARED.strand.reconsider();
            fault::no_more_queues();
            memory::release_kept();
        }
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

/// Whether there are queues. Without them, threads that have nothing to do leave.
pub(crate) fn has_queues() -> bool {
    SHARED.queues.load(Ordering::SeqCst) > 0
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
    const_fn! {
        const fn new(units: Option<UnitRange>) -> Self {
            Self {
                units,
                jobs: Jobs::new(),
                sleep: Sleep::new(),
                busy: AtomicUsize::new(0),
                queues: AtomicUsize::new(0),
                has_workers: AtomicBool::new(false),
                retired: AtomicBool::new(false),
                start_state: Mutex::new(StartState { started: false, workers: BTreeSet::new() }),
            }
        }
    }

    /// Number of its workers.
    pub(crate) fn size(&self) -> usize {
        self.units.map_or_else(worker_count, |units| units.count)
    }

    /// Starts the workers if there are none.
    pub(crate) fn start(&'static self) {
        if !self.has_workers.load(Ordering::Acquire) {
            self.start_workers(false);
        }
    }

    /// Adds a ready command as a job.
    pub(crate) fn push(&'static self, node: Arc<Node>) {
        self.push_job(Job::Command(node));
    }

    /// Adds a family with small children as a job.
    pub(crate) fn offer_family(&'static self, family: Arc<Family>) {
        self.push_job(Job::Family(family));
    }

    /// Lets other jobs precede a family.
    pub(crate) fn defer_family(&self, family: &Arc<Family>) {
        self.jobs.defer_family(family);
    }

    /// Removes a family that has no small children.
    pub(crate) fn retract_family(&self, family: &Arc<Family>) {
        self.jobs.remove_family(family);
    }

    fn push_job(&'static self, job: Job) {
        self.jobs.push(job);
        self.sleep.notify();
        // Either this thread sees that the last worker has left, or that worker sees the job (see `leave`).
        self.start();
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

    /// Starts the workers that are missing: unless there are some already, or with `refill` in any case.
    fn start_workers(&'static self, refill: bool) {
        let mut start_state = self.start_state();
        if start_state.started && !refill {
            return;
        }
        start_state.started = true;
        lifecycle::register();
        for number in 0..self.size() {
            if !start_state.workers.contains(&number) && worker::spawn(self, number) {
                start_state.workers.insert(number);
            }
        }
        self.has_workers.store(!start_state.workers.is_empty(), Ordering::SeqCst);
    }

    /// Whether the calling worker, which has found no job, should leave. With `expired`, it has waited for a queue long enough.
    fn should_leave(&self, expired: bool) -> bool {
        if self.queues.load(Ordering::SeqCst) > 0 {
            return false;
        }
        if expired && !self.retired.swap(true, Ordering::SeqCst) {
            self.sleep.wake(usize::MAX);
        }
        self.retired.load(Ordering::SeqCst)
    }

    /// Discounts the calling worker, which is searching; false if a queue has been created meanwhile.
    fn leave(&'static self, number: usize) -> bool {
        let mut start_state = self.start_state();
        if self.queues.load(Ordering::SeqCst) > 0 {
            return false;
        }
        start_state.workers.remove(&number);
        let last = start_state.workers.is_empty();
        if last {
            start_state.started = false;
            self.has_workers.store(false, Ordering::SeqCst);
        }
        self.sleep.stop_searching();
        drop(start_state);
        fence(Ordering::SeqCst);
        // A command that was submitted before its queue was released may have become ready.
        if self.has_work() {
            if last { self.start() } else { self.sleep.notify() }
        }
        true
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
    [root()].into_iter().chain(sub_devices).find_map(|pool| pool.take(JobFilter::Any))
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
