//! The entry points: one Rust function for each, which checks the arguments in the order of the specification, with the rule and
//! its error code above each check, and then uses the state in `object/`.
//!
//! The list of entry points ([`crate::entries`]) names the functions; `docs/add-an-entry-point.md` explains how to add one.
//! The specification lists `CL_OUT_OF_RESOURCES` and `CL_OUT_OF_HOST_MEMORY` for all functions; they are not repeated here, and
//! are returned where an allocation fails.

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
pub mod pipe;
pub mod platform;
pub mod program;
pub mod queue;
pub mod recording;
pub mod sampler;
pub mod semaphore;
pub mod svm;
pub mod unified_svm;
pub mod usm;

pub use crate::ffi::handle::{release, retain};
