//! Faults of kernels stay inside: an access outside of mapped memory, an illegal instruction or an endless kernel ends its
//! command with an error, and nothing else.
//!
//! - `entry`: the assembly trampoline through which generated code is entered, and to which a thread returns from a fault;
//! - `handler`: the signal handlers, installed with the first launch, which redirect a faulting thread to its trampoline, and
//!   pass everything that is not ours to the handlers installed before;
//! - `threads`: what the handler knows of each thread, alternate stacks for signals, and stacks for generated code;
//! - `stop`: stopping threads in generated code, because of a time limit or because their launch has failed elsewhere;
//! - `access`: copies of memory that the application or a kernel addresses;
//! - `report`: the message.
//!
//! The handler claims a signal only if the thread is inside a trampoline and the program counter is in generated code, or if the
//! faulting address belongs to a copy that [`access`] does. Between the trampoline and generated code there are no frames of
//! Rust, and generated code holds no lock, so leaving it leaves nothing behind: nothing is unwound. Functions of the runtime
//! that generated code calls are never left; a function of the driver that calls generated code (lazy compilation) enters it
//! through a trampoline of its own ([`clift_include::abi::Callbacks::enter`]).
//!
//! Threads are stopped by a signal that is handled like a fault, not by a flag that generated code polls: it costs nothing while
//! nothing is stopped, works for code without loops (a work-group that takes very long), and needs no support of the backends.
//! A thread that is in a function of the runtime at that moment gets the signal again until it is in generated code.
//!
//! Where the architecture is not supported ([`entry::SUPPORTED`]), generated code is called directly, and a fault ends the
//! process.

pub(crate) mod access;
mod entry;
mod handler;
mod report;
mod stop;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests;
mod threads;

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clift_include::abi::{GroupRunFn, WgContext};

use crate::launch::KernelCost;

use entry::{Activation, Target};
pub(crate) use report::{LaunchPlace, describe};
pub(crate) use stop::{ForkLocks, lock_for_fork, no_more_queues, stop_launch, stop_terminated};
pub(crate) use threads::Work;

/// What the compiler knows of the code it has generated. The functions are called on any thread, `contains` in signal handlers.
#[derive(Clone, Copy, Debug)]
pub struct CodeLookup {
    /// Whether an address is in generated code.
    pub contains: fn(usize) -> bool,
    /// The place in the kernel's source of an instruction.
    pub place: fn(usize) -> Option<String>,
}

static CODE: OnceLock<CodeLookup> = OnceLock::new();

/// Tells the runtime where generated code is. Without it, all faults go to the application. Only the first call has an effect.
pub fn set_code_lookup(lookup: CodeLookup) {
    let _ = CODE.set(lookup);
}

/// Sets the time after which a launch is stopped. To be called before the first launch; only the first call has an effect.
pub fn set_time_limit(limit: Duration) {
    stop::set_time_limit(limit);
}

/// Installs the signal handlers again if another handler has replaced them, as a library does that the application has loaded
/// since. The other handler is asked after this one.
pub fn keep_handlers() {
    handler::keep();
}

/// In the child of a fork, which holds the [`ForkLocks`].
pub(crate) fn after_fork_child() {
    threads::after_fork_child();
    stop::after_fork_child();
}

/// What the creator of launches knows about their kernel: one value for all launches.
pub trait LaunchInfo: Send + Sync {
    /// The kernel's cost estimate.
    fn cost(&self) -> &KernelCost;
    /// Receives the message about a launch that failed. Called by the thread that calls callbacks.
    fn failed(&self, message: &str);
    /// The kernel's name.
    fn kernel(&self) -> &str;
    /// The memory that the launch can access, as far as it is known. `args` is the argument block, `kept` are the resources that
    /// the command keeps alive.
    fn memory(&self, args: &[u8], kept: &[Arc<dyn Any + Send + Sync>]) -> Vec<KnownMemory>;
    /// Receives the time that all threads together have worked on a launch, in ns, when it has ended without a failure.
    fn took(&self, _nanos: u64) {}
    /// What a work-item of a launch with this argument block does, if somebody has counted it: for traces.
    fn work(&self, _args: &[u8]) -> Option<ItemWork> {
        None
    }
}

/// What a work-item of a launch does, on average, as its code suggests.
#[derive(Clone, Copy, Debug)]
pub struct ItemWork {
    /// Operations on floating-point numbers.
    pub float_operations: f64,
    /// Operations on integers.
    pub int_operations: f64,
    /// Bytes read and written in global memory.
    pub bytes: f64,
    /// Whether it does more than that, because trip counts are unknown.
    pub is_bound: bool,
}

/// Memory that a launch can access.
#[derive(Clone, Debug)]
pub struct KnownMemory {
    /// Such as "the buffer of argument `out`".
    pub name: String,
    /// Address of the first byte.
    pub start: usize,
    /// Size in bytes.
    pub len: usize,
}

/// What the handler has recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    /// The program counter.
    pub(crate) pc: usize,
}

/// Why generated code, or a copy, was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An access to memory failed.
    Access {
        /// The address, unless it is not canonical: the processor does not report such addresses.
        address: Option<usize>,
        kind: AccessKind,
        /// Whether the address lies in a mapping, which does not permit the access or has no memory behind it.
        mapped: bool,
    },
    /// An illegal instruction.
    IllegalInstruction,
    /// Another exception of the processor.
    Exception(i32),
    /// The thread was stopped.
    Stopped(StopReason),
}

/// The kind of an access, if the processor reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Write,
    Execute,
}

/// Why a thread was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The launch has exceeded the time limit.
    TimeLimit,
    /// The launch has failed on another thread.
    Failed,
    /// The context was terminated.
    Terminated,
}

/// Calls machine code. `Err` if it was left because of a fault.
///
/// # Safety
/// As [`GroupRunFn`]. If the entry is a Rust function, it calls generated code only through
/// [`Callbacks::enter`](clift_include::abi::Callbacks::enter).
#[allow(unsafe_code, reason = "calls of generated code")]
pub(crate) unsafe fn enter(
    work: &Work,
    run: GroupRunFn,
    ctx: *const WgContext,
    args: *const u8,
    first_group: u64,
    group_count: u64,
) -> Result<(), Fault> {
    let activation = Activation::new(Target::Code);
    let arguments = [ctx.addr(), args.addr(), first_group as usize, group_count as usize];
    // SAFETY: the caller guarantees what the function requires; the arguments are those of its signature.
    unsafe { activation.enter(work.record(), run as *const (), arguments) }.map(drop)
}
