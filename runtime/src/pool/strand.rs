//! Callbacks of the application. A dedicated thread calls them one after the other, in the order they became due.
//!
//! Threads of the application do not call them: a thread that waits, sets a user event or registers a callback may hold a lock
//! that the callback acquires. Workers do not call them either: a callback that blocks (which OpenCL discourages but allows) must
//! not keep commands from running. The thread is started when the first callback is due. Where it cannot be started, at process
//! exit or because of an error, the thread that makes a callback due calls it.
//!
//! Many applications take for granted that the callbacks of a command have been called when a wait for the command returns, or
//! when its queue has been released; with drivers that call them on the thread that ends the command, it is so. Therefore waits
//! end with [`Strand::wait_until_called`]. It is bounded: a callback may need a lock that the waiting thread holds.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{LINGER, SHARED, is_exiting, lifecycle, worker};
use crate::graph::DueCallbacks;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Instant, Mutex, MutexGuard, const_fn, per_thread, thread};
use crate::sys;

/// How long a thread waits for callbacks. Once this was in vain, threads no longer wait for callbacks of that source.
const PATIENCE: Duration = Duration::from_millis(100);

/// The queue of due callbacks.
pub(super) struct Strand {
    state: Mutex<StrandState>,
    changed: Condvar,
    /// Notified when callbacks have been called, if a thread waits for that.
    called: Condvar,
    /// Number of batches that are due or being called. Changes with the lock held.
    open: AtomicUsize,
}

#[derive(Default)]
pub(super) struct StrandState {
    due: VecDeque<Batch>,
    /// Whether the thread has been started.
    has_workers: bool,
    /// Of the callbacks that are being called.
    calling: Option<CallbackSource>,
    /// Number of batches that have been called.
    called: u64,
    /// Number of threads that wait for calls.
    waiting: u32,
    /// Whose callbacks had not been called after [`PATIENCE`].
    slow: Vec<CallbackSource>,
}

/// Whose callbacks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackSource {
    /// Commands of the queue with this identifier.
    Queue(u64),
    /// User events.
    UserEvents,
    /// Anything else, which is not waited for.
    Driver,
}

/// Callbacks that became due together.
struct Batch {
    source: CallbackSource,
    callbacks: DueCallbacks,
}

per_thread! {
    static ON_STRAND: Cell<bool> = const { Cell::new(false) };
}

impl Strand {
    const_fn! {
        pub(super) const fn new() -> Self {
            let state = StrandState {
                due: VecDeque::new(),
                has_workers: false,
                calling: None,
                called: 0,
                waiting: 0,
                slow: Vec::new(),
            };
            let state = Mutex::new(state);
            Self { state, changed: Condvar::new(), called: Condvar::new(), open: AtomicUsize::new(0) }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StrandState> {
        self.state.lock()
    }

    /// Whether another thread is calling callbacks, or is about to.
    pub(super) fn is_calling(&self) -> bool {
        let state = self.lock();
        !ON_STRAND.with(Cell::get) && (state.calling.is_some() || (state.has_workers && !state.due.is_empty()))
    }

    /// Calls due callbacks until there are none, unless another thread (or an outer call on this one) does so already.
    fn call_due(&self) {
        let mut state = self.lock();
        while state.calling.is_none()
            && let Some(batch) = state.due.pop_front()
        {
            state = self.call(state, batch);
        }
    }

    /// Calls the callbacks of a batch, without the lock.
    fn call<'a>(&'a self, mut state: MutexGuard<'a, StrandState>, batch: Batch) -> MutexGuard<'a, StrandState> {
        state.calling = Some(batch.source);
        drop(state);
        call_all(batch.callbacks);
        let mut state = self.lock();
        state.calling = None;
        state.called += 1;
        self.open.fetch_sub(1, Ordering::Relaxed);
        if state.waiting > 0 {
            self.called.notify_all();
        }
        state
    }

    /// Waits until the callbacks of `source` that are due now have been called, within limits: see the module's documentation.
    pub(super) fn wait_until_called(&self, source: CallbackSource) {
        if self.open.load(Ordering::Relaxed) == 0 || ON_STRAND.with(Cell::get) || is_exiting() {
            return;
        }
        let mut state = self.lock();
        if state.slow.contains(&source) {
            return;
        }
        let Some(last) = state.number_of_last(source) else { return };
        let start = Instant::now();
        while state.has_workers && state.called < last {
            let Some(left) = PATIENCE.checked_sub(start.elapsed()) else {
                tracing::debug!(
                    ?source,
                    "callbacks take long, or need what the waiting thread holds: not waiting for them again"
                );
                state.slow.push(source);
                return;
            };
            state.waiting += 1;
            state = self.called.wait_timeout(state, left);
            state.waiting -= 1;
        }
    }

    /// Forgets what is known of a queue's callbacks, at its end.
    pub(super) fn forget_source(&self, source: CallbackSource) {
        self.lock().slow.retain(|slow| *slow != source);
    }

    /// Lets the thread see that there are no more queues.
    pub(super) fn reconsider(&self) {
        let state = self.lock();
        self.changed.notify_one();
        drop(state);
    }

    /// The loop of the thread, which leaves when it is idle and there are no queues.
    fn live(&self) {
        ON_STRAND.with(|on_strand| on_strand.set(true));
        let mut state = self.lock();
        loop {
            // What was due before the process began to exit is still called: errors of the last commands, for example.
            if is_exiting() && state.due.is_empty() {
                drop(state);
                worker::park_for_good();
            }
            state = match state.due.pop_front() {
                Some(batch) => self.call(state, batch),
                None if super::has_queues() => self.changed.wait(state),
                None => {
                    let idle_since = Instant::now();
                    let mut state = self.changed.wait_timeout(state, LINGER);
                    if state.due.is_empty() && !super::has_queues() && idle_since.elapsed() >= LINGER {
                        state.has_workers = false;
                        return;
                    }
                    state
                }
            };
        }
    }
}

impl StrandState {
    /// What `called` is when the last of these callbacks that are due has been called; `None` if none is due.
    fn number_of_last(&self, source: CallbackSource) -> Option<u64> {
        let next = self.called + u64::from(self.calling.is_some()) + 1;
        match self.due.iter().rposition(|batch| batch.source == source) {
            Some(position) => Some(next + position as u64),
            None => (self.calling == Some(source)).then_some(self.called + 1),
        }
    }

    /// Forgets due callbacks, which belong to the parent, in the child of a fork.
    pub(super) fn forget(&mut self) {
        core::mem::forget(core::mem::take(self));
        SHARED.strand.open.store(0, Ordering::Relaxed);
    }
}

/// Calls callbacks; a panic ends only the callback that caused it.
fn call_all(callbacks: DueCallbacks) {
    for (status, callback) in callbacks {
        if catch_unwind(AssertUnwindSafe(move || callback(status))).is_err() {
            tracing::error!("a callback panicked");
        }
    }
}

/// Makes callbacks due, each with its argument.
pub(crate) fn call(source: CallbackSource, callbacks: DueCallbacks) {
    make_due(source, callbacks, || {});
    call_due();
}

/// Makes callbacks due; they are called soon after [`call_due`]. `publish` makes visible what they are called for: none is called
/// before, and who sees it finds them by [`Strand::wait_until_called`].
pub(crate) fn make_due(source: CallbackSource, callbacks: DueCallbacks, publish: impl FnOnce()) {
    let strand = &SHARED.strand;
    let mut state = strand.lock();
    state.due.push_back(Batch { source, callbacks });
    strand.open.fetch_add(1, Ordering::Relaxed);
    publish();
}

/// Lets the callbacks that are due be called.
pub(crate) fn call_due() {
    let strand = &SHARED.strand;
    let mut state = strand.lock();
    if !state.has_workers && !is_exiting() {
        lifecycle::register();
        let builder = thread::Builder::new().name("clift-callbacks".to_owned()).stack_size(worker::STACK_BYTES);
        match sys::with_signals_blocked(|| builder.spawn(|| SHARED.strand.live())) {
            Ok(_) => state.has_workers = true,
            Err(error) => tracing::error!(%error, "the thread for callbacks could not be started"),
        }
    }
    let has_workers = state.has_workers && !is_exiting();
    drop(state);
    if has_workers { strand.changed.notify_one() } else { strand.call_due() }
}

/// Makes a function due that calls the application, after all callbacks that are already due: destructor callbacks, reports to
/// contexts.
pub fn defer(function: impl FnOnce() + Send + 'static) {
    let mut callbacks = DueCallbacks::new();
    callbacks.push((0, Box::new(move |_| function())));
    call(CallbackSource::Driver, callbacks);
}
