//! Callbacks of the application. A dedicated thread calls them one after the other, in the order they became due.
//!
//! Threads of the application do not call them: a thread that waits, sets a user event or registers a callback may hold a lock
//! that the callback acquires. Workers do not call them either: a callback that blocks (which OpenCL discourages but allows) must
//! not keep commands from running. The thread is started when the first callback is due. Where it cannot be started, at process
//! exit or because of an error, the thread that makes a callback due calls it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{LINGER, SHARED, is_exiting, lifecycle, worker};
use crate::graph::DueCallbacks;
use crate::sync::{Condvar, Instant, Mutex, MutexGuard, const_fn, per_thread, thread};
use crate::sys;

/// The queue of due callbacks.
pub(super) struct Strand {
    state: Mutex<StrandState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct StrandState {
    due: VecDeque<DueCallbacks>,
    /// Whether the thread has been started.
    has_workers: bool,
    /// Whether callbacks are being called.
    calling: bool,
}

per_thread! {
    static ON_STRAND: Cell<bool> = const { Cell::new(false) };
}

impl Strand {
    const_fn! {
        pub(super) const fn new() -> Self {
            let state = StrandState { due: VecDeque::new(), has_workers: false, calling: false };
            Self { state: Mutex::new(state), changed: Condvar::new() }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StrandState> {
        self.state.lock()
    }

    /// Whether another thread is calling callbacks, or is about to.
    pub(super) fn is_calling(&self) -> bool {
        let state = self.lock();
        !ON_STRAND.with(Cell::get) && (state.calling || (state.has_workers && !state.due.is_empty()))
    }

    /// Calls due callbacks until there are none, unless another thread (or an outer call on this one) does so already.
    fn call_due(&self) {
        let mut state = self.lock();
        if state.calling {
            return;
        }
        state.calling = true;
        while let Some(callbacks) = state.due.pop_front() {
            drop(state);
            call_all(callbacks);
            state = self.lock();
        }
        state.calling = false;
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
                Some(callbacks) => {
                    state.calling = true;
                    drop(state);
                    call_all(callbacks);
                    let mut state = self.lock();
                    state.calling = false;
                    state
                }
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
    /// Forgets due callbacks, which belong to the parent, in the child of a fork.
    pub(super) fn forget(&mut self) {
        core::mem::forget(core::mem::take(self));
    }
}

/// Calls callbacks; a panic ends only the callback that caused it.
fn call_all(callbacks: DueCallbacks) {
    for (callback_status, callback) in callbacks {
        if catch_unwind(AssertUnwindSafe(move || callback(callback_status))).is_err() {
            tracing::error!("a callback panicked");
        }
    }
}

/// Makes callbacks due, each with its argument.
pub(crate) fn call(callbacks: DueCallbacks) {
    let strand = &SHARED.strand;
    let mut state = strand.lock();
    state.due.push_back(callbacks);
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

/// Makes a function of the application due, after all callbacks that are already due. Used for destructor and build callbacks.
pub fn defer(function: impl FnOnce() + Send + 'static) {
    let mut callbacks = DueCallbacks::new();
    callbacks.push((0, Box::new(move |_| function())));
    call(callbacks);
}
