//! The exported C symbols of `libclift.so`, which a loader looks up with `dlsym`.
//!
//! Each calls the function in the list of entry points. The stubs themselves are not exported, because a symbol of the same name
//! in the loader would replace them in the driver's dispatch table. For the same reason a program that links Clift as a Rust
//! library must not link an OpenCL loader.

#![allow(unsafe_code, reason = "exported C functions")]

use std::ffi::{c_char, c_void};

use clift_include::cl::{cl_int, cl_platform_id, cl_platform_info, cl_uint};

use super::generate::{install, lookup};
use crate::ffi::dispatch::Address;

/// The address of an entry point that must be in the list. Every exported function begins with this, so the dispatch table is
/// registered before the first object is created.
fn address_of(name: &str) -> *const c_void {
    install();
    match lookup(name.as_bytes()) {
        Some(Address(address)) => address,
        None => unreachable!("broken invariant: {name} is not in the list of entry points"),
    }
}

/// `clGetExtensionFunctionAddress`: the first function that a loader calls.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetExtensionFunctionAddress(name: *const c_char) -> *mut c_void {
    let address = address_of("clGetExtensionFunctionAddress");
    // SAFETY: the stub of this name has this signature.
    let stub: unsafe extern "C" fn(*const c_char) -> *mut c_void = unsafe { std::mem::transmute(address) };
    // SAFETY: the caller satisfies the contract of the entry point.
    unsafe { stub(name) }
}

/// `clIcdGetPlatformIDsKHR`: the loader's variant of `clGetPlatformIDs`.
///
/// # Safety
/// See the specification of `cl_khr_icd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clIcdGetPlatformIDsKHR(
    num_entries: cl_uint,
    platforms: *mut cl_platform_id,
    num_platforms: *mut cl_uint,
) -> cl_int {
    let address = address_of("clIcdGetPlatformIDsKHR");
    // SAFETY: the stub of this name has this signature.
    let stub: unsafe extern "C" fn(cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int =
        unsafe { std::mem::transmute(address) };
    // SAFETY: the caller satisfies the contract of the entry point.
    unsafe { stub(num_entries, platforms, num_platforms) }
}

/// `clGetPlatformInfo`.
///
/// # Safety
/// See the OpenCL specification.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetPlatformInfo(
    platform: cl_platform_id,
    param_name: cl_platform_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> cl_int {
    let address = address_of("clGetPlatformInfo");
    // SAFETY: the stub of this name has this signature.
    let stub: unsafe extern "C" fn(cl_platform_id, cl_platform_info, usize, *mut c_void, *mut usize) -> cl_int =
        unsafe { std::mem::transmute(address) };
    // SAFETY: the caller satisfies the contract of the entry point.
    unsafe { stub(platform, param_name, param_value_size, param_value, param_value_size_ret) }
}
