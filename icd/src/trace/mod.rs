//! `CLIFT_TRACE`: a file that shows what a process does on a time line, in the Trace Event Format, which Perfetto and
//! `chrome://tracing` open.
//!
//! - `layer`: receives the messages of [`clift_runtime::trace`] and of the compiler's stages;
//! - `events`: turns them into trace events: tracks, slices, arrows, counters;
//! - `file`: writes the events, also at exit, and in the child of a fork;
//! - `facts`: says once what the device is.
//!
//! Deliberately not here: what is recorded, and when. The parts of the driver send messages, and do not know of the file.

mod events;
mod facts;
mod file;
mod layer;
#[cfg(test)]
mod tests;

use std::path::Path;

use clift_runtime::trace;
use tracing::level_filters::LevelFilter;

pub(crate) use events::Message;
pub(crate) use facts::describe_device;
use file::TraceFile;
use layer::TraceLayer;
pub(crate) use layer::message_of;

/// The target of the compiler's messages about its stages.
const STAGES: &str = "clift::time";

/// The target of the compiler's messages about kernels.
const KERNELS: &str = "clift::kernel";

/// The messages that a trace consists of.
pub const TARGETS: [(&str, LevelFilter); 3] =
    [(trace::TARGET, LevelFilter::TRACE), (STAGES, LevelFilter::DEBUG), (KERNELS, LevelFilter::TRACE)];

/// Begins a trace, which the process has until its end.
pub fn start(path: &Path) -> TraceLayer {
    TraceLayer::new(TraceFile::start(path))
}
