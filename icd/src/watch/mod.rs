//! `CLIFT_WATCH`: a socket on which the process says what it is doing, for `clift-info --watch`.
//!
//! - `layer`: receives the messages of [`clift_runtime::trace`];
//! - `activity`: what they say of the present;
//! - `socket`: answers each connection with one line of JSON.
//!
//! The process has the socket, its thread and the list of commands only if the variable asks for them. The child of a fork has
//! none: it says nothing, and leaves the socket to its parent.
//!
//! Deliberately not here: what is shown and how (`info/src/watch`); anything that a client could change. Nothing is read from it.

mod activity;
mod layer;
mod socket;

use std::io::Write as _;

use clift_runtime::trace;
use tracing::level_filters::LevelFilter;

pub use layer::WatchLayer;

/// The messages that are received.
pub const TARGETS: [(&str, LevelFilter); 1] = [(trace::TARGET, LevelFilter::TRACE)];

/// Begins to answer. If that is impossible, the reason is printed, because the user has asked for it.
pub fn start() -> Option<WatchLayer> {
    match socket::open() {
        Ok(activity) => Some(WatchLayer::new(activity)),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "clift: CLIFT_WATCH: {error}");
            None
        }
    }
}
