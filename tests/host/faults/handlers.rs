//! Signals that are not the driver's: those of the application, its handlers, forks.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{ITEMS, Rig, child, isolated, queue_of, write_to};

/// A page that the application's handler makes accessible; no page at first.
static PAGE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Number of faults that the application has handled.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// The handler that the application has found when it installed its own; 0 for none.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
static PASSES_ON: AtomicBool = AtomicBool::new(false);

/// The application's handler: handles faults at its page, and others like Python's `faulthandler`, by passing them on.
extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the structure; the page is the application's.
    unsafe {
        let page = PAGE.load(Ordering::SeqCst);
        if (*info).si_addr() as usize & !4095 == page {
            libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
            HANDLED.fetch_add(1, Ordering::SeqCst);
            return;
        }
        let before = BEFORE.load(Ordering::SeqCst);
        if PASSES_ON.load(Ordering::SeqCst) && before > 1 {
            let before: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(before);
            before(signal, info, context);
            return;
        }
        libc::_exit(77);
    }
}

fn install(flags: i32) {
    // SAFETY: a valid handler; the structures are filled in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        let mut before: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before), 0);
        BEFORE.store(before.sa_sigaction, Ordering::SeqCst);
    }
}

/// A fault of the application, which its handler handles.
fn own_fault() {
    let handled = HANDLED.load(Ordering::SeqCst);
    // SAFETY: a new mapping, which the handler makes accessible.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
        PAGE.store(page as usize, Ordering::SeqCst);
        page.cast::<i32>().write_volatile(5);
        assert_eq!(page.cast::<i32>().read_volatile(), 5);
    }
    assert_eq!(HANDLED.load(Ordering::SeqCst), handled + 1);
}

fn kernel_fault(rig: &Rig) {
    rig.fails(write_to(rig, 64), (ITEMS, 0));
}

isolated! {
    installed_before => || {
        install(libc::SA_ONSTACK);
        let rig = Rig::new();
        for _ in 0..3 {
            kernel_fault(&rig);
            own_fault();
        }
    };
    installed_before_with_a_plain_stack => || {
        install(0);
        let rig = Rig::new();
        for _ in 0..3 {
            kernel_fault(&rig);
            own_fault();
        }
    };
    /// The application's handler passes faults that are not its own on to the handler before it, as handlers of libraries should.
    installed_after => || {
        let rig = Rig::new();
        kernel_fault(&rig);
        PASSES_ON.store(true, Ordering::SeqCst);
        install(libc::SA_ONSTACK);
        for _ in 0..3 {
            kernel_fault(&rig);
            own_fault();
        }
    };
    /// The application's handler passes nothing on: the driver has to notice that it was replaced.
    replaced => || {
        let rig = Rig::new();
        kernel_fault(&rig);
        install(libc::SA_ONSTACK);
        queue_of(rig.context, 0);
        for _ in 0..3 {
            kernel_fault(&rig);
            own_fault();
        }
    };
    installed_often => || {
        let rig = Rig::new();
        kernel_fault(&rig);
        PASSES_ON.store(true, Ordering::SeqCst);
        install(libc::SA_ONSTACK);
        for _ in 0..20 {
            // The handler passes on to ours, which passes on to it: not for ever.
            queue_of(rig.context, 0);
            kernel_fault(&rig);
            own_fault();
        }
    };
    native_kernel_uses_the_handler => || {
        extern "C" fn native(_: *mut c_void) {
            own_fault();
        }
        install(libc::SA_ONSTACK);
        let rig = Rig::new();
        kernel_fault(&rig);
        // SAFETY: the function takes no arguments.
        let event = unsafe {
            cl3::command_queue::enqueue_native_kernel(
                rig.queue, Some(native), std::ptr::null_mut(), 0, 0, std::ptr::null(), std::ptr::null(), 0, std::ptr::null(),
            )
        };
        assert_eq!(cl3::event::wait_for_events(&[event.expect("a native kernel")]), Ok(()));
        assert_eq!(HANDLED.load(Ordering::SeqCst), 1);
        kernel_fault(&rig);
    };
    blocked_signals => || {
        // SAFETY: the set is initialized.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
        kernel_fault(&Rig::new());
    };
    fork_after_a_fault => || {
        let rig = Rig::new();
        kernel_fault(&rig);
        // SAFETY: the child uses the driver, which supports it, and ends without destructors.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                let passed = std::panic::catch_unwind(|| {
                    let rig = Rig { context: rig.context, queue: queue_of(rig.context, 0) };
                    for _ in 0..3 {
                        kernel_fault(&rig);
                    }
                });
                libc::_exit(i32::from(passed.is_err()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
            assert_eq!(status, 0, "the child fails");
        }
        kernel_fault(&rig);
    };
}

/// The signal that ends a process which runs a kernel that faults, and then this.
fn fatal(path: &str, own: impl FnOnce()) {
    let status = child(path, &[], || {
        kernel_fault(&Rig::new());
        // SAFETY: no core files.
        unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            // The test program's runtime reports stack overflows by itself.
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        }
        queue_of(Rig::new().context, 0);
        own();
    });
    if let Some(status) = status {
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
    }
}

#[test]
fn a_fault_of_the_application_ends_it() {
    fatal(concat!(module_path!(), "::a_fault_of_the_application_ends_it"), || {
        // SAFETY: deliberately not.
        unsafe { std::ptr::without_provenance_mut::<i32>(64).write_volatile(1) };
    });
}

#[test]
fn a_signal_that_is_sent_ends_it() {
    fatal(concat!(module_path!(), "::a_signal_that_is_sent_ends_it"), || {
        // SAFETY: the call accesses no memory.
        unsafe { libc::raise(libc::SIGSEGV) };
    });
}

#[test]
fn a_stack_overflow_of_the_application_ends_it() {
    fn deep(n: u64) -> u64 {
        let page = std::hint::black_box([n; 512]);
        if page[1] == u64::MAX { 0 } else { deep(n + 1) + page[2] }
    }
    fatal(concat!(module_path!(), "::a_stack_overflow_of_the_application_ends_it"), || {
        std::hint::black_box(deep(0));
    });
}

#[test]
fn a_fault_of_a_native_kernel_ends_it() {
    extern "C" fn native(_: *mut c_void) {
        // SAFETY: deliberately not.
        unsafe { std::ptr::without_provenance_mut::<i32>(64).write_volatile(1) };
    }
    fatal(concat!(module_path!(), "::a_fault_of_a_native_kernel_ends_it"), || {
        let rig = Rig::new();
        // SAFETY: the function takes no arguments.
        let event = unsafe {
            cl3::command_queue::enqueue_native_kernel(
                rig.queue,
                Some(native),
                std::ptr::null_mut(),
                0,
                0,
                std::ptr::null(),
                std::ptr::null(),
                0,
                std::ptr::null(),
            )
        };
        let _ = cl3::event::wait_for_events(&[event.expect("a native kernel")]);
    });
}
