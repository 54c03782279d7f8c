//! The entry points as an application sees them: C calls through the dispatch table of a handle, with one file for each class of
//! entry points and one case for each error code. Kernels are tested with a compiler, through the loader; the few that are compiled
//! here need the driver's own front end only. Cases that use released handles are in the test `stale`.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

mod buffer;
#[allow(dead_code, reason = "shared with an example")]
mod cl;
mod command_buffer;
mod context;
mod device;
mod event;
mod external_memory;
mod fill;
mod gaps;
mod handles;
mod icd;
mod image;
mod map;
mod native;
mod partition;
mod pipe;
mod platform;
mod queue;
mod semaphore;
mod svm;
mod sync;
mod termination;
mod threads;
mod transfer;
mod unified_svm;
mod usm;
mod waits;
