//! `libclift.so`: the OpenCL installable client driver.
//!
//! A call of an application passes three layers. A C stub ([`ffi`]) catches panics, traces, and turns the result into error
//! codes. The entry point's Rust function ([`api`]) checks the arguments against the specification's rules. The state it
//! then acts on is in [`object`], under the same name. Work is handed to `clift-runtime` (commands) and `clift-jit`
//! (programs).
//!
//! - [`caps`]: what the device is and can, one table;
//! - [`config`]: the `CLIFT_*` environment variables, one table;
//! - [`frontend`]: OpenCL C to SPIR-V; [`envelope`]: program binaries;
//! - [`error`]: one error variant for each code of the specification.
//!
//! The library starts no thread, reads no file and prints nothing when it is loaded; all of that waits for the first call.

pub mod api;
pub mod caps;
pub mod config;
pub mod envelope;
pub mod error;
pub mod ffi;
pub mod frontend;
pub mod object;
