//! Device queues.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A queue that kernels enqueue to. Its commands are ordered by wait lists and flags only, so all that it keeps is how much
/// memory they take.
#[derive(Debug)]
pub struct DeviceQueue {
    bytes: u64,
    used: AtomicU64,
    me: Weak<DeviceQueue>,
}

/// The share of a command in its queue. Dropping it gives the share back.
#[derive(Debug)]
pub(super) struct Share {
    queue: Arc<DeviceQueue>,
    bytes: u64,
}

impl DeviceQueue {
    /// A queue whose unfinished commands may take `bytes` of memory.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { bytes, used: AtomicU64::new(0), me: me.clone() })
    }

    /// Reserves memory for a command; false when the queue is full.
    pub(super) fn reserve(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Gives reserved memory back.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Reserves memory until the result is dropped; `None` when the queue is full.
    pub(super) fn share(&self, bytes: u64) -> Option<Share> {
        let queue = self.handle()?;
        queue.reserve(bytes).then(|| Share { queue, bytes })
    }

    /// A handle that keeps the queue alive.
    pub(super) fn handle(&self) -> Option<Arc<DeviceQueue>> {
        self.me.upgrade()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.queue.give_back(self.bytes);
    }
}
