//! What the signal handler knows of each thread that runs kernels or copies memory, and the stacks that such threads need.
//!
//! Records are in a list that only grows. A record belongs to one thread until that thread ends, and is then reused. The handler
//! finds its thread's record by the thread pointer, without locks and without thread-local variables.
#![allow(unsafe_code, reason = "records are shared with signal handlers; stacks are mapped by hand")]

use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;

use super::entry::{Activation, SUPPORTED, thread_pointer};
use super::{StopReason, handler, stop};
use crate::sync::plain::{Mutex, MutexGuard};
use crate::{pool, sys};

/// The record of a thread. What other threads access is atomic; cells are the owner's.
pub(super) struct Record {
    /// The next record; does not change.
    next: *const Record,
    /// Identifies the owner; 0 for a record without one.
    thread: AtomicUsize,
    /// The owner's number for system calls.
    pub(super) tid: AtomicI32,
    /// The innermost activation.
    activation: AtomicPtr<Activation>,
    /// Number of pieces of work begun and ended: odd while the thread works on a launch.
    work: AtomicU64,
    /// The piece of work to be stopped, by its number.
    stop: AtomicU64,
    /// Why: a [`StopReason`].
    reason: AtomicU8,
    /// The launch worked on, as an opaque number, and when that launch has started.
    launch: AtomicUsize,
    started: AtomicU64,
    /// The termination of the launch's context, as an opaque number; 0 if there is none.
    context: AtomicUsize,
    /// The stack for generated code, if the thread is not a worker, and whether it is in use.
    stack: Cell<Option<Stack>>,
    stack_in_use: Cell<bool>,
    /// The alternate stack for signals, if the thread had none.
    alternate: Cell<Option<Stack>>,
}

// SAFETY: other threads (and signal handlers) access the atomic fields only, and `next`, which never changes. Cells are accessed
// by the owner; ownership changes under the lock of `OWNERS`.
unsafe impl Sync for Record {}

/// The list's first record.
static FIRST: AtomicPtr<Record> = AtomicPtr::new(ptr::null_mut());

/// Held while a record changes its owner, and while a signal is sent: the owner cannot end meanwhile.
static OWNERS: Mutex<()> = Mutex::new(());

/// The records. May be called in a signal handler.
fn records() -> impl Iterator<Item = &'static Record> {
    // SAFETY: records are never freed.
    let mut next = unsafe { FIRST.load(Ordering::Acquire).cast_const().as_ref() };
    std::iter::from_fn(move || {
        let record = next?;
        // SAFETY: as above.
        next = unsafe { record.next.as_ref() };
        Some(record)
    })
}

/// The record of the calling thread, for its signal handler.
pub(super) fn find() -> Option<&'static Record> {
    let thread = thread_pointer();
    records().find(|record| record.thread.load(Ordering::Relaxed) == thread)
}

/// A thread's hold on its record.
struct Owner(&'static Record);

thread_local! {
    static OWNER: Owner = Owner::new();
}

/// The calling thread's record; `None` while the thread is being destroyed.
pub(super) fn own() -> Option<&'static Record> {
    if !SUPPORTED {
        return None;
    }
    OWNER.try_with(|owner| owner.0).ok()
}

impl Owner {
    fn new() -> Self {
        handler::install();
        let lock = OWNERS.lock();
        let record = records().find(|record| record.thread.load(Ordering::Relaxed) == 0).unwrap_or_else(|| {
            let record = Box::leak(Box::new(Record::new(FIRST.load(Ordering::Relaxed))));
            FIRST.store(record, Ordering::Release);
            record
        });
        record.tid.store(sys::thread_id(), Ordering::Relaxed);
        record.thread.store(thread_pointer(), Ordering::Release);
        drop(lock);
        if sys::alternate_stack().is_none()
            && let Some(stack) = Stack::new(sys::signal_stack_bytes())
        {
            if sys::set_alternate_stack(Some((stack.lowest(), stack.usable()))) {
                record.alternate.set(Some(stack));
            } else {
                stack.free();
            }
        }
        sys::unblock_signals(&handler::signals());
        Self(record)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let record = self.0;
        if let Some(stack) = record.alternate.take() {
            // Unless the application has set another one since.
            if sys::alternate_stack() == Some(stack.lowest()) {
                sys::set_alternate_stack(None);
            }
            stack.free();
        }
        if let Some(stack) = record.stack.take() {
            stack.free();
        }
        let _lock = OWNERS.lock();
        record.tid.store(0, Ordering::Relaxed);
        record.thread.store(0, Ordering::Release);
    }
}

/// Bytes of a stack for generated code: as a worker's, because functions that generated code calls are written for those.
const STACK_BYTES: usize = 8 << 20;

impl Record {
    fn new(next: *const Record) -> Self {
        Self {
            next,
            thread: AtomicUsize::new(0),
            tid: AtomicI32::new(0),
            activation: AtomicPtr::new(ptr::null_mut()),
            work: AtomicU64::new(0),
            stop: AtomicU64::new(0),
            reason: AtomicU8::new(0),
            launch: AtomicUsize::new(0),
            started: AtomicU64::new(0),
            context: AtomicUsize::new(0),
            stack: Cell::new(None),
            stack_in_use: Cell::new(false),
            alternate: Cell::new(None),
        }
    }

    /// Makes an activation the innermost one; returns the one before.
    pub(super) fn set_activation(&self, activation: *const Activation) -> *const Activation {
        let before = self.activation.load(Ordering::Relaxed);
        self.activation.store(activation.cast_mut(), Ordering::Relaxed);
        before
    }

    /// The innermost activation of the thread, in its signal handler.
    pub(super) fn activation(&self) -> Option<&Activation> {
        // SAFETY: an activation is on the thread's stack, in a function that sets the field back before it returns.
        unsafe { self.activation.load(Ordering::Relaxed).cast_const().as_ref() }
    }

    /// The top of a stack for generated code, to be given back with [`Record::leave_stack`]; `None` to use the current one: on a
    /// worker, and when the other stack is already in use. A thread of the application may have a small stack.
    pub(super) fn claim_stack(&self) -> Option<usize> {
        if self.stack_in_use.get() || pool::on_worker() {
            return None;
        }
        let stack = self.stack.get().or_else(|| {
            let stack = Stack::new(STACK_BYTES)?;
            self.stack.set(Some(stack));
            Some(stack)
        })?;
        self.stack_in_use.set(true);
        Some(stack.top())
    }

    pub(super) fn leave_stack(&self) {
        self.stack_in_use.set(false);
    }

    /// The current work and the start of its launch, if there is any.
    pub(super) fn working(&self) -> Option<(u64, u64)> {
        let work = self.work.load(Ordering::SeqCst);
        (work % 2 == 1).then(|| (work, self.started.load(Ordering::Relaxed)))
    }

    /// Requests that a piece of work is stopped, if it is still the current one.
    pub(super) fn request_stop(&self, work: u64, reason: StopReason) {
        if self.stop.load(Ordering::Relaxed) != work && self.work.load(Ordering::SeqCst) == work {
            self.reason.store(reason as u8, Ordering::Relaxed);
            self.stop.store(work, Ordering::SeqCst);
        }
    }

    /// Why the current work is to be stopped, if it is.
    pub(super) fn stop_requested(&self) -> Option<StopReason> {
        let work = self.work.load(Ordering::SeqCst);
        if work.is_multiple_of(2) || self.stop.load(Ordering::SeqCst) != work {
            return None;
        }
        let reason = self.reason.load(Ordering::Relaxed);
        let reasons = [StopReason::Failed, StopReason::Terminated];
        Some(reasons.into_iter().find(|known| *known as u8 == reason).unwrap_or(StopReason::TimeLimit))
    }
}

/// Work of the calling thread on a launch, until dropped.
pub(crate) struct Work {
    /// `None` where faults are not handled.
    record: Option<&'static Record>,
    /// The launch, its start and its context before, if the thread works on one launch inside of another.
    outer: (usize, u64, usize),
    /// Added to the record's number at the end.
    step: u64,
}

impl Work {
    /// Begins work on a launch (an opaque number) that has started at a time. `context` is the number of its context's
    /// termination.
    pub(crate) fn begin(launch: usize, started: u64, context: usize) -> Self {
        let Some(record) = own() else { return Self { record: None, outer: (0, 0, 0), step: 0 } };
        let outer = (
            record.launch.load(Ordering::Relaxed),
            record.started.load(Ordering::Relaxed),
            record.context.load(Ordering::Relaxed),
        );
        let work = record.work.load(Ordering::Relaxed);
        // A nested piece of work has a number of its own.
        let step = if work % 2 == 1 { 2 } else { 1 };
        record.launch.store(launch, Ordering::Relaxed);
        record.started.store(started, Ordering::Relaxed);
        record.context.store(context, Ordering::Relaxed);
        record.work.store(work + step, Ordering::Release);
        stop::work_begins();
        Self { record: Some(record), outer, step }
    }

    /// The thread's record.
    pub(super) fn record(&self) -> Option<&Record> {
        self.record
    }

    /// The work that the calling thread has begun, for a function that generated code has called.
    pub(crate) fn current() -> Self {
        Self { record: own(), outer: (0, 0, 0), step: 0 }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let Some(record) = self.record.filter(|_| self.step > 0) else { return };
        record.launch.store(self.outer.0, Ordering::Relaxed);
        record.started.store(self.outer.1, Ordering::Relaxed);
        record.context.store(self.outer.2, Ordering::Relaxed);
        record.work.store(record.work.load(Ordering::Relaxed) + self.step, Ordering::Release);
    }
}

/// Calls `visit` with the records of all threads that work, and with the number of the work and the launch's start. The threads
/// do not end meanwhile.
pub(super) fn for_each_working(mut visit: impl FnMut(&Record, u64, u64)) {
    let _lock = OWNERS.lock();
    for record in records().filter(|record| record.thread.load(Ordering::Relaxed) != 0) {
        if let Some((work, started)) = record.working() {
            visit(record, work, started);
        }
    }
}

/// Requests that all other threads stop working on a launch. Returns whether there are any.
pub(super) fn request_stop_of(launch: usize) -> bool {
    let own = own().map_or(ptr::null(), ptr::from_ref);
    let mut any = false;
    for_each_working(|record, work, _| {
        if !ptr::eq(record, own) && record.launch.load(Ordering::SeqCst) == launch {
            record.request_stop(work, StopReason::Failed);
            any = true;
        }
    });
    any
}

/// Requests that all threads stop working on launches of a context. Returns whether there are any.
pub(super) fn request_stop_of_context(context: usize) -> bool {
    let mut any = false;
    for_each_working(|record, work, _| {
        if record.context.load(Ordering::SeqCst) == context {
            record.request_stop(work, StopReason::Terminated);
            any = true;
        }
    });
    any
}

/// The lock that a forking thread holds.
pub(super) fn lock_owners() -> MutexGuard<'static, ()> {
    OWNERS.lock()
}

/// In the child of a fork, while the lock is held: only the calling thread exists.
pub(super) fn after_fork_child() {
    let thread = thread_pointer();
    for record in records() {
        if record.thread.load(Ordering::Relaxed) == thread && thread != 0 {
            record.tid.store(sys::thread_id(), Ordering::Relaxed);
        } else {
            // The memory of the thread's stacks is lost.
            record.alternate.set(None);
            record.stack.set(None);
            record.stack_in_use.set(false);
            record.activation.store(ptr::null_mut(), Ordering::Relaxed);
            record.work.store(record.work.load(Ordering::Relaxed).next_multiple_of(2), Ordering::Relaxed);
            record.tid.store(0, Ordering::Relaxed);
            record.thread.store(0, Ordering::Relaxed);
        }
    }
}

/// Whether an address is in the guard page of the calling thread's stack for generated code.
pub(super) fn is_guard_of_stack(address: usize) -> bool {
    let Some(stack) = own().and_then(|record| record.stack.get()) else { return false };
    (stack.base..stack.lowest()).contains(&address)
}

/// A mapping with a guard page at its lower end.
#[derive(Clone, Copy, Debug)]
struct Stack {
    base: usize,
    bytes: usize,
}

impl Stack {
    fn new(usable: usize) -> Option<Self> {
        let bytes = usable.next_multiple_of(sys::page_size()) + sys::page_size();
        let base = sys::map_stack(bytes)?;
        Some(Self { base: base.as_ptr().addr(), bytes })
    }

    /// The first usable address.
    fn lowest(self) -> usize {
        self.base + sys::page_size()
    }

    fn usable(self) -> usize {
        self.bytes - sys::page_size()
    }

    fn top(self) -> usize {
        self.base + self.bytes
    }

    fn free(self) {
        if let Some(base) = ptr::NonNull::new(ptr::with_exposed_provenance_mut(self.base)) {
            sys::unmap(base, self.bytes);
        }
    }
}
