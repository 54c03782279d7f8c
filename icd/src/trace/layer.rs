//! Receives messages.

use std::fmt;

use clift_runtime::clock::now_ns;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::events::{Message, Sender};
use super::file::TraceFile;
use super::{KERNELS, STAGES};

/// Passes messages on to the file.
pub struct TraceLayer {
    file: &'static TraceFile,
}

impl TraceLayer {
    pub(super) fn new(file: &'static TraceFile) -> Self {
        Self { file }
    }
}

impl<S: Subscriber> Layer<S> for TraceLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let now = now_ns();
        if let Some(message) = message_of(event) {
            self.file.add(&message, &Sender::current(now));
        }
    }
}

/// The message that an event of one of the targets is; `None` if it is not for traces.
pub(crate) fn message_of(event: &Event<'_>) -> Option<Message> {
    let mut fields = Fields::default();
    event.record(&mut fields);
    match event.metadata().target() {
        STAGES => fields.stage(),
        KERNELS => fields.kernel(),
        _ => fields.message(),
    }
}

/// The fields of a message.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn number(&mut self, name: &str) -> Option<u64> {
        self.0.remove(name)?.as_u64()
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A message of [`clift_runtime::trace`], which documents the fields.
    fn message(mut self) -> Option<Message> {
        if let Some(name) = self.text("slice") {
            let (group, ns) = (self.text("group")?, self.number("ns")?);
            return Some(Message::Slice { name, group, ns, args: self.0 });
        }
        if let Some(name) = self.text("command") {
            let id = self.number("id")?;
            let (queue, number) = (self.number("queue")?, self.number("number")?);
            let times = [self.number("queued")?, self.number("submit")?, self.number("start")?, self.number("end")?];
            let status = self.0.remove("status")?;
            return Some(Message::Command { name, id, queue, number, times, status, size: self.0 });
        }
        if let Some(name) = self.text("started") {
            return Some(Message::Started { name, id: self.number("id")?, queue: self.number("queue")? });
        }
        if let Some(name) = self.text("fact") {
            return Some(Message::Note { name, group: "fact", args: self.0 });
        }
        if let Some(id) = self.number("submitted") {
            return Some(Message::Submitted { id });
        }
        if let Some(before) = self.number("before") {
            return Some(Message::Waited { before, after: self.number("after")? });
        }
        let name = self.text("counter")?;
        Some(Message::Counter { name, value: self.number("value")? })
    }

    /// A message about a compiled kernel.
    fn kernel(mut self) -> Option<Message> {
        if let Some(name) = self.text("kernel") {
            return Some(Message::Note { name, group: "kernel", args: self.0 });
        }
        Some(Message::Note { name: self.text("of")?, group: "remark", args: self.0 })
    }

    /// A message about a stage of a build; `None` if it is not about a time.
    fn stage(mut self) -> Option<Message> {
        let (name, ns) = (self.text("stage")?, self.number("micros")? * 1000);
        Some(Message::Slice { name, group: "build".to_owned(), ns, args: self.0 })
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}
