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
    // SAFETY: it is open (the caller has used it), and the application no longer does.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// Whether a number is that of an open descriptor.
pub(crate) fn is_open(file: RawFd) -> bool {
    if file < 0 {
        return false;
    }
    // SAFETY: the descriptor is used during this call only; one that is not open is an error of the system call.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    rustix::io::fcntl_getfd(file).is_ok()
}

/// Whether a number is that of an `eventfd`.
pub(crate) fn is_eventfd(file: RawFd) -> bool {
    let is_one = |link: std::path::PathBuf| link.as_os_str() == "anon_inode:[eventfd]";
    file >= 0 && std::fs::read_link(format!("/proc/self/fd/{file}")).is_ok_and(is_one)
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
pub fn with_signals_blocked<T>(f: impl FnOnce() -> T) -> T {
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
pub fn at_exit(handler: extern "C" fn()) -> bool {
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

/// Writes these texts to the C library's standard output, and flushes it.
pub(crate) fn write_stdout(texts: &[Vec<u8>]) {
    // SAFETY: `stdout` is a valid stream of the C library, which locks it; the texts are valid for their lengths.
    unsafe {
        let stream = stdout;
        for text in texts {
            libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream);
        }
        libc::fflush(stream);
    }
}

/// Maps `len` bytes for a stack; the lowest page is not accessible.
pub(crate) fn map_stack(len: usize) -> Option<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
    // SAFETY: a new mapping at an address chosen by the kernel affects no other memory.
    let base = unsafe { mm::mmap_anonymous(core::ptr::null_mut(), len, protection, flags) }.ok()?;
    // SAFETY: the page is part of the new mapping.
    let guarded = unsafe { mm::mprotect(base, page_size(), mm::MprotectFlags::empty()) };
    let base = NonNull::new(base.cast::<u8>())?;
    // Addresses of stacks are handled as numbers.
    base.as_ptr().expose_provenance();
    if guarded.is_err() {
        unmap(base, len);
        return None;
    }
    Some(base)
}

/// The calling thread's number.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: the call accesses no memory.
    unsafe { libc::gettid() }
}

/// Sends a signal to a thread of this process. A thread that does not exist is an error without consequences.
pub(crate) fn signal_thread(thread: i32, signal: i32) {
    // SAFETY: the system call accesses no memory.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// Sends a signal to the calling thread. May be called in a signal handler.
pub(crate) fn raise(signal: i32) {
    // SAFETY: the system calls access no memory.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal) };
}

/// Whether a signal was sent by a thread of this process to one thread.
pub(crate) fn is_from_own_process(info: &libc::siginfo_t) -> bool {
    /// `SI_TKILL`
    const TO_THREAD: i32 = -6;
    // SAFETY: the kernel fills in the sender for such signals.
    info.si_code == TO_THREAD && unsafe { info.si_pid() == libc::getpid() }
}

/// The action for a signal.
pub(crate) fn signal_action(signal: i32) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the structure is written if the call succeeds.
    unsafe { (libc::sigaction(signal, core::ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
}

/// Installs a handler, which runs on the thread's alternate stack if there is one. Meanwhile `blocked` is blocked, but `signal`
/// is not, unless it is the same.
pub(crate) fn set_signal_handler(
    signal: i32,
    blocked: i32,
    handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut core::ffi::c_void),
) -> bool {
    // SAFETY: all fields are numbers.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as usize;
    // Without `SA_NODEFER`, a fault in a handler that ours calls would end the process at once.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
    // SAFETY: the handler has the parameters that the flags ask for; the mask is valid.
    unsafe {
        libc::sigaddset(&raw mut action.sa_mask, blocked);
        libc::sigaction(signal, &raw const action, core::ptr::null_mut()) == 0
    }
}

/// Sets a signal's default action. May be called in a signal handler.
pub(crate) fn set_default_action(signal: i32) {
    // SAFETY: all fields are numbers, and zeros mean the default action.
    let action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the structure is valid.
    unsafe { libc::sigaction(signal, &raw const action, core::ptr::null_mut()) };
}

/// Blocks the signals that the kernel would block while it runs the handler of `action`. The mask before is restored when the
/// calling handler returns.
pub(crate) fn block_for_handler(action: &libc::sigaction, signal: i32) {
    let mut mask = action.sa_mask;
    // SAFETY: the sets are valid.
    unsafe {
        if action.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut mask, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const mask, core::ptr::null_mut());
    }
}

/// Unblocks signals for the calling thread.
pub(crate) fn unblock_signals(signals: &[i32]) {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialized by `sigemptyset`.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), core::ptr::null_mut());
    }
}

/// A real-time signal without a handler; if all have one, the last but one.
pub(crate) fn unused_signal() -> i32 {
    let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let unused = |signal: &i32| signal_action(*signal).is_some_and(|action| action.sa_sigaction == libc::SIG_DFL);
    (first..last).rev().find(unused).unwrap_or(last - 1)
}

/// The lowest address of the calling thread's alternate stack for signals.
pub(crate) fn alternate_stack() -> Option<usize> {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: the structure is written if the call succeeds.
    let stack = unsafe { (libc::sigaltstack(core::ptr::null(), stack.as_mut_ptr()) == 0).then(|| stack.assume_init()) };
    stack.filter(|stack| stack.ss_flags & libc::SS_DISABLE == 0).map(|stack| stack.ss_sp.addr())
}

/// Sets the calling thread's alternate stack (lowest address and size), or removes it.
pub(crate) fn set_alternate_stack(stack: Option<(usize, usize)>) -> bool {
    let (start, bytes, flags) = match stack {
        Some((start, bytes)) => (start, bytes, 0),
        None => (0, 0, libc::SS_DISABLE),
    };
    let stack = libc::stack_t { ss_sp: core::ptr::with_exposed_provenance_mut(start), ss_flags: flags, ss_size: bytes };
    // SAFETY: the memory belongs to the caller, who frees it only when another stack, or none, has been set.
    unsafe { libc::sigaltstack(&raw const stack, core::ptr::null_mut()) == 0 }
}

/// Bytes of an alternate stack: what the kernel needs for the registers, and enough for our handler and those it calls.
pub(crate) fn signal_stack_bytes() -> usize {
    /// `AT_MINSIGSTKSZ`
    const LEAST: libc::c_ulong = 51;
    // SAFETY: the function only reads the process's auxiliary vector.
    let least = unsafe { libc::getauxval(LEAST) } as usize;
    least.max(libc::MINSIGSTKSZ) + (64 << 10)
}

/// Whether the process has rights that its user has not (it was started from a file with the set-user-ID bit, for example), so
/// that its environment is not to be trusted.
pub fn is_privileged() -> bool {
    // SAFETY: the function only reads the process's auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The C library's error number.
pub(crate) fn errno() -> i32 {
    // SAFETY: the location is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the C library's error number.
pub(crate) fn set_errno(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}
