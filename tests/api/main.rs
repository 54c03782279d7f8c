//! The host interface through the loader: one file per object, one case per rule and error code.
//!
//! The cases call the raw C functions, because they test what C programs see. Handles that a test creates and does not release
//! are freed when the process ends.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod extensions;
mod functions;
mod kernel;
mod ndrange;
mod program;
mod support;
