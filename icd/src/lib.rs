//! `libclift.so`: the OpenCL installable client driver.
//!
//! A call passes through three layers. A C stub ([`entries`]) stops panics, traces the call, and converts the result to an error
//! code. The entry point's Rust function ([`api`]) checks the arguments against the specification's rules. The state that it
//! changes is in [`object`], under the same name. `clift-runtime` executes commands, and `clift-jit` compiles programs.
//!
//! - [`ffi`]: typed views of what C passes, handles, callbacks; below all of these;
//! - [`caps`]: the device's capabilities, one table;
//! - [`config`]: the `CLIFT_*` environment variables, one table;
//! - [`trace`]: the file that shows what a process does (`CLIFT_TRACE`); [`watch`]: the socket on which it says what it is doing
//!   (`CLIFT_WATCH`);
//! - [`check`]: launches of checked kernels, and where their reports go;
//! - [`frontend`]: OpenCL C to SPIR-V; [`envelope`]: program binaries;
//! - [`messages`]: what `CLIFT_DEBUG` requests, as text;
//! - [`error`]: one error variant for each code of the specification.
//!
//! Loading the library starts no thread, reads no file and prints nothing; all of that happens at the first call or later.

pub mod api;
pub mod caps;
pub mod check;
pub mod config;
pub mod entries;
pub mod envelope;
pub mod error;
pub mod ffi;
pub mod frontend;
mod messages;
pub mod object;
#[cfg(test)]
mod reference;
pub mod trace;
pub mod watch;
