//! Clift's runtime: everything between a checked API call and the machine.
//!
//! Knows no OpenCL handle and no compiler: commands, launches and memory come in as plain values, kernels as entries
//! described in [`clift_include::abi`].
//!
//! - [`graph`]: queues, commands and events; who waits for whom, and what happens when a command ends;
//! - [`pool`]: the worker threads and how they find work (`pool/README.md` is the protocol);
//! - [`launch`], [`ndrange`]: one kernel launch, its geometry and its execution;
//! - [`memory`]: host allocations, slices of them, copies and fills;
//! - [`image`]: colours as elements of images;
//! - [`printf`], [`callbacks`]: what generated code calls back;
//! - [`clock`], [`status`]: the time and the numbers events report.

pub mod callbacks;
pub mod clock;
mod fpenv;
pub mod graph;
pub mod image;
pub mod launch;
pub mod memory;
pub mod ndrange;
pub mod pool;
pub mod printf;
pub mod status;
mod sys;
