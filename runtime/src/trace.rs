//! What a trace (`CLIFT_TRACE`) shows of a process: the structured messages of the target [`TARGET`], and how they are made.
//!
//! Messages of [`tracing`] are the only way in which parts of the driver report what they do. Most are text for people; those of
//! this target are data, and only a trace reads them. Each kind has a field of its own name:
//!
//! | field | other fields | meaning |
//! |---|---|---|
//! | `slice` (name) | `group`, `ns`, and any others | something that this thread has done in the last `ns` nanoseconds |
//! | `submitted` (id) | | this thread has submitted a command |
//! | `started` (name) | `id`, `queue` | a command has been started |
//! | `command` (name) | `id`, `queue`, `number`, `queued`, `submit`, `start`, `end`, `status`; of launches, the size, and what a work-item does ([`LaunchSize`]) | a command has ended |
//! | `before` (id) | `after` (id; 0 for a user event) | the first command could not begin until this one had ended, just now |
//! | `counter` (name) | `value` | a number has changed |
//! | `fact` (name) | `text` | something about the device or the driver, said once |
//!
//! The stages of builds come from the messages of the target `clift::time`, which the compiler also shows to people, and what it
//! made of each kernel from those of the target `clift::kernel` (`jit/src/pipeline/observer.rs` documents them).
//!
//! Deliberately not here: the file, and its format (`icd/src/trace`); what a process in `CLIFT_WATCH` tells (`icd/src/watch`).

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::Level;

use crate::clock::now_ns;
use crate::fault::ItemWork;
use crate::graph::{KeepAlive, Work};

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
    /// The size of a launch.
    pub(crate) size: Option<LaunchSize>,
}

/// What a trace has to know of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchSize {
    pub(crate) items: u64,
    pub(crate) groups: u64,
    /// Bytes of the buffers and other allocations that the arguments refer to, each counted once.
    pub(crate) argument_bytes: u64,
    /// What a work-item does, as far as the compiler can tell.
    pub(crate) work: Option<ItemWork>,
}

impl Traced {
    /// A command with this name and work, if there is a trace.
    pub(crate) fn new(name: &str, work: &Work, kept: &KeepAlive) -> Option<Traced> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        is_enabled().then(|| {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            Traced { id, name: work.traced_name(name).into(), size: LaunchSize::of(work, kept) }
        })
    }

    /// Records that the calling thread submits the command.
    pub(crate) fn submitted(&self) {
        tracing::trace!(target: TARGET, submitted = self.id);
    }

    /// Records that the command is started.
    pub(crate) fn started(&self, queue: u64) {
        tracing::trace!(target: TARGET, started = &*self.name, id = self.id, queue);
    }
}

impl LaunchSize {
    fn of(work: &Work, kept: &KeepAlive) -> Option<LaunchSize> {
        let Work::Launch(launch) = work else { return None };
        let work = launch.info.as_ref().and_then(|info| info.work(launch.args.bytes()));
        let mut memory = launch.info.as_ref().map_or_else(Vec::new, |info| info.memory(launch.args.bytes(), kept));
        memory.sort_by_key(|memory| memory.start);
        memory.dedup_by_key(|memory| memory.start);
        let argument_bytes = memory.iter().map(|memory| memory.len as u64).sum();
        Some(LaunchSize { items: launch.nd.total_items(), groups: launch.nd.total_groups(), argument_bytes, work })
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
