//! A memory object.

use crate::ffi::handle::cl_object;

/// A memory object.
#[derive(Debug)]
pub struct Mem;

cl_object!(Mem, b"mem ", InvalidMemObject);
