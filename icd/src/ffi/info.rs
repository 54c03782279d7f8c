//! The output of info queries.
//!
//! A query function gets an [`Info`] and must return a [`Written`], which only the methods of [`Info`] can create, so a query
//! without an answer does not compile. [`Info`] implements the rules common to all queries: the size is reported if requested,
//! a NULL value is skipped, and a buffer that is too small is `CL_INVALID_VALUE`.

#![allow(unsafe_code, reason = "writes to the buffer that the application passed with an info query")]

use std::ffi::c_void;
use std::marker::PhantomData;

use clift_include::cl;

use super::handle::{ClObject, Handle, Ref};
use super::pointer::Plain;
use crate::error::{ClError, ClResult};

/// Evidence that an info query was answered.
#[derive(Debug)]
pub struct Written(());

/// The output of one info query.
#[derive(Debug)]
pub struct Info<'call> {
    capacity: usize,
    value: *mut u8,
    size_ret: *mut usize,
    call: PhantomData<&'call ()>,
}

impl Info<'_> {
    /// The output for the three arguments that all info queries have.
    pub(super) fn new(capacity: usize, value: *mut c_void, size_ret: *mut usize) -> Self {
        Self { capacity, value: value.cast(), size_ret, call: PhantomData }
    }

    /// Returns one value.
    ///
    /// # Errors
    /// [`ClError::InvalidValue`] when the buffer is too small. The same applies to all methods.
    pub fn value<T: Plain>(self, value: T) -> ClResult<Written> {
        self.slice(&[value])
    }

    /// Number of values of a type that fit in the application's buffer; `None` when only the size is requested.
    pub fn room_for<T: Plain>(&self) -> Option<usize> {
        (!self.value.is_null()).then_some(self.capacity / size_of::<T>())
    }

    /// Returns a `cl_bool`.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn bool(self, value: bool) -> ClResult<Written> {
        self.value(cl::cl_bool::from(value))
    }

    /// Returns an array of exactly the given elements.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn slice<T: Plain>(self, values: &[T]) -> ClResult<Written> {
        let size = size_of_val(values);
        self.answer(size, |to| {
            // SAFETY: `answer` has checked that `size` bytes fit, and the OpenCL contract allows writing them. The buffers are
            // distinct, because the source belongs to the driver.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, size) }
        })
    }

    /// Returns a string, including a NUL.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn string(self, value: impl AsRef<[u8]>) -> ClResult<Written> {
        let text = value.as_ref();
        self.answer(text.len() + 1, |to| {
            // SAFETY: as in `slice`; the size includes the NUL.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), to, text.len());
                to.add(text.len()).write(0);
            }
        })
    }

    /// Returns an object.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn object<T: ClObject>(self, object: &Ref<T>) -> ClResult<Written> {
        self.value(object.handle())
    }

    /// Returns an object, or a null handle.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn object_or_null<T: ClObject>(self, object: Option<&Ref<T>>) -> ClResult<Written> {
        self.value(object.map_or(Handle::NULL, |object| object.handle()))
    }

    /// Returns several blocks of bytes, each in a buffer of the application (`CL_PROGRAM_BINARIES`). The value is an array of
    /// pointers; NULL pointers are skipped.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn blobs(self, blobs: &[&[u8]]) -> ClResult<Written> {
        self.answer(size_of::<*mut u8>() * blobs.len(), |to| {
            for (index, blob) in blobs.iter().enumerate() {
                // SAFETY: `answer` has checked that the array of pointers has the length of `blobs`.
                let target = unsafe { to.cast::<*mut u8>().add(index).read_unaligned() };
                if !target.is_null() {
                    // SAFETY: the OpenCL contract: each non-null pointer has room for its block, whose size the application has
                    // queried before.
                    unsafe { std::ptr::copy_nonoverlapping(blob.as_ptr(), target, blob.len()) }
                }
            }
        })
    }

    fn answer(self, size: usize, write: impl FnOnce(*mut u8)) -> ClResult<Written> {
        if !self.value.is_null() {
            if self.capacity < size {
                return Err(ClError::InvalidValue);
            }
            write(self.value);
        }
        if !self.size_ret.is_null() {
            // SAFETY: the OpenCL contract: a non-null result pointer may be written.
            unsafe { self.size_ret.write_unaligned(size) }
        }
        Ok(Written(()))
    }
}
