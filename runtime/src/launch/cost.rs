//! The cost estimate of a kernel, which decides how many threads a launch uses.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::{KnownMemory, LaunchInfo};

/// Estimates are kept in 1/256 ns.
const SCALE: u64 = 256;

/// Running estimate of the time that a work-item of a kernel takes, shared by all launches of the kernel.
///
/// It increases at once and decreases slowly: underestimating a long launch is worse than overestimating a short one.
#[derive(Debug, Default)]
pub struct KernelCost {
    /// Scaled time per work-item; 0 before the first launch.
    item: AtomicU64,
}

/// A kernel of which nothing else is known.
impl LaunchInfo for KernelCost {
    fn cost(&self) -> &KernelCost {
        self
    }

    fn failed(&self, _: &str) {}

    fn kernel(&self) -> &str {
        "unknown"
    }

    fn memory(&self, _: &[u8], _: &[Arc<dyn Any + Send + Sync>]) -> Vec<KnownMemory> {
        Vec::new()
    }
}

impl KernelCost {
    /// Estimated nanoseconds for `items` work-items; `None` before the first launch has ended.
    pub fn estimate(&self, items: u64) -> Option<u64> {
        let item = self.item.load(Ordering::Relaxed);
        (item != 0).then(|| item.saturating_mul(items) / SCALE)
    }

    /// Records that a thread has spent `time` ns on `items` work-items.
    pub(crate) fn learn(&self, time: u64, items: u64) {
        if items == 0 {
            return;
        }
        let seen = (time.saturating_mul(SCALE) / items).max(1);
        let old = self.item.load(Ordering::Relaxed);
        let new = if seen >= old { seen } else { old - (old - seen).div_ceil(4) };
        if new != old {
            // Concurrent updates may be lost, which is acceptable for an estimate.
            self.item.store(new, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KernelCost;

    #[test]
    fn rises_at_once_and_falls_slowly() {
        let cost = KernelCost::default();
        assert_eq!(cost.estimate(10), None);
        cost.learn(1000, 100);
        assert_eq!(cost.estimate(100), Some(1000));
        cost.learn(4000, 100);
        assert_eq!(cost.estimate(100), Some(4000));
        cost.learn(0, 100);
        assert_eq!(cost.estimate(100), Some(3000));
        for _ in 0..100 {
            cost.learn(100, 100);
        }
        assert_eq!(cost.estimate(100), Some(100));
        cost.learn(u64::MAX, 1);
        assert!(cost.estimate(u64::MAX).is_some());
    }
}
