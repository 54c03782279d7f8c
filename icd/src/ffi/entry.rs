//! What every entry stub does in addition to calling the Rust function: it stops panics, traces the call, and stores the error
//! code.

#![allow(unsafe_code, reason = "stores the error code through the errcode_ret pointer of the application")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clift_include::cl::{CL_SUCCESS, cl_int};
use clift_runtime::trace;

use super::dispatch::Address;
use super::handle::{ClObject, Ref};
use super::info::{Info, Written};
use super::pointer::HostPtr;
use crate::error::{ClError, ClResult};

/// `errcode_ret`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct ErrorCode<'call>(*mut cl_int, PhantomData<&'call ()>);

impl ErrorCode<'_> {
    fn set(self, code: cl_int) {
        if !self.0.is_null() {
            // SAFETY: the OpenCL contract: a non-null result pointer may be written.
            unsafe { self.0.write_unaligned(code) }
        }
    }
}

/// What an entry point returns besides an error code, in the form for C.
pub trait Returned: Sized {
    /// The pointer that C receives.
    fn into_c(self) -> *mut c_void;

    /// An error to report *in addition to* the pointer, where the specification requires both.
    fn error(&self) -> Option<ClError> {
        None
    }
}

impl<T: ClObject> Returned for Ref<T> {
    fn into_c(self) -> *mut c_void {
        self.handle().as_ptr()
    }
}

/// An object that the application receives together with an error code: the program of a failed link.
#[derive(Debug)]
pub struct WithError<T: ClObject> {
    /// The object.
    pub object: Ref<T>,
    /// The error, if there is one.
    pub error: Option<ClError>,
}

impl<T: ClObject> Returned for WithError<T> {
    fn into_c(self) -> *mut c_void {
        self.object.into_c()
    }

    fn error(&self) -> Option<ClError> {
        self.error
    }
}

impl Returned for HostPtr {
    fn into_c(self) -> *mut c_void {
        self.as_ptr().cast()
    }
}

impl Returned for Address {
    fn into_c(self) -> *mut c_void {
        self.0.cast_mut()
    }
}

/// The result type of an entry point that is not implemented.
#[derive(Debug)]
pub enum Never {}

impl Returned for Never {
    fn into_c(self) -> *mut c_void {
        match self {}
    }
}

/// Runs the function of an entry point. A panic is a bug of the driver: the application sees `CL_OUT_OF_RESOURCES`, and the
/// panic's message is in the trace.
fn guarded<T>(name: &'static str, args: fmt::Arguments<'_>, run: impl FnOnce() -> ClResult<T>) -> ClResult<T> {
    let begun = trace::begin();
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        tracing::error!(target: "clift::api", "{name} panicked");
        Err(ClError::OutOfResources)
    });
    match &result {
        Ok(_) => tracing::trace!(target: "clift::api", "{name}:{args} -> CL_SUCCESS"),
        Err(error) => tracing::debug!(target: "clift::api", "{name}:{args} -> {}", error.name()),
    }
    if let Some(begun) = begun {
        let (ns, result) = (trace::since(begun), result.as_ref().map_or_else(|error| error.name(), |_| "CL_SUCCESS"));
        tracing::trace!(target: trace::TARGET, slice = name, group = "api", ns, result);
    }
    result
}

/// The stub of an entry point that returns its error code.
pub fn status(name: &'static str, args: fmt::Arguments<'_>, run: impl FnOnce() -> ClResult<()>) -> cl_int {
    match guarded(name, args, run) {
        Ok(()) => CL_SUCCESS,
        Err(error) => error.code(),
    }
}

/// The stub of an info query.
pub fn info(
    name: &'static str,
    args: fmt::Arguments<'_>,
    (capacity, value, size_ret): (usize, *mut c_void, *mut usize),
    run: impl FnOnce(Info<'_>) -> ClResult<Written>,
) -> cl_int {
    status(name, args, || run(Info::new(capacity, value, size_ret)).map(|_: Written| ()))
}

/// The stub of an entry point that returns a pointer and stores its error code.
pub fn object<R: Returned>(
    name: &'static str,
    args: fmt::Arguments<'_>,
    errcode_ret: ErrorCode<'_>,
    run: impl FnOnce() -> ClResult<R>,
) -> *mut c_void {
    match guarded(name, args, || run().map(|returned| (returned.error(), returned.into_c()))) {
        Ok((error, pointer)) => {
            errcode_ret.set(error.map_or(CL_SUCCESS, ClError::code));
            pointer
        }
        Err(error) => {
            errcode_ret.set(error.code());
            std::ptr::null_mut()
        }
    }
}

/// The stub of an entry point that returns a pointer and has no error code.
pub fn pointer<R: Returned>(
    name: &'static str,
    args: fmt::Arguments<'_>,
    run: impl FnOnce() -> ClResult<R>,
) -> *mut c_void {
    guarded(name, args, || run().map(Returned::into_c)).unwrap_or(std::ptr::null_mut())
}
