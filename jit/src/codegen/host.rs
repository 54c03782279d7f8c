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

/// # Safety
/// As `memcpy`, but source and target may overlap.
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

/// The message of a launch that ends in a deadlock.
pub(crate) fn deadlock(kernel: &str) -> String {
    format!("kernel `{kernel}`: the sub-groups of a work-group wait for one another at barriers, and none can go on")
}
