//! Callbacks of the application: called one after the other, in the order they became due, by a thread of their own.
//!
//! Not by the application's threads: one that waits, sets a user event or registers a callback may hold a lock the
//! callback takes. Not by workers either: a callback that blocks (OpenCL only warns against it) must not keep commands from
//! running. The thread is started when the first callback is due. Where there can be none, at process exit or when the
//! system refuses, whoever makes a callback due calls it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{SHARED, is_exiting, lifecycle, worker};
use crate::graph::DueCallbacks;
use crate::sys;

/// What is due.
pub(super) struct Strand {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    due: VecDeque<DueCallbacks>,
    /// Whether there is a thread.
    manned: bool,
    /// Whether callbacks are being called.
    calling: bool,
}

thread_local! {
    static ON_STRAND: Cell<bool> = const { Cell::new(false) };
}

impl Strand {
    pub(super) const fn new() -> Self {
        let state = State { due: VecDeque::new(), manned: false, calling: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another thread is calling callbacks.
    pub(super) fn is_calling(&self) -> bool {
        !ON_STRAND.get() && self.lock().calling
    }

    /// Calls what is due, until nothing is, unless another thread (or an outer call of this one) is at it.
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

    /// The thread's life.
    fn live(&self) {
        ON_STRAND.set(true);
        let mut state = self.lock();
        loop {
            if is_exiting() {
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
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl State {
    /// Forgets what is due: it is the parent's, in the child of a fork.
    pub(super) fn forget(&mut self) {
        core::mem::forget(core::mem::take(self));
    }
}

/// Calls callbacks; a panic in one ends with it.
fn call_all(callbacks: DueCallbacks) {
    for (told, callback) in callbacks {
        if catch_unwind(AssertUnwindSafe(move || callback(told))).is_err() {
            tracing::error!("a callback panicked");
        }
    }
}

/// Has callbacks called, each with the status beside it.
pub(crate) fn call(callbacks: DueCallbacks) {
    let strand = &SHARED.strand;
    let mut state = strand.lock();
    state.due.push_back(callbacks);
    if !state.manned && !is_exiting() {
        lifecycle::register();
        let builder = std::thread::Builder::new().name("clift-callbacks".to_owned()).stack_size(worker::STACK_BYTES);
        match sys::with_signals_blocked(|| builder.spawn(|| SHARED.strand.live())) {
            Ok(_) => state.manned = true,
            Err(error) => tracing::error!(%error, "the thread for callbacks could not be started"),
        }
    }
    let manned = state.manned && !is_exiting();
    drop(state);
    if manned { strand.changed.notify_one() } else { strand.call_due() }
}

/// Has a function of the application called later, after the callbacks that are due before it: for destructor and build
/// callbacks.
pub fn defer(function: impl FnOnce() + Send + 'static) {
    let mut callbacks = DueCallbacks::new();
    callbacks.push((0, Box::new(move |_| function())));
    call(callbacks);
}
