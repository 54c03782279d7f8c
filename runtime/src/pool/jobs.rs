//! The list of jobs that wait for a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::enqueue::Family;
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
    /// Execute small children of a family.
    Family(Arc<Family>),
}

impl Job {
    /// The pool that it belongs to.
    pub(super) fn pool(&self) -> &'static Pool {
        match self {
            Job::Command(node) => node.pool.get(),
            Job::Launch(running) => running.node().pool.get(),
            Job::Family(family) => family.ancestor().pool.get(),
        }
    }

    fn position(&self) -> QueuePosition {
        match self {
            Job::Command(node) => node.position,
            Job::Launch(running) => running.node().position,
            Job::Family(family) => family.ancestor().position,
        }
    }

    /// Whether it runs a kernel (and counts as busy), not a function.
    pub(super) fn is_kernel(&self) -> bool {
        match self {
            Job::Command(node) => node.kind == NodeKind::Launch,
            Job::Launch(_) | Job::Family(_) => true,
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

    /// Adds a job: a running launch at the front, because it is older than all commands that have not started; others at the end.
    pub(super) fn push(&self, job: Job) {
        let counter = self.counter(job.is_kernel());
        let mut list = self.lock();
        match job {
            Job::Command(_) | Job::Family(_) => list.push_back(job),
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
        // Declared before the lock's guard, so that an unused reservation, and launches that have ended, are dropped after the lock
        // has been released.
        let mut reservation = None;
        let mut gone: SmallVec<[Job; 2]> = SmallVec::new();
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
                Job::Family(family) if family.is_joinable() => Slot::Taken,
                Job::Family(_) => Slot::None,
            };
            match (slot, job) {
                (Slot::Taken, Job::Launch(running)) => return Some((Job::Launch(running.clone()), reservation)),
                (Slot::Taken, Job::Family(family)) => return Some((Job::Family(family.clone()), reservation)),
                (Slot::None | Slot::Taken | Slot::Last, Job::Command(_) | Job::Launch(_) | Job::Family(_)) => {}
            }
            self.counter(is_kernel).fetch_sub(1, Ordering::SeqCst);
            let job = list.remove(place);
            if slot != Slot::None {
                let reservation = if is_kernel { reservation } else { None };
                return job.map(|job| (job, reservation));
            }
            // A launch or family that no thread can join any more was removed; the same place is examined again.
            gone.extend(job);
        }
        None
    }

    /// Removes a launch, if it is in the list.
    pub(super) fn remove(&self, running: &Arc<Running>) {
        let mut list = self.lock();
        let place = list.iter().position(|job| match job {
            Job::Command(_) | Job::Family(_) => false,
            Job::Launch(other) => Arc::ptr_eq(other, running),
        });
        if let Some(job) = place.and_then(|place| list.remove(place)) {
            self.kernels.fetch_sub(1, Ordering::SeqCst);
            drop(list);
            drop(job);
        }
    }

    /// Moves a family, if it is in the list, to the end.
    pub(super) fn defer_family(&self, family: &Arc<Family>) {
        let mut list = self.lock();
        if let Some(job) = take_family(&mut list, family) {
            list.push_back(job);
        }
    }

    /// Removes a family, if it is in the list and has no small children.
    pub(super) fn remove_family(&self, family: &Arc<Family>) {
        let mut list = self.lock();
        if family.is_joinable() {
            return;
        }
        if let Some(job) = take_family(&mut list, family) {
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

/// Removes the job of a family from the list, if it is there.
fn take_family(list: &mut VecDeque<Job>, family: &Arc<Family>) -> Option<Job> {
    let place = list.iter().position(|job| match job {
        Job::Command(_) | Job::Launch(_) => false,
        Job::Family(other) => Arc::ptr_eq(other, family),
    });
    place.and_then(|place| list.remove(place))
}
