//! Messages as text: one line on stderr each, as `CLIFT_DEBUG` requests.
//!
//! Destructors of static objects call the driver when thread-local values are destroyed. The formatter of `tracing_subscriber`
//! keeps its buffer in one and panics then, so that each line has a buffer of its own here.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Writes messages to stderr: level, target, the message, other fields with their names.
pub(crate) struct MessageLayer;

impl<S: Subscriber> Layer<S> for MessageLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = Line(format!("{:>5} {}:", metadata.level(), metadata.target()));
        event.record(&mut line);
        line.0.push('\n');
        let _ = std::io::stderr().write_all(line.0.as_bytes());
    }
}

/// A line that fields are appended to.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
