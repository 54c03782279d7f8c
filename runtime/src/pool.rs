//! The worker threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use crate::graph::{self, Node};
use crate::launch;

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

static OPTIONS: OnceLock<PoolOptions> = OnceLock::new();

/// Sets the options, before the first queue is made and before [`worker_count`] is asked. Starts nothing.
pub fn configure(options: PoolOptions) -> Result<(), AlreadyFixed> {
    OPTIONS.set(options).map_err(|_| AlreadyFixed)
}

/// Number of worker threads the pool has or will have: the device's compute units. Starts nothing.
pub fn worker_count() -> usize {
    let options = OPTIONS.get_or_init(PoolOptions::default);
    options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Counts the forks that led to this process.
pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

#[derive(Default)]
struct Pool {
    jobs: Mutex<VecDeque<Arc<Node>>>,
    wake: Condvar,
}

static POOL: OnceLock<Arc<Pool>> = OnceLock::new();

fn pool() -> &'static Arc<Pool> {
    POOL.get_or_init(|| {
        let pool = Arc::new(Pool::default());
        for i in 0..worker_count() {
            let pool = pool.clone();
            let worker = std::thread::Builder::new().name(format!("clift-{i}"));
            if let Err(error) = worker.spawn(move || work(&pool)) {
                tracing::error!(%error, "a worker could not be started");
            }
        }
        pool
    })
}

pub(crate) fn start() {
    pool();
}

pub(crate) fn push(node: Arc<Node>) {
    let pool = pool();
    pool.jobs.lock().unwrap_or_else(PoisonError::into_inner).push_back(node);
    pool.wake.notify_one();
}

fn work(pool: &Pool) {
    loop {
        let mut jobs = pool.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let node = loop {
            match jobs.pop_front() {
                Some(node) => break node,
                None => jobs = pool.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(jobs);
        let mut next = Some(node);
        while let Some(node) = next {
            graph::start(&node);
            let status = launch::perform(&node);
            next = graph::finish(node, status, |_| true);
        }
    }
}

pub(crate) fn wait(node: &Arc<Node>) {
    graph::drain_here();
    while node.register_waiter() {
        std::thread::park();
    }
}

pub(crate) fn wait_for_queue(node: &Arc<Node>) {
    wait(node);
}
