//! Long work of the driver that is not a command, such as building programs. The application's threads may have small stacks,
//! so work that they wait for runs on another stack if theirs is short, and all else on threads of ours. At most as many pieces
//! of work run at a time as the processor has use for; the others wait. Work that a thread waits for comes before jobs, of
//! which many may be queued: launches prepare code that they guess will be needed.
//!
//! Builds of large modules do the work on their kernels at the same time ([`for_each`]), as far as places are free.
//!
//! Rejected: a thread for work that is waited for. It costs almost a tenth of a short build.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::plain::{Condvar, Mutex, MutexGuard};
use crate::{pool, sys};

/// The size of a large stack: only what is used gets memory.
const STACK_BYTES: usize = 64 << 20;
/// Work runs on a stack that has so many bytes left. This is half of what threads usually have.
const ENOUGH_BYTES: usize = 4 << 20;

/// A piece of work that no command waits for.
type Job = Box<dyn FnOnce() + Send>;

static BACKGROUND: Background = Background { state: Mutex::new(State::new()), granted: Condvar::new() };

struct Background {
    state: Mutex<State>,
    /// A place was granted to a thread that waits for one.
    granted: Condvar,
}

pub(crate) struct State {
    /// The epoch (number of forks) of the process that the rest is about.
    epoch: u32,
    /// Number of pieces of work that are being done, or whose thread was granted a place.
    running: usize,
    /// Number of threads that wait for a place to do their work.
    blocked: usize,
    /// Number of places for threads that are no longer counted as blocked, but have not taken them yet.
    granted: usize,
    /// Jobs that wait for a thread.
    waiting: VecDeque<Job>,
}

thread_local! {
    /// Whether this thread does such work.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

impl State {
    const fn new() -> Self {
        Self { epoch: 0, running: 0, blocked: 0, granted: 0, waiting: VecDeque::new() }
    }
}

fn lock() -> MutexGuard<'static, State> {
    let mut state = BACKGROUND.state.lock();
    if state.epoch != pool::epoch() {
        // The parent's jobs are the parent's.
        let parents = core::mem::replace(&mut *state, State { epoch: pool::epoch(), ..State::new() });
        core::mem::forget(parents);
    }
    state
}

/// The lock of this module, for a thread that forks.
pub(crate) fn lock_for_fork() -> MutexGuard<'static, State> {
    BACKGROUND.state.lock()
}

fn limit() -> usize {
    pool::worker_count().max(2)
}

/// Whether the calling thread does such work already, or is a thread of the driver with a large stack.
fn on_thread_of_ours() -> bool {
    OURS.get() || pool::on_worker()
}

/// Counts a piece of work until dropped, and passes its place on to a thread or a job that waits.
struct Place {
    epoch: u32,
}

impl Place {
    /// A place for which no other work waits, if there is one.
    fn spare() -> Option<Place> {
        let mut state = lock();
        let is_spare = state.running < limit() && state.blocked == 0 && state.waiting.is_empty();
        is_spare.then(|| {
            state.running += 1;
            Place { epoch: state.epoch }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = lock();
        if self.epoch != state.epoch {
            return;
        }
        if state.blocked > 0 {
            state.blocked -= 1;
            state.granted += 1;
            drop(state);
            BACKGROUND.granted.notify_one();
        } else if let Some(job) = state.waiting.pop_front() {
            drop(state);
            begin(job, Place { epoch: self.epoch });
        } else {
            state.running -= 1;
        }
    }
}

fn builder() -> std::thread::Builder {
    std::thread::Builder::new().name("clift-build".to_owned()).stack_size(STACK_BYTES)
}

/// Does `work` on a large stack when there is room for another piece of work, before all jobs that wait.
pub fn run<T>(work: impl FnOnce() -> T) -> T {
    if on_thread_of_ours() {
        return work();
    }
    let mut state = lock();
    if state.running < limit() {
        state.running += 1;
    } else {
        state.blocked += 1;
        while state.granted == 0 {
            state = BACKGROUND.granted.wait(state);
        }
        state.granted -= 1;
    }
    let place = Place { epoch: state.epoch };
    drop(state);
    let done = stacker::maybe_grow(ENOUGH_BYTES, STACK_BYTES, || {
        let around = OURS.replace(true);
        let _reset = Reset(around);
        work()
    });
    drop(place);
    done
}

/// Does `work` for the numbers below `count`, each once: on the calling thread and, while there is room, on threads of ours.
/// Returns when all of it is done.
pub fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let work_on = || {
        loop {
            // Each number is taken once; what `work` does is ordered by the end of the scope.
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            work(number);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..count {
            let Some(place) = Place::spare() else { break };
            let helper = || {
                OURS.set(true);
                let _place = place;
                work_on();
            };
            if let Err(error) = sys::with_signals_blocked(|| builder().spawn_scoped(scope, helper)) {
                tracing::error!(%error, "no thread could be started");
                break;
            }
        }
        work_on();
    });
}

/// Restores [`OURS`] when dropped, also when the work panics.
struct Reset(bool);

impl Drop for Reset {
    fn drop(&mut self) {
        OURS.set(self.0);
    }
}

/// Does `job` on a thread of ours, when there is room, without waiting for it.
pub fn start(job: impl FnOnce() + Send + 'static) {
    let job: Job = Box::new(job);
    let mut state = lock();
    if state.running >= limit() {
        state.waiting.push_back(job);
        return;
    }
    state.running += 1;
    let place = Place { epoch: state.epoch };
    drop(state);
    begin(job, place);
}

/// Starts a thread for a job. If that is not possible, the calling thread does the job.
fn begin(job: Job, place: Place) {
    let work = std::sync::Arc::new(Mutex::new(Some((job, place))));
    let theirs = work.clone();
    let thread = move || {
        OURS.set(true);
        perform(&theirs);
    };
    if let Err(error) = sys::with_signals_blocked(|| builder().spawn(thread)) {
        tracing::error!(%error, "no thread could be started");
        perform(&work);
    }
}

fn perform(work: &Mutex<Option<(Job, Place)>>) {
    let taken = work.lock().take();
    if let Some((job, place)) = taken {
        job();
        drop(place);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// All jobs are done, never more than `limit` at a time.
    #[test]
    fn the_number_of_threads_is_bounded() {
        const JOBS: usize = 200;
        let counters = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let work = |counters: &[AtomicUsize; 3]| {
            let [now, most, done] = counters;
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
        };
        for _ in 0..JOBS {
            let counters = counters.clone();
            super::start(move || work(&counters));
        }
        for _ in 0..10 {
            assert_eq!(super::run(|| super::run(|| 7)), 7);
        }
        while counters[2].load(Ordering::SeqCst) < JOBS {
            std::thread::yield_now();
        }
        assert!(counters[1].load(Ordering::SeqCst) <= super::limit());
    }

    /// Each piece of work is done once, also if some of it waits for other pieces of the same kind.
    #[test]
    fn pieces_are_done_once() {
        let done: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        super::for_each(10, &|tens| {
            super::for_each(100, &|ones| {
                done[100 * tens + ones].fetch_add(1, Ordering::SeqCst);
            });
        });
        assert!(done.iter().all(|done| done.load(Ordering::SeqCst) == 1));
        assert!(std::panic::catch_unwind(|| super::for_each(5, &|number| assert_ne!(number, 3))).is_err());
        super::for_each(0, &|_| unreachable!());
    }

    /// Work that a thread waits for is done before the jobs that are queued.
    #[test]
    fn work_that_is_waited_for_comes_first() {
        let jobs = 50 * super::limit();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..jobs {
            let done = done.clone();
            super::start(move || {
                std::thread::sleep(std::time::Duration::from_millis(2));
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        let before = super::run(|| done.load(Ordering::SeqCst));
        assert!(before < jobs / 2, "{before} of {jobs} jobs were done first");
        while done.load(Ordering::SeqCst) < jobs {
            std::thread::yield_now();
        }
    }
}
