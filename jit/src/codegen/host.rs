//! Host functions that generated code calls, for all backends: library functions through trampolines, and copying and filling
//! memory.

#![allow(unsafe_code, reason = "memory functions called by generated code")]

use clift_kir::libfn::LibImpl;

macro_rules! trampolines {
    ($($variant:ident $name:ident ($($arg:ident: $ty:ty),+) -> $result:ty;)+) => {
        $(
            #[allow(improper_ctypes_definitions, reason = "the pointer is only handed through")]
            extern "C" fn $name(function: fn($($ty),+) -> $result, $($arg: $ty),+) -> $result {
                function($($arg),+)
            }
        )+

        /// The trampoline for an implementation, and the address of the implementation, which is the trampoline's first argument.
        pub(crate) fn trampoline(implementation: LibImpl) -> (usize, usize) {
            match implementation {
                $(LibImpl::$variant(function) => ($name as *const () as usize, function as *const () as usize),)+
            }
        }
    };
}

trampolines! {
    F32 call_f32(x: f32) -> f32;
    F64 call_f64(x: f64) -> f64;
    FF32 call_ff32(x: f32, y: f32) -> f32;
    FF64 call_ff64(x: f64, y: f64) -> f64;
    FI32 call_fi32(x: f32, n: i32) -> f32;
    FI64 call_fi64(x: f64, n: i32) -> f64;
    FToI32 call_f_to_i32(x: f32) -> i32;
    FToI64 call_f_to_i64(x: f64) -> i32;
    FFToI32 call_ff_to_i32(x: f32, y: f32) -> i32;
    FFToI64 call_ff_to_i64(x: f64, y: f64) -> i32;
}

pub(crate) use memory::{copy_bytes, fill_bytes, functions as memory_functions};

/// Copying and filling the memory that kernels address.
///
/// These functions have no frame, so that a fault in them is handled like one in generated code ([`super::code_map`]): nothing
/// has to be released when they are left in the middle. Short lengths are copied by words, long ones by the string
/// instructions, which use the widest paths that the processor has.
#[cfg(target_arch = "x86_64")]
mod memory {
    use core::arch::global_asm;
    use core::ops::Range;

    // rdi: target, rsi: source or byte, rdx: length.
    global_asm!(
        ".pushsection .text.clift_memory, \"ax\", @progbits",
        ".p2align 6",
        ".globl clift_jit_copy_bytes",
        ".hidden clift_jit_copy_bytes",
        "clift_jit_copy_bytes:",
        "mov rcx, rdx",
        "cmp rdx, 256",
        "jae 30f",
        "cmp rdx, 8",
        "jb 20f",
        "10:",
        "mov rax, [rsi]",
        "mov [rdi], rax",
        "add rsi, 8",
        "add rdi, 8",
        "sub rcx, 8",
        "cmp rcx, 8",
        "jae 10b",
        "20:",
        "test rcx, rcx",
        "jz 40f",
        "mov al, [rsi]",
        "mov [rdi], al",
        "inc rsi",
        "inc rdi",
        "dec rcx",
        "jmp 20b",
        "30:",
        "rep movsb",
        "40:",
        "ret",
        ".p2align 4",
        ".globl clift_jit_fill_bytes",
        ".hidden clift_jit_fill_bytes",
        "clift_jit_fill_bytes:",
        "mov eax, esi",
        "mov rcx, rdx",
        "rep stosb",
        "ret",
        ".globl clift_jit_memory_end",
        ".hidden clift_jit_memory_end",
        "clift_jit_memory_end:",
        ".popsection",
    );

    unsafe extern "C" {
        /// # Safety
        /// As `memcpy`.
        #[link_name = "clift_jit_copy_bytes"]
        pub(crate) fn copy_bytes(to: *mut u8, from: *const u8, bytes: u64);

        /// # Safety
        /// As `memset`.
        #[link_name = "clift_jit_fill_bytes"]
        pub(crate) fn fill_bytes(to: *mut u8, byte: u8, bytes: u64);

        /// Where the code of these functions ends.
        #[link_name = "clift_jit_memory_end"]
        fn end();
    }

    /// The addresses of the functions' code.
    pub(crate) fn functions() -> Range<usize> {
        copy_bytes as *const () as usize..end as *const () as usize
    }
}

/// Copying and filling the memory that kernels address, where faults of kernels are not handled.
#[cfg(not(target_arch = "x86_64"))]
mod memory {
    use core::ops::Range;

    /// # Safety
    /// As `memcpy`.
    pub(crate) unsafe extern "C" fn copy_bytes(to: *mut u8, from: *const u8, bytes: u64) {
        // SAFETY: the kernel guarantees that the memory is valid; `copy` also defines overlaps, which the op leaves undefined.
        unsafe { std::ptr::copy(from, to, bytes as usize) }
    }

    /// # Safety
    /// As `memset`.
    pub(crate) unsafe extern "C" fn fill_bytes(to: *mut u8, byte: u8, bytes: u64) {
        // SAFETY: the kernel guarantees that the memory is valid.
        unsafe { std::ptr::write_bytes(to, byte, bytes as usize) }
    }

    /// No code counts as generated.
    pub(crate) fn functions() -> Range<usize> {
        0..0
    }
}

/// The message of a launch that ends in a deadlock.
pub(crate) fn deadlock(kernel: &str) -> String {
    format!("kernel `{kernel}`: the sub-groups of a work-group wait for one another at barriers, and none can go on")
}

#[cfg(test)]
mod tests {
    use super::{copy_bytes, fill_bytes};

    #[test]
    fn copies_and_fills_all_lengths() {
        let source: Vec<u8> = (0..600).map(|i| (i * 7 + 1) as u8).collect();
        for len in (0..300).chain([599]) {
            let mut target = vec![0xaa; 601];
            // SAFETY: both vectors are longer than `len` from these places on.
            unsafe { copy_bytes(target[1..].as_mut_ptr(), source.as_ptr(), len as u64) };
            assert!(
                target[1..=len] == source[..len] && target[0] == 0xaa && target[len + 1..].iter().all(|b| *b == 0xaa)
            );
            // SAFETY: as above.
            unsafe { fill_bytes(target[1..].as_mut_ptr(), 3, len as u64) };
            assert!(
                target[1..=len].iter().all(|b| *b == 3)
                    && target[0] == 0xaa
                    && target[len + 1..] == [0xaa; 601][len + 1..]
            );
        }
    }
}
