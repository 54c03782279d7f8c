//! The entry points: one Rust function for each, which checks the arguments in the order of the specification, the rule and
//! its error code above each check, and then acts on the state in `object/`.
//!
//! The functions are named in the list of entry points ([`crate::ffi::entries`]); how one is added is told in
//! `docs/add-an-entry-point.md`. `CL_OUT_OF_RESOURCES` and `CL_OUT_OF_HOST_MEMORY`, which the specification lists for
//! everything, are not repeated at every function: they come up where something is allocated.

pub mod buffer;
pub mod command_buffer;
pub mod context;
pub mod device;
pub mod enqueue;
pub mod event;
pub mod external_memory;
pub mod image;
pub mod kernel;
pub mod mutable_dispatch;
pub mod partition;
pub mod platform;
pub mod program;
pub mod queue;
pub mod sampler;
pub mod semaphore;
pub mod svm;
pub mod usm;

pub use crate::ffi::handle::{release, retain};
