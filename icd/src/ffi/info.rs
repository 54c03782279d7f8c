//! The sink of info queries.
//!
//! A query function gets an [`Info`] and must return a [`Written`], which only the methods of [`Info`] can make: a query
//! that forgets to answer does not compile. The sink knows the rules that all queries share: the size is reported when asked
//! for, a NULL value is skipped, a buffer that is too small is `CL_INVALID_VALUE`.

#![allow(unsafe_code, reason = "writes to the buffer that the application passed with an info query")]

use std::ffi::c_void;
use std::marker::PhantomData;

use clift_include::cl;

use super::handle::{ClObject, Handle, Ref};
use super::pointer::Plain;
use crate::error::{ClError, ClResult};

/// Proof that an info query was answered.
#[derive(Debug)]
pub struct Written(());

/// Where the answer of one info query goes.
#[derive(Debug)]
pub struct Info<'call> {
    capacity: usize,
    value: *mut u8,
    size_ret: *mut usize,
    call: PhantomData<&'call ()>,
}

impl Info<'_> {
    /// The sink over the three arguments that all info queries have.
    pub(super) fn new(capacity: usize, value: *mut c_void, size_ret: *mut usize) -> Self {
        Self { capacity, value: value.cast(), size_ret, call: PhantomData }
    }

    /// Answers with one value.
    ///
    /// # Errors
    /// [`ClError::InvalidValue`] when the buffer is too small; so for all answers.
    pub fn value<T: Plain>(self, value: T) -> ClResult<Written> {
        self.slice(&[value])
    }

    /// How many values of a type the application has room for; `None` when it only asks for the size.
    pub fn room_for<T: Plain>(&self) -> Option<usize> {
        (!self.value.is_null()).then_some(self.capacity / size_of::<T>())
    }

    /// Answers with a `cl_bool`.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn bool(self, value: bool) -> ClResult<Written> {
        self.value(cl::cl_bool::from(value))
    }

    /// Answers with an array; its size is exactly that of the elements.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn slice<T: Plain>(self, values: &[T]) -> ClResult<Written> {
        let size = size_of_val(values);
        self.answer(size, |to| {
            // SAFETY: `answer` has checked that `size` bytes fit, and the OpenCL contract lets us write them. The buffers
            // are distinct: the source is the driver's own.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, size) }
        })
    }

    /// Answers with a string; a NUL is appended and counted.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn string(self, value: impl AsRef<[u8]>) -> ClResult<Written> {
        let text = value.as_ref();
        self.answer(text.len() + 1, |to| {
            // SAFETY: as in `slice`; the NUL's byte is counted in the size.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), to, text.len());
                to.add(text.len()).write(0);
            }
        })
    }

    /// Answers with an object.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn object<T: ClObject>(self, object: &Ref<T>) -> ClResult<Written> {
        self.value(object.handle())
    }

    /// Answers with an object, or a null handle.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn object_or_null<T: ClObject>(self, object: Option<&Ref<T>>) -> ClResult<Written> {
        self.value(object.map_or(Handle::NULL, |object| object.handle()))
    }

    /// Answers with several blocks of bytes, each into a buffer of the application's (`CL_PROGRAM_BINARIES`): the value is
    /// an array of pointers, of which NULL ones are skipped.
    ///
    /// # Errors
    /// As [`Info::value`].
    pub fn blobs(self, blobs: &[&[u8]]) -> ClResult<Written> {
        self.answer(size_of::<*mut u8>() * blobs.len(), |to| {
            for (index, blob) in blobs.iter().enumerate() {
                // SAFETY: `answer` has checked that the array of pointers has the length of `blobs`.
                let target = unsafe { to.cast::<*mut u8>().add(index).read_unaligned() };
                if !target.is_null() {
                    // SAFETY: the OpenCL contract: each non-null pointer leads to room for the block whose size the
                    // application has asked for before.
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
