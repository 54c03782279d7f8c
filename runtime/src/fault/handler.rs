//! The signal handlers. They are installed with the first launch or copy, and claim only what is ours; all other signals go to
//! the handlers that were installed before, as if ours did not exist.
//!
//! A library that the application loads later may replace them, keeping ours as the handler it passes signals on to, or not. When
//! a queue or a program is made, our handlers are installed again in that case. Each installation is a function of its own (a
//! *layer*) with its own record of what was installed before, so that two handlers never pass a signal to each other forever.
#![allow(unsafe_code, reason = "signal handlers")]

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Once;

use super::entry::{self, Target};
use super::{CODE, Cause, Fault, threads};
use crate::sync::plain::{Mutex, MutexGuard};
use crate::sys;

/// Signals that the processor raises.
const RAISED: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// The signal that stops threads; 0 before the handlers are installed.
static STOP: AtomicI32 = AtomicI32::new(0);

/// Number of times that a handler is installed at most.
const LAYERS: usize = 4;

/// Number of signals: the raised ones, and the one that stops threads.
pub(super) const SIGNALS: usize = RAISED.len() + 1;

/// What was installed before a layer.
struct Previous {
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    known: AtomicBool,
}

// SAFETY: the action is written once, before `known` is set, and only read afterwards.
unsafe impl Sync for Previous {}

static PREVIOUS: [[Previous; SIGNALS]; LAYERS] = [const {
    [const { Previous { action: UnsafeCell::new(MaybeUninit::zeroed()), known: AtomicBool::new(false) } }; SIGNALS]
}; LAYERS];

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// The layers' functions.
static HANDLERS: [Handler; LAYERS] = [handle::<0>, handle::<1>, handle::<2>, handle::<3>];

/// Number of layers installed for each signal.
static INSTALLED: Mutex<[usize; SIGNALS]> = Mutex::new([0; SIGNALS]);

/// Installs the handlers, once.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    if !entry::SUPPORTED {
        return;
    }
    ONCE.call_once(|| {
        STOP.store(sys::unused_signal(), Ordering::Relaxed);
        keep();
    });
}

/// Installs those handlers that are not installed (any more).
pub(super) fn keep() {
    if STOP.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut installed = INSTALLED.lock();
    for (index, signal) in signals().into_iter().enumerate() {
        let Some(current) = sys::signal_action(signal) else { continue };
        let layer = installed[index];
        if HANDLERS.iter().any(|handler| current.sa_sigaction == *handler as usize) || layer == LAYERS {
            continue;
        }
        let previous = &PREVIOUS[layer][index];
        // SAFETY: the layer is not installed yet, so no handler reads the action, and the lock excludes other writers.
        unsafe { (*previous.action.get()).write(current) };
        previous.known.store(true, Ordering::Release);
        // The signal that stops threads is sent again and again, and alternate stacks are small: its handlers must not nest.
        if sys::set_signal_handler(signal, STOP.load(Ordering::Relaxed), HANDLERS[layer]) {
            installed[index] = layer + 1;
        }
    }
}

/// The lock of this module, for a thread that forks.
pub(super) fn lock_installed() -> MutexGuard<'static, [usize; SIGNALS]> {
    INSTALLED.lock()
}

/// The handled signals.
pub(super) fn signals() -> [i32; SIGNALS] {
    let [a, b, c, d] = RAISED;
    [a, b, c, d, STOP.load(Ordering::Relaxed)]
}

/// The signal that stops threads, if our handler for it is installed.
pub(super) fn stop_signal() -> Option<i32> {
    let signal = STOP.load(Ordering::Relaxed);
    let action = sys::signal_action(signal).filter(|_| signal != 0)?;
    HANDLERS.iter().any(|handler| action.sa_sigaction == *handler as usize).then_some(signal)
}

extern "C" fn handle<const LAYER: usize>(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // The interrupted code may be about to read it.
    let errno = sys::errno();
    // SAFETY: the kernel passes these structures to a handler installed with `SA_SIGINFO`; nothing else refers to them.
    let (details, machine) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    let ours = claim(signal, details, machine);
    if !ours {
        pass_on(&PREVIOUS[LAYER], signal, info, context);
    }
    sys::set_errno(errno);
}

/// Handles a signal of generated code or of a copy; false if it is something else.
fn claim(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    let pc = entry::program_counter(context);
    let in_code = CODE.get().is_some_and(|code| (code.contains)(pc));
    let stops = signal == STOP.load(Ordering::Relaxed);
    let Some(record) = threads::find() else { return false };
    let cause = if stops {
        // A signal that comes too late, or while the thread is in a function of the runtime, has no effect.
        match record.stop_requested() {
            Some(reason) if in_code => Cause::Stopped(reason),
            Some(_) | None => return sys::is_from_own_process(info),
        }
    } else {
        match entry::fault_of(signal, info, context) {
            Some(cause) => cause,
            None => return false,
        }
    };
    let Some(activation) = record.activation() else { return false };
    let claimed = match &activation.target {
        Target::Code => in_code,
        Target::Memory(ranges) => match cause {
            // Wide accesses may begin before the range.
            Cause::Access { address: Some(address), .. } => ranges.iter().any(|&(start, len)| {
                len > 0 && address.wrapping_sub(start.saturating_sub(64)) < len.saturating_add(128)
            }),
            Cause::Access { address: None, .. } => true,
            Cause::IllegalInstruction | Cause::Exception(_) | Cause::Stopped(_) => false,
        },
    };
    if claimed {
        activation.fault.set(Some(Fault { cause, pc }));
        entry::redirect(context, activation);
    }
    claimed || stops
}

/// Does what would have happened without our handler.
fn pass_on(previous: &[Previous; SIGNALS], signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let index = RAISED.iter().position(|raised| *raised == signal).unwrap_or(RAISED.len());
    let previous = &previous[index];
    if !previous.known.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: it has been written before `known` was set.
    let action = unsafe { (*previous.action.get()).assume_init_ref() };
    // SAFETY: the kernel passes this structure.
    let raised = unsafe { (*info).si_code > 0 };
    match action.sa_sigaction {
        // The kernel does not ignore signals that the processor raises.
        libc::SIG_IGN if !raised => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            sys::set_default_action(signal);
            if !raised {
                sys::raise(signal);
            }
            // Otherwise the instruction is executed again, and ends the process.
        }
        function => {
            sys::block_for_handler(action, signal);
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: it was installed as a function with these parameters.
                let function: Handler = unsafe { core::mem::transmute(function) };
                function(signal, info, context);
            } else {
                // SAFETY: as above.
                let function: extern "C" fn(i32) = unsafe { core::mem::transmute(function) };
                function(signal);
            }
        }
    }
}
