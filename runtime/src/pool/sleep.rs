//! Who searches, who sleeps, and how sleepers are woken: the counters of `README.md`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// One worker's bed.
pub(super) struct Bed {
    thread: Thread,
    asleep: AtomicBool,
}

impl Bed {
    /// For the calling thread.
    pub(super) fn of_this_thread() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), asleep: AtomicBool::new(false) })
    }
}

/// The idle workers' state.
pub(super) struct Sleep {
    /// Sleeping workers, the latest last.
    idle: Mutex<Vec<Arc<Bed>>>,
    /// Length of `idle`.
    sleeping: AtomicUsize,
    /// Workers looking for a job, or woken to.
    searching: AtomicUsize,
}

impl Sleep {
    pub(super) const fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()), sleeping: AtomicUsize::new(0), searching: AtomicUsize::new(0) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<Bed>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers looking for a job.
    pub(super) fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed)
    }

    /// A worker (or one about to be born) begins to search.
    pub(super) fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    /// A worker has found a job. True when it was the last searcher.
    pub(super) fn stop_searching(&self) -> bool {
        self.searching.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Something has been published that a worker should see: wakes one if nobody is searching.
    pub(super) fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 {
            self.wake(1);
        }
    }

    /// Wakes up to `count` workers and counts them as searching.
    pub(super) fn wake(&self, count: usize) {
        if count == 0 || self.sleeping.load(Ordering::Relaxed) == 0 {
            return;
        }
        for _ in 0..count {
            let bed = {
                let mut idle = self.lock();
                let Some(bed) = idle.pop() else { return };
                self.sleeping.store(idle.len(), Ordering::Relaxed);
                self.searching.fetch_add(1, Ordering::SeqCst);
                bed
            };
            bed.asleep.store(false, Ordering::Release);
            bed.thread.unpark();
        }
    }

    /// A searching worker sleeps until it is woken, and is searching again then. Stays awake if, once it counts as asleep,
    /// `work_waits`.
    pub(super) fn sleep(&self, bed: &Arc<Bed>, work_waits: impl FnOnce() -> bool) {
        bed.asleep.store(true, Ordering::Relaxed);
        {
            let mut idle = self.lock();
            idle.push(bed.clone());
            self.sleeping.store(idle.len(), Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        if work_waits() {
            let mut idle = self.lock();
            if let Some(place) = idle.iter().position(|other| Arc::ptr_eq(other, bed)) {
                idle.remove(place);
                self.sleeping.store(idle.len(), Ordering::Relaxed);
                self.searching.fetch_add(1, Ordering::SeqCst);
                return;
            }
            // Taken out by a waker meanwhile, which counts it.
        }
        while bed.asleep.load(Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// Forgets all workers: the child of a fork has none.
    pub(super) fn forget(&self, idle: &mut Vec<Arc<Bed>>) {
        core::mem::forget(core::mem::take(idle));
        self.sleeping.store(0, Ordering::Relaxed);
        self.searching.store(0, Ordering::Relaxed);
    }
}
