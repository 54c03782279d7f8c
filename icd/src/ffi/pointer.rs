//! Typed views of the pointers in a call.
//!
//! Each view is `repr(transparent)` over one nullable C pointer and has the lifetime of the call, except [`HostPtr`], which a
//! command may keep until it ends. Reads copy the data and allow misaligned addresses. The `unsafe` blocks below rely on "the
//! OpenCL contract" of [`super`].

#![allow(unsafe_code, reason = "dereferences the data pointers of the application")]

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;

use clift_include::cl;
use clift_runtime::memory::MemSlice;

use crate::error::{ClError, ClResult};

/// C types that may be copied as bytes.
///
/// # Safety
/// The type is `Copy`, has no padding that the driver leaves uninitialized, and every bit pattern is valid.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($ty:ty),* $(,)?) => {
        $(
            // SAFETY: an integer, a pointer or a repr(C) aggregate of integers without padding.
            unsafe impl Plain for $ty {}
        )*
    };
}

plain!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, *mut c_void, *const c_void, *const c_char);
plain!(cl::cl_name_version, cl::cl_buffer_region, cl::cl_image_format);
// Structures of the application, which are only read.
plain!(cl::cl_mutable_dispatch_config_khr, cl::cl_mutable_dispatch_arg_khr, cl::cl_mutable_dispatch_exec_info_khr);
plain!(cl::cl_device_integer_dot_product_acceleration_properties);

// SAFETY: a transparent pointer; every bit pattern is an address.
unsafe impl Plain for HostPtr {}

// SAFETY: a transparent pointer; every bit pattern is a handle.
unsafe impl<T: 'static> Plain for super::handle::Handle<T> {}

// SAFETY: an array has no padding of its own.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// `cl_image_desc`, with a handle (of memory objects, `M`) where C has a pointer.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields are those of the C structure")]
pub struct ImageDesc<M> {
    pub image_type: cl::cl_mem_object_type,
    pub padding: u32,
    pub image_width: usize,
    pub image_height: usize,
    pub image_depth: usize,
    pub image_array_size: usize,
    pub image_row_pitch: usize,
    pub image_slice_pitch: usize,
    pub num_mip_levels: cl::cl_uint,
    pub num_samples: cl::cl_uint,
    pub mem_object: super::handle::Handle<M>,
}

impl<M> Clone for ImageDesc<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for ImageDesc<M> {}

impl<M> ImageDesc<M> {
    /// Zeros.
    pub const EMPTY: Self = Self {
        image_type: 0,
        padding: 0,
        image_width: 0,
        image_height: 0,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        mem_object: super::handle::Handle::NULL,
    };
}

// SAFETY: integers and a handle; the padding after the type is a field.
unsafe impl<M: 'static> Plain for ImageDesc<M> {}

macro_rules! pointer_view {
    ($(#[$doc:meta])* $name:ident, $raw:ty, [$($generic:ident)?]) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<'call $(, $generic)?>($raw, PhantomData<&'call ()>);

        impl<$($generic)?> Clone for $name<'_ $(, $generic)?> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generic)?> Copy for $name<'_ $(, $generic)?> {}

        impl<$($generic)?> fmt::Debug for $name<'_ $(, $generic)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:p}", self.0)
            }
        }

        impl<$($generic)?> $name<'_ $(, $generic)?> {
            /// As if the application had passed NULL.
            pub fn null() -> Self {
                Self(std::ptr::null_mut::<c_void>().cast(), PhantomData)
            }

            /// Whether the application passed NULL.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    };
}

pointer_view! {
    /// Receives one result; NULL if the application does not need it.
    Out, *mut T, [T]
}

impl<T: Plain> Out<'_, T> {
    /// Stores the result, unless the pointer is NULL.
    pub fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the OpenCL contract: a non-null result pointer may be written.
            unsafe { self.0.write_unaligned(value) }
        }
    }
}

pointer_view! {
    /// Receives an array of results. Its capacity is another argument.
    OutArray, *mut T, [T]
}

impl<T: Plain> OutArray<'_, T> {
    /// Stores up to `capacity` of the values; nothing for NULL.
    pub fn fill(self, capacity: usize, values: impl IntoIterator<Item = T>) {
        if self.0.is_null() {
            return;
        }
        for (index, value) in values.into_iter().take(capacity).enumerate() {
            // SAFETY: the OpenCL contract: `capacity` elements may be written, and `index` is below it.
            unsafe { self.0.add(index).write_unaligned(value) }
        }
    }
}

pointer_view! {
    /// One value to read, or NULL.
    In, *const T, [T]
}

impl<T: Plain> In<'_, T> {
    /// The value, or `None` for NULL.
    pub fn get(self) -> Option<T> {
        // SAFETY: the OpenCL contract: a non-null input may be read.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

pointer_view! {
    /// An array to read. Its length is another argument.
    InArray, *const T, [T]
}

impl<T: Plain> InArray<'_, T> {
    /// An array referenced by a structure of the application. The OpenCL contract applies to it, too.
    pub fn of(pointer: *const T) -> Self {
        Self(pointer, PhantomData)
    }

    /// The elements one by one, so that reading can stop at an invalid one; none for NULL.
    pub fn iter(self, length: usize) -> impl Iterator<Item = T> {
        let length = if self.0.is_null() { 0 } else { length };
        (0..length).map(move |index| {
            // SAFETY: the OpenCL contract: `length` elements may be read, and `index` is below it.
            unsafe { self.0.add(index).read_unaligned() }
        })
    }

    /// Exactly `N` elements, or `None` for NULL.
    pub fn array<const N: usize>(self) -> Option<[T; N]> {
        // SAFETY: the OpenCL contract: the argument is an array of N elements.
        (!self.0.is_null()).then(|| unsafe { self.0.cast::<[T; N]>().read_unaligned() })
    }

    /// The elements, after checking that the pointer is NULL exactly when the count is zero, as OpenCL requires for lists.
    ///
    /// # Errors
    /// `error` when the pointer is NULL and the count is not zero, or the other way round.
    pub fn checked(self, count: cl::cl_uint, error: ClError) -> ClResult<impl Iterator<Item = T>> {
        if self.is_null() != (count == 0) {
            return Err(error);
        }
        Ok(self.iter(count as usize))
    }
}

pointer_view! {
    /// A zero-terminated list of names and values, or NULL.
    Properties, *const T, [T]
}

impl<T: Plain + Default + PartialEq> Properties<'_, T> {
    /// The list as given, including the final zero; empty for NULL.
    pub fn verbatim(self) -> Vec<T> {
        let mut list = Vec::new();
        if self.0.is_null() {
            return list;
        }
        let read = |index| {
            // SAFETY: the OpenCL contract: the list may be read up to its final zero.
            unsafe { self.0.add(index).read_unaligned() }
        };
        while read(list.len()) != T::default() {
            let at = list.len();
            list.extend([read(at), read(at + 1)]);
        }
        list.push(T::default());
        list
    }
}

impl<T: Plain + Default + PartialEq> Properties<'_, T> {
    /// The element at an index, for lists that contain lists. The index must not be after the end, and the pointer not NULL.
    pub fn element(self, index: usize) -> T {
        debug_assert!(!self.0.is_null(), "broken invariant: an element of a NULL list");
        // SAFETY: the OpenCL contract: the list may be read up to its end.
        unsafe { self.0.add(index).read_unaligned() }
    }

    /// The elements before the first zero, regardless of pairs; empty for NULL.
    pub fn up_to_zero(self) -> Vec<T> {
        let mut list = Vec::new();
        if self.0.is_null() {
            return list;
        }
        loop {
            // SAFETY: the OpenCL contract: the list may be read at least up to its first zero.
            let element = unsafe { self.0.add(list.len()).read_unaligned() };
            if element == T::default() {
                return list;
            }
            list.push(element);
        }
    }
}

/// The names and values of a list from [`Properties::verbatim`].
pub fn pairs<T: Copy>(verbatim: &[T]) -> impl Iterator<Item = (T, T)> {
    verbatim.chunks_exact(2).map(|pair| (pair[0], pair[1]))
}

pointer_view! {
    /// A NUL-terminated string, or NULL.
    Text, *const c_char, []
}

// SAFETY: a transparent pointer; every bit pattern is one.
unsafe impl Plain for Text<'static> {}

// SAFETY: a transparent pointer; every bit pattern is one.
unsafe impl<T: 'static> Plain for In<'static, T> {}

impl<'call> Text<'call> {
    /// The string without its NUL, or `None` for NULL.
    pub fn bytes(self) -> Option<&'call [u8]> {
        // SAFETY: the OpenCL contract: a non-null string ends with a NUL and does not change during the call.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// The string with invalid UTF-8 replaced, or `None` for NULL.
    pub fn lossy(self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Joins an array of `count` texts (as in `clCreateProgramWithSource`): text `index` has `lengths[index]` bytes, or ends with a
/// NUL if that is zero or `lengths` is NULL.
///
/// # Errors
/// [`ClError::InvalidValue`] when the array or one of the texts is NULL; [`ClError::OutOfHostMemory`] when there is not enough
/// memory for the copy.
pub fn joined_texts(texts: InArray<'_, *const c_char>, lengths: InArray<'_, usize>, count: usize) -> ClResult<Vec<u8>> {
    if texts.is_null() {
        return Err(ClError::InvalidValue);
    }
    let mut lengths = lengths.iter(count);
    let mut all = Vec::new();
    for text in texts.iter(count) {
        let length = lengths.next().unwrap_or(0);
        if text.is_null() {
            return Err(ClError::InvalidValue);
        }
        if length == 0 {
            // SAFETY: the OpenCL contract: without a length, the text ends with a NUL.
            let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
            all.try_reserve(bytes.len())?;
            all.extend_from_slice(bytes);
        } else {
            // It fails for lengths that no text can have.
            all.try_reserve(length)?;
            // SAFETY: the OpenCL contract: the text has the length stated for it.
            all.extend_from_slice(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) });
        }
    }
    Ok(all)
}

/// Reads an array of `count` blocks of bytes (as in `clCreateProgramWithBinary`): block `index` has `lengths[index]` bytes, and
/// is empty if that is zero or the block is NULL.
///
/// # Errors
/// [`ClError::OutOfHostMemory`] when there is not enough memory for the copies.
pub fn blobs(blobs: InArray<'_, *const c_char>, lengths: InArray<'_, usize>, count: usize) -> ClResult<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for (blob, length) in blobs.iter(count).zip(lengths.iter(count)) {
        let mut copy = Vec::new();
        if !blob.is_null() {
            copy.try_reserve_exact(length)?;
            // SAFETY: the OpenCL contract: the block has the length stated for it.
            copy.extend_from_slice(unsafe { std::slice::from_raw_parts(blob.cast::<u8>(), length) });
        }
        all.push(copy);
    }
    Ok(all)
}

pointer_view! {
    /// Untyped bytes to read, or NULL. Their number is another argument.
    InBytes, *const c_void, []
}

impl InBytes<'_> {
    /// Bytes referenced by a structure of the application. The OpenCL contract applies to them, too.
    pub fn of(pointer: *const c_void) -> Self {
        Self(pointer, PhantomData)
    }

    /// The address as an integer.
    pub fn addr(self) -> usize {
        self.0.addr()
    }

    /// A copy of the bytes, or `None` for NULL.
    ///
    /// # Errors
    /// [`ClError::OutOfHostMemory`] when there is not enough memory for the copy.
    pub fn copy(self, length: usize) -> ClResult<Option<Vec<u8>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(length)?;
        // SAFETY: the OpenCL contract: `length` bytes may be read.
        copy.extend_from_slice(unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), length) });
        Ok(Some(copy))
    }

    /// The bytes as one value, or `None` for NULL. The caller has checked that the application passed the size of `T`.
    pub fn read<T: Plain>(self) -> Option<T> {
        // SAFETY: the OpenCL contract: the bytes of a `T` may be read; every bit pattern is a valid `T`.
        (!self.0.is_null()).then(|| unsafe { self.0.cast::<T>().read_unaligned() })
    }
}

/// Memory of the application that outlives the call: the host side of a transfer, a buffer's `host_ptr`.
///
/// It is only an address; the command that received it accesses the memory.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HostPtr(*mut u8);

// SAFETY: an address. It is accessed only for a command, under the OpenCL contract, which applies to every thread.
unsafe impl Send for HostPtr {}
// SAFETY: as above.
unsafe impl Sync for HostPtr {}

impl fmt::Debug for HostPtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl HostPtr {
    /// NULL.
    pub const NULL: Self = Self(std::ptr::null_mut());

    /// An address of the driver's own memory.
    pub fn new(pointer: *mut u8) -> Self {
        Self(pointer)
    }

    /// Whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer.
    pub fn as_ptr(self) -> *mut u8 {
        self.0
    }

    /// The address as an integer.
    pub fn addr(self) -> usize {
        self.0.addr()
    }

    /// The memory as a slice; `None` for NULL.
    pub fn slice(self, len: usize) -> Option<MemSlice> {
        // SAFETY: the OpenCL contract: memory passed to a command or a buffer is valid for the stated length until the command
        // has ended or the buffer has been freed.
        unsafe { MemSlice::from_raw(self.0, len) }
    }
}

/// The application's `user_data`, which is passed to its callbacks and never dereferenced.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct UserData(pub(super) *mut c_void);

// SAFETY: opaque to the driver.
unsafe impl Send for UserData {}
// SAFETY: opaque to the driver.
unsafe impl Sync for UserData {}

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl UserData {
    /// Whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}
