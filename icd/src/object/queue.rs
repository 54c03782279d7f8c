//! A command queue.

use crate::ffi::handle::cl_object;

/// A command queue.
#[derive(Debug)]
pub struct Queue;

cl_object!(Queue, b"queu", InvalidCommandQueue);
