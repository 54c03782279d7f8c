//! Models: small programs that run the pool and the graph in all orders of their threads' steps, with the primitives of
//! [`crate::sync`] replaced by those of the crate `loom`. A lost wake-up ends an execution with threads that all sleep, which
//! loom reports; what else has to hold is asserted. `cargo xtask models` runs them.
//!
//! - `pool::models`: how workers sleep, are woken, reserve room for kernels, help and leave;
//! - `enqueue::models`: how threads find the small children of a family, when it has none, and how small children wait for
//!   events;
//! - `graph::models`: counters of dependencies, statuses, and who is told of an end.
//!
//! Memory is modelled as well: a relaxed load may return any value that the orderings permit. Nothing is copied: workers are
//! those of the pool. Orders with more than [`PREEMPTIONS`] preemptions are not explored, except with `LOOM_MAX_PREEMPTIONS`.
//!
//! Deliberately not here: time, processors, launches, forks and the exit of the process.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};

use crate::sync::thread::{self, spawn};

/// Number of times in an execution that a thread is interrupted though it could go on. Faults of such protocols rarely need more.
const PREEMPTIONS: usize = 2;

/// Explores `model`, a thread of the application.
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) {
    explore_with(PREEMPTIONS, model);
}

/// As [`explore`], with at most so many preemptions unless the environment says otherwise.
pub(crate) fn explore_with(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = builder.max_branches.max(20_000);
    let executions = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = executions.clone();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        // The first thread has a small stack.
        let model = model.clone();
        thread::forget_all();
        join(spawn(move || model()));
        thread::join_all();
    });
    println!("{} executions", executions.load(Ordering::Relaxed));
}

pub(crate) fn join<T>(thread: loom::thread::JoinHandle<T>) -> T {
    thread.join().expect("a modelled thread does not panic")
}

/// A counter whose accesses order nothing: who sees a value of another thread does so because of the code under test.
#[derive(Clone)]
pub(crate) struct Count(Arc<AtomicU32>);

impl Count {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU32::new(0)))
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
