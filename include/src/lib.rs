//! Contracts between Clift's crates; no logic.
//!
//! - [`cl`]: the C types and constants of OpenCL, including those that the binding crate lacks;
//! - [`abi`]: the interface between generated code and the runtime;
//! - [`check`]: what the code of checked kernels says about its accesses;
//! - [`image`]: formats, descriptors and samplers of images;
//! - [`pipe`]: the layout of pipes;
//! - [`request`]: what generated code asks of the runtime for device-side enqueue.
//!
//! `jit` and `runtime` do not depend on each other: everything they share is here.

pub mod abi;
pub mod check;
pub mod cl;
pub mod exchange;
pub mod image;
pub mod pipe;
pub mod request;
