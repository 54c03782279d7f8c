//! The host interface through the loader: a file for each object, a case for each rule and error code.
//!
//! The raw C functions are called, because what is tested is what C programs see. Handles that a test creates and does not
//! release end with the process.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod functions;
mod kernel;
mod ndrange;
mod program;
mod support;
