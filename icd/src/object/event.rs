//! An event: the completion of a command, or of something the application itself announces.

use crate::ffi::handle::cl_object;

/// An event.
#[derive(Debug)]
pub struct Event;

cl_object!(Event, b"evnt", InvalidEvent);
