//! OpenCL's C types and constants.
//!
//! Types and numbers come from the `opencl-sys` crate; what it lacks is defined here, each with its source. The functions
//! that crate declares are *not* used: Clift implements them.

pub use opencl_sys::*;
