//! The system calls the standard library does not wrap.
#![allow(unsafe_code, reason = "calls into the C library")]

use std::ptr::NonNull;

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) } != 0 {
        return None;
    }
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Size of a page.
pub(crate) fn page_size() -> usize {
    // SAFETY: a query without arguments.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Fresh zeroed memory, `len` bytes, readable and writable. Pages come into being when touched.
pub(crate) fn map_anonymous(len: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice disturbs nothing.
    let address =
        unsafe { libc::mmap(core::ptr::null_mut(), len, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    if address == libc::MAP_FAILED { None } else { NonNull::new(address.cast()) }
}

/// Gives memory of [`map_anonymous`] back; nobody uses it any more.
pub(crate) fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: the caller owns the mapping.
    if unsafe { libc::munmap(base.as_ptr().cast(), len) } != 0 {
        tracing::error!("a mapping could not be given back");
    }
}

/// Suggests huge pages for a mapping; of no consequence when refused.
pub(crate) fn advise_huge_pages(start: NonNull<u8>, len: usize) {
    // SAFETY: advice does not change the content of the caller's mapping.
    unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
}
