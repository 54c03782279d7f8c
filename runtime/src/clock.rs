//! The driver's only clock: profiling times and the device and host timers read it.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds on the monotonic clock (`CLOCK_MONOTONIC`, so values of different processes can be compared).
pub fn now_ns() -> u64 {
    crate::sys::monotonic_ns().unwrap_or_else(fallback)
}

/// For systems without that clock: time since the first call.
fn fallback() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Resolution of [`now_ns`] in nanoseconds.
pub const RESOLUTION_NS: u64 = 1;
