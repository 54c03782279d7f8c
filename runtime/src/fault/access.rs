//! Copies of memory that the application or a kernel addresses: a bad address ends the copy with an error.
#![allow(unsafe_code, reason = "memory is accessed by address, through functions of the C library")]

use core::ffi::{c_char, c_int, c_void};

use super::entry::{Activation, Target};
use super::{Fault, report, threads};

/// Memory cannot be accessed.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{}", report::access(.0))]
pub(crate) struct Inaccessible(pub(crate) Fault);

/// Copies `len` bytes, which may overlap.
///
/// # Safety
/// What is accessible at these addresses may be read and written.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) -> Result<(), Inaccessible> {
    let ranges = [(to.addr(), len), (from.addr(), len)];
    let function: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void = libc::memmove;
    // SAFETY: by contract.
    unsafe { access(ranges, function as *const (), [to.expose_provenance(), from.expose_provenance(), len, 0]) }
        .map(drop)
}

/// Fills `len` bytes.
///
/// # Safety
/// What is accessible at this address may be written.
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, len: usize) -> Result<(), Inaccessible> {
    let function: unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void = libc::memset;
    let arguments = [to.expose_provenance(), usize::from(byte), len, 0];
    // SAFETY: by contract.
    unsafe { access([(to.addr(), len), (0, 0)], function as *const (), arguments) }.map(drop)
}

/// The length of a string that a kernel addresses, at most `most`.
///
/// # Safety
/// What is accessible of so many bytes from this address on may be read.
pub(crate) unsafe fn string_length(text: *const u8, most: usize) -> Result<usize, Inaccessible> {
    let function: unsafe extern "C" fn(*const c_char, usize) -> usize = libc::strnlen;
    let ranges = [(text.addr(), most.min(usize::MAX - text.addr())), (0, 0)];
    // SAFETY: by contract.
    unsafe { access(ranges, function as *const (), [text.expose_provenance(), most, 0, 0]) }
}

/// # Safety
/// The function holds no lock, and accesses only these ranges.
unsafe fn access(
    ranges: [(usize, usize); 2],
    function: *const (),
    arguments: [usize; 4],
) -> Result<usize, Inaccessible> {
    // SAFETY: by contract.
    unsafe { Activation::new(Target::Memory(ranges)).enter(threads::own(), function, arguments) }.map_err(Inaccessible)
}
