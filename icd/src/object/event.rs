//! An event: what became of a command, or of something the application itself announces (a user event).
//!
//! The status and the waiting are the runtime's ([`clift_runtime::graph::Event`]); the object adds what the application may
//! ask of it. Commands whose event nobody asks for have no object.

use std::sync::{Arc, Weak};

use clift_include::cl::{CL_COMMAND_USER, cl_command_type, cl_int};
use clift_runtime::graph;

use super::context::Context;
use super::queue::Queue;
use crate::ffi::callback::EventNotify;
use crate::ffi::handle::{Object, Ref, cl_object};
use crate::ffi::pointer::UserData;

/// An event.
#[derive(Debug)]
pub struct Event {
    state: graph::Event,
    origin: Origin,
}

/// Where an event comes from.
#[derive(Debug)]
enum Origin {
    Command { queue: Ref<Queue>, kind: cl_command_type },
    User { context: Ref<Context> },
}

cl_object!(Event, b"evnt", InvalidEvent);

impl Event {
    /// The event of a command.
    pub fn of_command(state: graph::Event, queue: Ref<Queue>, kind: cl_command_type) -> Self {
        Self { state, origin: Origin::Command { queue, kind } }
    }

    /// A user event.
    pub fn user(context: Ref<Context>) -> Self {
        Self { state: graph::Event::user(), origin: Origin::User { context } }
    }

    /// The runtime's side of it.
    pub fn state(&self) -> &graph::Event {
        &self.state
    }

    /// Whether it is a user event.
    pub fn is_user(&self) -> bool {
        matches!(self.origin, Origin::User { .. })
    }

    /// The queue of its command; `None` for a user event.
    pub fn queue(&self) -> Option<&Ref<Queue>> {
        match &self.origin {
            Origin::Command { queue, .. } => Some(queue),
            Origin::User { .. } => None,
        }
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Ref<Context> {
        match &self.origin {
            Origin::Command { queue, .. } => queue.context(),
            Origin::User { context } => context,
        }
    }

    /// The kind of its command (`CL_COMMAND_*`).
    pub fn kind(&self) -> cl_command_type {
        match &self.origin {
            Origin::Command { kind, .. } => *kind,
            Origin::User { .. } => CL_COMMAND_USER,
        }
    }
}

/// Registers a function to be told when the event reaches a status.
pub fn on_status(event: &Ref<Event>, status: cl_int, notify: EventNotify, user_data: UserData) {
    // The event lives until its callback has been called, even when the application has let go of it. A user event that
    // everybody has let go of must be able to end, though: nobody can set it any more.
    let held: Result<Ref<Event>, Weak<Object<Event>>> =
        if event.is_user() { Err(Arc::downgrade(event)) } else { Ok(event.clone()) };
    event.state.on_status(
        status,
        Box::new(move |reached| {
            if let Some(event) = held.map_or_else(|weak| weak.upgrade(), Some) {
                notify.call(event.handle(), reached, user_data);
            }
        }),
    );
}
