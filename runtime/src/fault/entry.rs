//! The trampoline: it saves the caller's registers, optionally changes to another stack, and calls a function. When the function
//! faults, the signal handler lets the thread continue at the trampoline's end, as if the function had returned.
#![allow(unsafe_code, reason = "generated code is entered and left in assembly")]

use core::cell::Cell;

use super::Fault;
use super::threads::Record;

pub(super) use arch::{SUPPORTED, fault_of, program_counter, redirect, thread_pointer};

/// What a thread executes under a trampoline.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// Generated code.
    Code,
    /// A function of the C library that accesses these ranges of memory (start and length) and holds no lock.
    Memory([(usize, usize); 2]),
}

/// A call through the trampoline. It is on the caller's stack; the handler finds it through the thread's record.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Activation {
    /// The stack pointer after the registers have been saved. Written by the trampoline, which expects the first two fields here.
    saved_sp: Cell<usize>,
    /// The top of the stack for the function; 0 for the current one.
    stack_top: Cell<usize>,
    pub(super) target: Target,
    /// Set by the handler before it redirects the thread.
    pub(super) fault: Cell<Option<Fault>>,
}

impl Activation {
    pub(super) fn new(target: Target) -> Self {
        Self { saved_sp: Cell::new(0), stack_top: Cell::new(0), target, fault: Cell::new(None) }
    }

    /// Calls a function with at most four integer arguments on the thread of the record; without one, faults are not handled.
    /// Returns its result as an integer, or the fault that ended it.
    ///
    /// # Safety
    /// The function is an `extern "C"` function with such arguments, and may be called with these. If it is left because of a
    /// fault, no frame of Rust code is skipped: it is [`Target::Code`] or a function as [`Target::Memory`] describes.
    pub(super) unsafe fn enter(
        &self,
        record: Option<&Record>,
        function: *const (),
        arguments: [usize; 4],
    ) -> Result<usize, Fault> {
        let Some(record) = record else {
            // SAFETY: by contract. The caller's arguments beyond those of the function are ignored by the C ABI.
            return Ok(unsafe { arch::call(function, arguments) });
        };
        let stack = if matches!(self.target, Target::Code) { record.claim_stack() } else { None };
        self.stack_top.set(stack.unwrap_or(0));
        let outer = record.set_activation(self);
        // SAFETY: by contract; the stack has no other user, because nested calls stay on it.
        let (ended, result) = unsafe { arch::enter(self, function, arguments) };
        record.set_activation(outer);
        if stack.is_some() {
            record.leave_stack();
        }
        if ended {
            return Ok(result);
        }
        // The handler restores the control registers of the interrupted code, which may have changed them.
        crate::fpenv::reset();
        match self.fault.get() {
            Some(fault) => Err(fault),
            None => unreachable!("broken invariant: left without a fault"),
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod arch {
    use core::arch::{asm, naked_asm};
    use core::mem::offset_of;

    use super::super::{AccessKind, Cause};
    use super::Activation;

    /// Whether faults are handled on this machine.
    pub(in super::super) const SUPPORTED: bool = true;

    /// The result of the trampoline, in two registers.
    #[repr(C)]
    struct Left {
        faulted: u64,
        result: u64,
    }

    pub(super) unsafe fn enter(activation: &Activation, function: *const (), arguments: [usize; 4]) -> (bool, usize) {
        // SAFETY: by the contract of `Activation::enter`.
        let left = unsafe { trampoline(activation, function, &arguments) };
        (left.faulted == 0, left.result as usize)
    }

    /// Calls without a trampoline.
    pub(super) unsafe fn call(function: *const (), [a, b, c, d]: [usize; 4]) -> usize {
        // SAFETY: by the contract of `Activation::enter`.
        let function: extern "C" fn(usize, usize, usize, usize) -> usize = unsafe { core::mem::transmute(function) };
        function(a, b, c, d)
    }

    /// Bytes between the saved stack pointer and the frame pointer: five registers, and eight bytes that align the stack.
    const SAVED: usize = 6 * 8;

    #[unsafe(naked)]
    unsafe extern "C" fn trampoline(
        activation: *const Activation,
        function: *const (),
        arguments: *const [usize; 4],
    ) -> Left {
        naked_asm!(
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "mov [rdi + {saved_sp}], rsp",
            "mov rax, rsi",
            "mov r10, [rdi + {stack_top}]",
            "test r10, r10",
            "cmovne rsp, r10",
            "mov r10, rdx",
            "mov rdi, [r10]",
            "mov rsi, [r10 + 8]",
            "mov rdx, [r10 + 16]",
            "mov rcx, [r10 + 24]",
            "call rax",
            "mov rdx, rax",
            "xor eax, eax",
            "lea rsp, [rbp - {saved}]",
            "jmp 2f",
            // `redirect` continues here, with the saved stack pointer.
            ".globl clift_runtime_left",
            ".hidden clift_runtime_left",
            "clift_runtime_left:",
            "cld",
            "mov eax, 1",
            "2:",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            saved_sp = const offset_of!(Activation, saved_sp),
            stack_top = const offset_of!(Activation, stack_top),
            saved = const SAVED,
        )
    }

    unsafe extern "C" {
        /// The place in the trampoline where a thread continues after a fault.
        safe fn clift_runtime_left();
    }

    /// An address that is different for each thread that exists. May be called in a signal handler, unlike accesses to
    /// thread-local variables of a library that was loaded at run time, which may allocate memory.
    pub(in super::super) fn thread_pointer() -> usize {
        let pointer: usize;
        // SAFETY: the ABI stores the thread pointer's value at the address it points to.
        unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly, pure)) };
        pointer
    }

    fn register(context: &libc::ucontext_t, number: i32) -> usize {
        context.uc_mcontext.gregs[number as usize] as usize
    }

    /// The program counter of the interrupted code.
    pub(in super::super) fn program_counter(context: &libc::ucontext_t) -> usize {
        register(context, libc::REG_RIP)
    }

    /// Lets the interrupted thread continue at the end of its trampoline.
    pub(in super::super) fn redirect(context: &mut libc::ucontext_t, activation: &Activation) {
        let registers = &mut context.uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = activation.saved_sp.get() as i64;
        registers[libc::REG_RIP as usize] = clift_runtime_left as *const () as i64;
    }

    /// The cause of a signal that the processor raised; `None` if it was sent by a process.
    pub(in super::super) fn fault_of(signal: i32, info: &libc::siginfo_t, context: &libc::ucontext_t) -> Option<Cause> {
        /// `SI_KERNEL`: for accesses, the address is not canonical.
        const FROM_KERNEL: i32 = 0x80;
        /// `SEGV_MAPERR`
        const NOT_MAPPED: i32 = 1;
        /// The bits of the processor's error code of page faults.
        const WRITE: usize = 1 << 1;
        const FETCH: usize = 1 << 4;
        if info.si_code <= 0 {
            return None;
        }
        match signal {
            libc::SIGSEGV | libc::SIGBUS => {
                // SAFETY: the kernel fills in the address for these signals.
                let address = unsafe { info.si_addr() }.addr();
                let error = register(context, libc::REG_ERR);
                let kind = match error {
                    error if error & FETCH != 0 => AccessKind::Execute,
                    error if error & WRITE != 0 => AccessKind::Write,
                    _ => AccessKind::Read,
                };
                let known = info.si_code != FROM_KERNEL;
                let mapped = signal == libc::SIGBUS || (known && info.si_code != NOT_MAPPED);
                Some(Cause::Access { address: known.then_some(address), kind, mapped })
            }
            libc::SIGILL => Some(Cause::IllegalInstruction),
            other => Some(Cause::Exception(other)),
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod arch {
    use super::super::Cause;
    use super::Activation;

    /// Whether faults are handled on this machine.
    pub(in super::super) const SUPPORTED: bool = false;

    pub(super) unsafe fn enter(_: &Activation, function: *const (), arguments: [usize; 4]) -> (bool, usize) {
        // SAFETY: by the contract of `Activation::enter`.
        (true, unsafe { call(function, arguments) })
    }

    /// Calls without a trampoline.
    pub(super) unsafe fn call(function: *const (), [a, b, c, d]: [usize; 4]) -> usize {
        // SAFETY: by the contract of `Activation::enter`.
        let function: extern "C" fn(usize, usize, usize, usize) -> usize = unsafe { core::mem::transmute(function) };
        function(a, b, c, d)
    }

    /// No handler is installed here.
    pub(in super::super) fn thread_pointer() -> usize {
        0
    }

    /// The program counter is not known here.
    pub(in super::super) fn program_counter(_: &libc::ucontext_t) -> usize {
        0
    }

    /// No handler is installed here.
    pub(in super::super) fn redirect(_: &mut libc::ucontext_t, _: &Activation) {}

    /// No cause is known here.
    pub(in super::super) fn fault_of(_: i32, _: &libc::siginfo_t, _: &libc::ucontext_t) -> Option<Cause> {
        None
    }
}
