//! What a trace (`CLIFT_TRACE`) shows of a process: the structured messages of the target [`TARGET`], and how they are made.
//!
//! Messages of [`tracing`] are the only way in which parts of the driver report what they do. Most are text for people; those of
//! this target are data, and only a trace reads them. Each kind has a field of its own name:
//!
//! | field | other fields | meaning |
//! |---|---|---|
//! | `slice` (name) | `group`, `ns`, and any others | something that this thread has done in the last `ns` nanoseconds |
//! | `submitted` (id) | | this thread has submitted a command |
//! | `command` (name) | `id`, `queue`, `number`, `queued`, `submit`, `start`, `end`, `status` | a command has ended |
//! | `before` (id) | `after` (id; 0 for a user event) | the first command could not begin until this one had ended, just now |
//! | `counter` (name) | `value` | a number has changed |
//!
//! The stages of builds come from the messages of the target `clift::time`, which the compiler also shows to people.
//!
//! Deliberately not here: the file, and its format (`icd/src/trace`).

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::Level;

use crate::clock::now_ns;

/// The target of the messages.
pub const TARGET: &str = "clift::trace";

/// Whether there is a trace. It costs one load if there is none.
pub fn is_enabled() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

/// The time, if there is a trace: the begin of a slice.
pub fn begin() -> Option<u64> {
    is_enabled().then(now_ns)
}

/// Nanoseconds since [`begin`].
pub fn since(begun: u64) -> u64 {
    now_ns().saturating_sub(begun)
}

/// What a trace has to know of a command.
#[derive(Debug)]
pub(crate) struct Traced {
    /// A number that no other command has.
    pub(crate) id: u64,
    pub(crate) name: Box<str>,
}

impl Traced {
    /// A command with this name, if there is a trace. The calling thread submits it.
    pub(crate) fn submitted(name: impl FnOnce() -> Box<str>) -> Option<Traced> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        is_enabled().then(|| {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            tracing::trace!(target: TARGET, submitted = id);
            Traced { id, name: name() }
        })
    }
}

/// Records that some work-groups of a launch have been executed by this thread, from `begun` on.
pub(crate) fn groups(kernel: Option<&str>, begun: u64, first: u64, count: u64) {
    let (slice, ns) = (kernel.unwrap_or("kernel"), since(begun));
    tracing::trace!(target: TARGET, slice, group = "work-groups", ns, first, count);
}

/// A number that a trace shows over time. It is counted only while there is a trace, which begins before anything is counted.
#[derive(Debug)]
pub(crate) struct Counter {
    name: &'static str,
    value: AtomicU64,
}

impl Counter {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, value: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, amount: usize) {
        if is_enabled() {
            let amount = amount as u64;
            self.report(self.value.fetch_add(amount, Ordering::Relaxed).wrapping_add(amount));
        }
    }

    pub(crate) fn subtract(&self, amount: usize) {
        if is_enabled() {
            let amount = amount as u64;
            self.report(self.value.fetch_sub(amount, Ordering::Relaxed).wrapping_sub(amount));
        }
    }

    fn report(&self, value: u64) {
        tracing::trace!(target: TARGET, counter = self.name, value);
    }
}
