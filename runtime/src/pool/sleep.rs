//! Searching and sleeping workers, and how sleepers are woken: the counters of `README.md`.

use std::sync::Arc;
use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::thread::{self, Thread};
use crate::sync::{Instant, Mutex, MutexGuard, const_fn};

/// What one worker sleeps on.
pub(super) struct Parker {
    thread: Thread,
    asleep: AtomicBool,
}

impl Parker {
    /// A parker for the calling thread.
    pub(super) fn for_current_thread() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), asleep: AtomicBool::new(false) })
    }
}

/// The idle workers' state.
pub(super) struct Sleep {
    /// Parkers of the sleeping workers, latest last.
    idle: Mutex<Vec<Arc<Parker>>>,
    /// Length of `idle`.
    sleeping: AtomicUsize,
    /// Number of workers that look for a job or have been woken to do so.
    searching: AtomicUsize,
}

impl Sleep {
    const_fn! {
        pub(super) const fn new() -> Self {
            Self { idle: Mutex::new(Vec::new()), sleeping: AtomicUsize::new(0), searching: AtomicUsize::new(0) }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<Parker>>> {
        self.idle.lock()
    }

    /// Number of workers that look for a job.
    pub(super) fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed)
    }

    /// Counts a worker (possibly one about to be started) as searching.
    pub(super) fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    /// Called when a worker has found a job. True when it was the last searching worker.
    pub(super) fn stop_searching(&self) -> bool {
        self.searching.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Called after publishing something that a worker should see: wakes a worker if none is searching.
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
            let parker = {
                let mut idle = self.lock();
                let Some(parker) = idle.pop() else { return };
                self.sleeping.store(idle.len(), Ordering::Relaxed);
                self.searching.fetch_add(1, Ordering::SeqCst);
                parker
            };
            parker.asleep.store(false, Ordering::Release);
            parker.thread.unpark();
        }
    }

    /// Lets a searching worker sleep until it is woken, which counts it as searching again. It does not sleep if `has_work` is
    /// true after it has been counted as sleeping. Returns whether it has slept as long as `limit` without being woken.
    pub(super) fn sleep(
        &self,
        parker: &Arc<Parker>,
        has_work: impl FnOnce() -> bool,
        limit: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        parker.asleep.store(true, Ordering::Relaxed);
        {
            let mut idle = self.lock();
            idle.push(parker.clone());
            self.sleeping.store(idle.len(), Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        if has_work() && self.get_up(parker) {
            return false;
        }
        let until = limit().map(|limit| Instant::now() + limit);
        while parker.asleep.load(Ordering::Acquire) {
            let Some(until) = until else {
                thread::park();
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() && self.get_up(parker) {
                return true;
            }
            thread::park_timeout(left);
        }
        false
    }

    /// Counts a sleeping worker as searching again, unless another thread has done so.
    fn get_up(&self, parker: &Arc<Parker>) -> bool {
        let mut idle = self.lock();
        let Some(place) = idle.iter().position(|other| Arc::ptr_eq(other, parker)) else { return false };
        idle.remove(place);
        self.sleeping.store(idle.len(), Ordering::Relaxed);
        self.searching.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Forgets all workers: the child of a fork has none.
    pub(super) fn forget(&self, idle: &mut Vec<Arc<Parker>>) {
        core::mem::forget(core::mem::take(idle));
        self.sleeping.store(0, Ordering::Relaxed);
        self.searching.store(0, Ordering::Relaxed);
    }
}
