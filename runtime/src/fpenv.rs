//! The floating-point environment of kernels: round to nearest even, denormals are kept, no traps.
//!
//! Only the control register of vector and scalar SIMD code is set (MXCSR, FPCR); generated code never uses the x87 unit.
#![allow(unsafe_code, reason = "control registers have no safe interface")]

use core::marker::PhantomData;

/// Sets the environment while it exists, and then restores the thread's own, including its exception flags.
#[derive(Debug)]
pub(crate) struct FpEnv {
    before: Register,
    /// The register belongs to the thread, so the guard must not move to another one.
    not_send: PhantomData<*const ()>,
}

impl FpEnv {
    pub(crate) fn enter() -> Self {
        let before = arch::read();
        if before & arch::CONTROL != arch::WANTED {
            arch::write(arch::WANTED);
        }
        Self { before, not_send: PhantomData }
    }
}

/// Sets the environment again, after code has been left that may have changed it.
pub(crate) fn reset() {
    arch::write(arch::WANTED);
    arch::clear_upper_halves();
}

impl Drop for FpEnv {
    fn drop(&mut self) {
        arch::write(self.before);
    }
}

pub(crate) use arch::Register;

#[cfg(target_arch = "x86_64")]
mod arch {
    use core::arch::asm;

    pub(crate) type Register = u32;
    /// All exceptions masked (bits 7-12); rounding (13-14), flush-to-zero (15) and denormals-are-zero (6) clear.
    pub(super) const WANTED: Register = 0x1f80;
    /// The control bits: all but the six exception flags.
    pub(super) const CONTROL: Register = 0xffc0;

    pub(super) fn read() -> Register {
        let mut value: Register = 0;
        // SAFETY: stores MXCSR into `value`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
        value
    }

    pub(super) fn write(value: Register) {
        // SAFETY: loads a value with no reserved bit set: a constant of this module, or one that the register held. Rust code
        // that runs under it assumes the default environment. Kernels get exactly that, and callers get back what they had.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags, readonly)) };
    }

    /// Makes code with 128-bit vectors fast again, after code with wider vectors has been left.
    pub(super) fn clear_upper_halves() {
        if is_x86_feature_detected!("avx") {
            // SAFETY: the processor has the instruction; compiled functions expect nothing in the upper halves of registers.
            unsafe { asm!("vzeroupper", options(nostack, preserves_flags, nomem)) };
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use core::arch::asm;

    pub(crate) type Register = u64;
    /// Round to nearest, no flushing, no traps, IEEE NaN propagation.
    pub(super) const WANTED: Register = 0;
    /// AHP, DN, FZ, RMode, FZ16 and the trap enables.
    pub(super) const CONTROL: Register = 0x07c8_9f00;

    pub(super) fn read() -> Register {
        let value: Register;
        // SAFETY: reads FPCR.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub(super) fn write(value: Register) {
        // SAFETY: as for x86.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }

    /// There are no wider vectors.
    pub(super) fn clear_upper_halves() {}
}

#[cfg(test)]
mod tests {
    use super::{FpEnv, arch};

    #[test]
    fn sets_and_restores() {
        let before = arch::read();
        let odd = if cfg!(target_arch = "x86_64") { arch::WANTED | 0x8040 | 0x6000 } else { 3 << 22 };
        arch::write(odd);
        let inside = {
            let _env = FpEnv::enter();
            arch::read() & arch::CONTROL
        };
        let after = arch::read();
        arch::write(before);
        assert_eq!(inside, arch::WANTED);
        assert_eq!(after, odd);
    }
}
