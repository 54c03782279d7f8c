//! Clift's runtime: executes commands and kernels.
//!
//! It depends neither on OpenCL handles nor on the compiler: commands, launches and memory are plain values, and kernels are
//! entries described in [`clift_include::abi`].
//!
//! - [`graph`]: queues, commands and events: dependencies, and what happens when a command ends;
//! - [`pool`]: the worker threads and how they find work (`pool/README.md` is the protocol);
//! - [`launch`], [`geometry`], [`ndrange`]: one kernel launch, its geometry and its execution;
//! - [`fault`]: faults of kernels and copies end a command, not the process;
//! - [`mod@enqueue`]: kernels that kernels enqueue;
//! - [`memory`]: host allocations, slices of them, copies and fills;
//! - [`image`]: encodes colours as image elements;
//! - [`descriptor`]: file descriptors that commands wait for;
//! - [`printf`], [`callbacks`]: functions called by generated code;
//! - [`check`]: judges and reports accesses of checked kernels;
//! - [`trace`]: what a trace shows of a process;
//! - [`clock`], [`status`]: the times and statuses of events.

pub mod background;
pub mod callbacks;
pub mod check;
pub mod clock;
pub mod descriptor;
pub mod enqueue;
pub mod fault;
mod fpenv;
pub mod geometry;
pub mod graph;
pub mod image;
pub mod launch;
pub mod memory;
#[cfg(all(test, feature = "loom"))]
mod models;
pub mod ndrange;
pub mod pool;
pub mod printf;
pub mod status;
mod sync;
mod sys;
pub mod trace;

pub use pool::at_fork;
pub use sys::{at_exit, is_privileged, with_signals_blocked};
