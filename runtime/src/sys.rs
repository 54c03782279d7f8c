//! System calls that the standard library does not wrap. `rustix` wraps most of them; the C library itself is needed for what
//! concerns its own state (signal masks of threads, `fork`, `atexit`, `stdout`) and for affinity masks of any length.
#![allow(unsafe_code, reason = "calls into the C library")]

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

use rustix::fs;
use rustix::mm::{self, MapFlags, ProtFlags};

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_ns() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Size of a page.
pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}

/// Maps `len` bytes of zeroed memory, readable and writable. Pages are allocated when first accessed.
pub(crate) fn map_anonymous(len: usize) -> Option<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address chosen by the kernel affects no other memory.
    let address = unsafe { mm::mmap_anonymous(core::ptr::null_mut(), len, protection, MapFlags::PRIVATE) };
    address.ok().and_then(|address| NonNull::new(address.cast()))
}

/// Number of mappable bytes of a file; `None` when the number is not a descriptor of such a file.
pub(crate) fn file_size(file: RawFd) -> Option<usize> {
    if file < 0 {
        return None;
    }
    // SAFETY: the descriptor is used during this call only; one that is not open is an error of the first system call.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    let size = fs::fstat(file).ok()?.st_size;
    if size != 0 {
        return usize::try_from(size).ok();
    }
    // A dma_buf reports its size only by seeking; its file position has no meaning.
    fs::seek(file, fs::SeekFrom::End(0)).ok().and_then(|size| usize::try_from(size).ok())
}

/// Maps the first bytes of a file, readable and writable, shared with all other mappings.
pub(crate) fn map_file(file: RawFd, len: usize) -> Option<NonNull<u8>> {
    if file < 0 {
        return None;
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the descriptor is used during this call only; a new mapping at an address chosen by the kernel affects no other
    // memory.
    let address = unsafe {
        let file = BorrowedFd::borrow_raw(file);
        mm::mmap(core::ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0)
    };
    address.ok().and_then(|address| NonNull::new(address.cast()))
}

/// Takes ownership of a file descriptor from the application.
pub(crate) fn own_file(file: RawFd) -> OwnedFd {
    // SAFETY: it is open (the caller has mapped it), and the application no longer uses it.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// Begins or ends an access of the processor to a dma_buf, to make caches and devices coherent. Other files return an error,
/// which is ignored.
pub(crate) fn sync_dma_buf(file: &OwnedFd, begin: bool) {
    /// `DMA_BUF_IOCTL_SYNC`: `_IOW('b', 0, struct dma_buf_sync)`, a structure of one 64-bit number.
    const SYNC: libc::c_ulong = 0x4008_6200;
    /// `DMA_BUF_SYNC_RW`
    const READ_AND_WRITE: u64 = 3;
    /// `DMA_BUF_SYNC_END`
    const END: u64 = 4;
    let flags = if begin { READ_AND_WRITE } else { READ_AND_WRITE | END };
    // SAFETY: the structure is alive during the call.
    unsafe { libc::ioctl(file.as_raw_fd(), SYNC as _, &raw const flags) };
}

/// Unmaps memory of [`map_anonymous`] or [`map_file`], which must no longer be used.
pub(crate) fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: the caller owns the mapping.
    if let Err(error) = unsafe { mm::munmap(base.as_ptr().cast(), len) } {
        tracing::error!(%error, "memory could not be unmapped");
    }
}

/// Suggests huge pages for a mapping; an error has no consequences.
pub(crate) fn advise_huge_pages(start: NonNull<u8>, len: usize) {
    // SAFETY: the advice does not change the content of the caller's mapping.
    let _ = unsafe { mm::madvise(start.as_ptr().cast(), len, mm::Advice::LinuxHugepage) };
}

/// Numbers of the processors in the calling thread's affinity mask, in order.
pub(crate) fn affinity() -> Option<Vec<usize>> {
    // The kernel rejects masks that are shorter than its own, so longer ones are tried.
    for words in [16usize, 128, 1024] {
        let mut mask = vec![0u64; words];
        // SAFETY: the mask is valid for the length passed.
        let result = unsafe { libc::sched_getaffinity(0, words * 8, mask.as_mut_ptr().cast()) };
        if result == 0 {
            let is_set = |number: &usize| mask[number / 64] >> (number % 64) & 1 != 0;
            let numbers: Vec<usize> = (0..words * 64).filter(is_set).collect();
            return Some(numbers).filter(|numbers| !numbers.is_empty());
        }
    }
    None
}

/// Binds the calling thread to a processor; false on an error.
pub(crate) fn bind_to(processor: usize) -> bool {
    let mut mask = vec![0u64; processor / 64 + 1];
    mask[processor / 64] = 1 << (processor % 64);
    // SAFETY: the mask is valid for the length passed.
    unsafe { libc::sched_setaffinity(0, mask.len() * 8, mask.as_ptr().cast()) == 0 }
}

/// Runs `f` with all asynchronous signals blocked; threads that it starts inherit the mask.
pub(crate) fn with_signals_blocked<T>(f: impl FnOnce() -> T) -> T {
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are valid to write to, and written by `sigfillset` before they are read.
    let changed = unsafe {
        libc::sigfillset(blocked.as_mut_ptr());
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT] {
            libc::sigdelset(blocked.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = f();
    if changed {
        // SAFETY: `before` was written by the successful call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut()) };
    }
    result
}

/// Registers `handler` to be called at process exit.
pub(crate) fn at_exit(handler: extern "C" fn()) -> bool {
    // SAFETY: the handler is a function of this library and does not unwind.
    unsafe { libc::atexit(handler) == 0 }
}

/// Registers handlers to be called around `fork`.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> bool {
    // SAFETY: as above.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) == 0 }
}

unsafe extern "C" {
    /// The C library's standard output, which applications redirect and share with their own `printf`.
    static stdout: *mut libc::FILE;
}

/// Writes to the C library's standard output, and flushes it.
pub(crate) fn write_stdout(text: &[u8]) {
    // SAFETY: `stdout` is a valid stream of the C library, which locks it; the text is valid for its length.
    unsafe {
        let stream = stdout;
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream);
        libc::fflush(stream);
    }
}
