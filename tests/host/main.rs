//! Host programs through the loader: the effects of calls, as applications see them.
//!
//! The rules and error codes of each call are tested in `api`; here several calls form a small program, and each file has one
//! theme.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod bad_input;
mod buffers;
mod checking;
mod child;
mod demo;
mod device_enqueue;
mod documents;
mod events;
mod examples;
mod exit;
mod faults;
mod images;
mod info;
mod intel_sub_groups;
mod mipmaps;
mod named_barriers;
mod overlapping_args;
mod pipes;
mod printf;
mod programs;
mod queues;
mod repeated_launches;
mod report;
mod spirv;
mod stress;
mod symbols;
mod trace;
mod trace_page;
mod watch;
