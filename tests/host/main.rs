//! Host programs through the loader: what calls do, told by their effect, as an application meets it.
//!
//! The rules and error codes of each call are tested in `api`; here several calls make a little program, and one file is
//! one theme.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod bad_input;
mod buffers;
mod child;
mod demo;
mod events;
mod images;
mod info;
mod mipmaps;
mod named_barriers;
mod printf;
mod programs;
mod queues;
mod spirv;
