//! The list of jobs that wait for a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::graph::{Node, NodeKind, QueuePosition};
use crate::launch::{Running, Slot};
use crate::pool::Pool;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, const_fn};

/// A unit of work for a thread.
pub(crate) enum Job {
    /// Start a command.
    Command(Arc<Node>),
    /// Join a launch, on a slot already taken.
    Launch(Arc<Running>),
}

impl Job {
    /// The pool that it belongs to.
    pub(super) fn pool(&self) -> &'static Pool {
        match self {
            Job::Command(node) => node.pool.get(),
            Job::Launch(running) => running.node().pool.get(),
        }
    }

    fn position(&self) -> QueuePosition {
        match self {
            Job::Command(node) => node.position,
            Job::Launch(running) => running.node().position,
        }
    }

    /// Whether it runs a kernel (and counts as busy), not a function.
    pub(super) fn is_kernel(&self) -> bool {
        match self {
            Job::Command(node) => node.kind == NodeKind::Launch,
            Job::Launch(_) => true,
        }
    }
}

/// Which jobs a thread may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobFilter {
    /// All.
    Any,
    /// This command only.
    Only(QueuePosition),
    /// This command and those before it in its queue.
    UpTo(QueuePosition),
}

impl JobFilter {
    pub(super) fn accepts(self, job: QueuePosition) -> bool {
        match self {
            JobFilter::Any => true,
            JobFilter::Only(position) => job == position,
            JobFilter::UpTo(position) => job.queue == position.queue && job.sequence <= position.sequence,
        }
    }
}

/// The jobs, and counters that can be read without the lock.
pub(super) struct Jobs {
    list: Mutex<VecDeque<Job>>,
    kernels: AtomicUsize,
    tasks: AtomicUsize,
    pushes: AtomicUsize,
}

impl Jobs {
    const_fn! {
        pub(super) const fn new() -> Self {
            Self {
                list: Mutex::new(VecDeque::new()),
                kernels: AtomicUsize::new(0),
                tasks: AtomicUsize::new(0),
                pushes: AtomicUsize::new(0),
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.list.lock()
    }

    /// Number of jobs that run kernels.
    pub(super) fn kernels(&self) -> usize {
        self.kernels.load(Ordering::Relaxed)
    }

    /// Number of jobs that run functions.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.load(Ordering::Relaxed)
    }

    /// Number of jobs ever added.
    pub(super) fn pushes(&self) -> usize {
        self.pushes.load(Ordering::Relaxed)
    }

    fn counter(&self, is_kernel: bool) -> &AtomicUsize {
        if is_kernel { &self.kernels } else { &self.tasks }
    }

    /// Adds a job: a command at the end, a running launch at the front, because it is older than all commands that have not
    /// started.
    pub(super) fn push(&self, job: Job) {
        let counter = self.counter(job.is_kernel());
        let mut list = self.lock();
        match job {
            Job::Command(_) => list.push_back(job),
            Job::Launch(_) => list.push_front(job),
        }
        counter.fetch_add(1, Ordering::SeqCst);
        self.pushes.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes the first job that `wanted` accepts. A kernel is returned with the result of `reserve`; when that is `None`, kernels
    /// are skipped.
    pub(super) fn take<R>(
        &self,
        wanted: JobFilter,
        mut reserve: impl FnMut() -> Option<R>,
    ) -> Option<(Job, Option<R>)> {
        if self.kernels() == 0 && self.tasks() == 0 {
            return None;
        }
        // Declared before the lock's guard, so that an unused reservation is dropped after the lock has been released.
        let mut reservation = None;
        let mut list = self.lock();
        let mut place = 0;
        while let Some(job) = list.get(place) {
            let is_kernel = job.is_kernel();
            if is_kernel && reservation.is_none() && wanted.accepts(job.position()) {
                reservation = reserve();
            }
            if !wanted.accepts(job.position()) || (is_kernel && reservation.is_none()) {
                place += 1;
                continue;
            }
            let slot = match job {
                Job::Command(_) => Slot::Last,
                Job::Launch(running) => running.take_slot(),
            };
            if let (Slot::Taken, Job::Launch(running)) = (slot, job) {
                return Some((Job::Launch(running.clone()), reservation));
            }
            self.counter(is_kernel).fetch_sub(1, Ordering::SeqCst);
            let job = list.remove(place);
            if slot != Slot::None {
                let reservation = if is_kernel { reservation } else { None };
                return job.map(|job| (job, reservation));
            }
            // A launch that no thread can join any more was removed; the same place is examined again.
        }
        None
    }

    /// Removes a launch, if it is in the list.
    pub(super) fn remove(&self, running: &Arc<Running>) {
        let mut list = self.lock();
        let place = list.iter().position(|job| match job {
            Job::Command(_) => false,
            Job::Launch(other) => Arc::ptr_eq(other, running),
        });
        if let Some(job) = place.and_then(|place| list.remove(place)) {
            self.kernels.fetch_sub(1, Ordering::SeqCst);
            drop(list);
            drop(job);
        }
    }

    /// Forgets all jobs, which belong to the parent, in the child of a fork.
    pub(super) fn forget(&self, list: &mut VecDeque<Job>) {
        core::mem::forget(core::mem::take(list));
        self.kernels.store(0, Ordering::Relaxed);
        self.tasks.store(0, Ordering::Relaxed);
    }
}
