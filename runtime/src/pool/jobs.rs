//! The list of jobs: what waits for a thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::graph::{Kind, Node, Origin};
use crate::launch::{Running, Seat};
use crate::pool::Pool;

/// Something a thread can do.
pub(crate) enum Job {
    /// Start a command.
    Command(Arc<Node>),
    /// Join a launch, on a seat already taken.
    Launch(Arc<Running>),
}

impl Job {
    /// The pool it is a job of.
    pub(super) fn pool(&self) -> &'static Pool {
        match self {
            Job::Command(node) => node.crew.pool(),
            Job::Launch(running) => running.node().crew.pool(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Job::Command(node) => node.origin,
            Job::Launch(running) => running.node().origin,
        }
    }

    /// Whether it runs a kernel (and counts as busy), or a function.
    pub(super) fn is_kernel(&self) -> bool {
        match self {
            Job::Command(node) => node.kind == Kind::Launch,
            Job::Launch(_) => true,
        }
    }
}

/// Which jobs a thread may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// All.
    Any,
    /// This command only.
    Just(Origin),
    /// This command and those before it in its queue.
    UpTo(Origin),
}

impl Wanted {
    pub(super) fn accepts(self, job: Origin) -> bool {
        match self {
            Wanted::Any => true,
            Wanted::Just(origin) => job == origin,
            Wanted::UpTo(origin) => job.queue == origin.queue && job.sequence <= origin.sequence,
        }
    }
}

/// The jobs, and their numbers readable without the lock.
pub(super) struct Jobs {
    list: Mutex<VecDeque<Job>>,
    kernels: AtomicUsize,
    tasks: AtomicUsize,
    pushes: AtomicUsize,
}

impl Jobs {
    pub(super) const fn new() -> Self {
        Self {
            list: Mutex::new(VecDeque::new()),
            kernels: AtomicUsize::new(0),
            tasks: AtomicUsize::new(0),
            pushes: AtomicUsize::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs that run kernels.
    pub(super) fn kernels(&self) -> usize {
        self.kernels.load(Ordering::Relaxed)
    }

    /// Jobs that run functions.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.load(Ordering::Relaxed)
    }

    /// Jobs ever put in.
    pub(super) fn pushes(&self) -> usize {
        self.pushes.load(Ordering::Relaxed)
    }

    fn counter(&self, is_kernel: bool) -> &AtomicUsize {
        if is_kernel { &self.kernels } else { &self.tasks }
    }

    /// Puts a command at the end, a launch under way at the front: it is older than all that has
    /// not begun.
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

    /// Takes the first job that is wanted. For a kernel it comes with what `reserve` gives; when that is `None`, kernels
    /// are passed over.
    pub(super) fn take<R>(&self, wanted: Wanted, mut reserve: impl FnMut() -> Option<R>) -> Option<(Job, Option<R>)> {
        if self.kernels() == 0 && self.tasks() == 0 {
            return None;
        }
        // Declared before the lock's guard: a reservation that turns out to be unused is given back without the lock.
        let mut reservation = None;
        let mut list = self.lock();
        let mut place = 0;
        while let Some(job) = list.get(place) {
            let is_kernel = job.is_kernel();
            if is_kernel && reservation.is_none() && wanted.accepts(job.origin()) {
                reservation = reserve();
            }
            if !wanted.accepts(job.origin()) || (is_kernel && reservation.is_none()) {
                place += 1;
                continue;
            }
            let seat = match job {
                Job::Command(_) => Seat::Last,
                Job::Launch(running) => running.take_seat(),
            };
            if let (Seat::Taken, Job::Launch(running)) = (seat, job) {
                return Some((Job::Launch(running.clone()), reservation));
            }
            self.counter(is_kernel).fetch_sub(1, Ordering::SeqCst);
            let job = list.remove(place);
            if seat != Seat::None {
                let reservation = if is_kernel { reservation } else { None };
                return job.map(|job| (job, reservation));
            }
            // A launch nobody can join any more: it goes, and its place is looked at again.
        }
        None
    }

    /// Takes a launch out, if it is there.
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

    /// Forgets all jobs: they are the parent's, in the child of a fork.
    pub(super) fn forget(&self, list: &mut VecDeque<Job>) {
        core::mem::forget(core::mem::take(list));
        self.kernels.store(0, Ordering::Relaxed);
        self.tasks.store(0, Ordering::Relaxed);
    }
}
