//! An event: the status of a command, or of a user event, which the application sets.
//!
//! Status and waiting are implemented in the runtime ([`clift_runtime::graph::Event`]); the object adds what the application may
//! query. Commands whose event was not requested have no object.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use clift_include::cl::*;
use clift_runtime::graph;

use super::context::Context;
use super::queue::Queue;
use crate::ffi::callback::StatusNotify;
use crate::ffi::handle::{Object, Ref, cl_object};
use crate::ffi::pointer::UserData;

/// An event.
#[derive(Debug)]
pub struct Event {
    state: graph::Event,
    origin: EventSource,
}

/// What an event belongs to.
#[derive(Debug)]
enum EventSource {
    Command {
        queue: Ref<Queue>,
        kind: cl_command_type,
    },
    SeveralQueues {
        context: Ref<Context>,
        kind: cl_command_type,
    },
    /// `is_watched` says whether it has had callbacks.
    User {
        context: Ref<Context>,
        is_watched: AtomicBool,
    },
}

cl_object!(Event, b"evnt", InvalidEvent);

impl Event {
    /// The event of a command.
    pub fn of_command(state: graph::Event, queue: Ref<Queue>, kind: cl_command_type) -> Self {
        Self { state, origin: EventSource::Command { queue, kind } }
    }

    /// The event of a command whose parts execute in several queues.
    pub fn of_several_queues(state: graph::Event, context: Ref<Context>, kind: cl_command_type) -> Self {
        Self { state, origin: EventSource::SeveralQueues { context, kind } }
    }

    /// A user event.
    pub fn user(context: Ref<Context>) -> Self {
        Self { state: graph::Event::user(), origin: EventSource::User { context, is_watched: AtomicBool::new(false) } }
    }

    /// The runtime's event.
    pub fn state(&self) -> &graph::Event {
        &self.state
    }

    /// Whether it is a user event.
    pub fn is_user(&self) -> bool {
        matches!(self.origin, EventSource::User { .. })
    }

    /// The queue of its command; `None` for a user event, and for a command of several queues.
    pub fn queue(&self) -> Option<&Ref<Queue>> {
        match &self.origin {
            EventSource::Command { queue, .. } => Some(queue),
            EventSource::SeveralQueues { .. } | EventSource::User { .. } => None,
        }
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Ref<Context> {
        match &self.origin {
            EventSource::Command { queue, .. } => queue.context(),
            EventSource::SeveralQueues { context, .. } | EventSource::User { context, .. } => context,
        }
    }

    /// The kind of its command (`CL_COMMAND_*`).
    pub fn kind(&self) -> cl_command_type {
        match &self.origin {
            EventSource::Command { kind, .. } | EventSource::SeveralQueues { kind, .. } => *kind,
            EventSource::User { .. } => CL_COMMAND_USER,
        }
    }
}

/// The name of a kind of command.
pub fn command_name(kind: cl_command_type) -> &'static str {
    macro_rules! names {
        ($($kind:ident),+ $(,)?) => {
            match kind {
                $($kind => stringify!($kind),)+
                _ => "command",
            }
        };
    }
    names![
        CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR,
        CL_COMMAND_BARRIER,
        CL_COMMAND_COMMAND_BUFFER_KHR,
        CL_COMMAND_COPY_BUFFER,
        CL_COMMAND_COPY_BUFFER_RECT,
        CL_COMMAND_COPY_BUFFER_TO_IMAGE,
        CL_COMMAND_COPY_IMAGE,
        CL_COMMAND_COPY_IMAGE_TO_BUFFER,
        CL_COMMAND_FILL_BUFFER,
        CL_COMMAND_FILL_IMAGE,
        CL_COMMAND_MAP_BUFFER,
        CL_COMMAND_MAP_IMAGE,
        CL_COMMAND_MARKER,
        CL_COMMAND_MEMADVISE_INTEL,
        CL_COMMAND_MEMCPY_INTEL,
        CL_COMMAND_MEMFILL_INTEL,
        CL_COMMAND_MIGRATEMEM_INTEL,
        CL_COMMAND_MIGRATE_MEM_OBJECTS,
        CL_COMMAND_NATIVE_KERNEL,
        CL_COMMAND_NDRANGE_KERNEL,
        CL_COMMAND_READ_BUFFER,
        CL_COMMAND_READ_BUFFER_RECT,
        CL_COMMAND_READ_IMAGE,
        CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR,
        CL_COMMAND_SEMAPHORE_SIGNAL_KHR,
        CL_COMMAND_SEMAPHORE_WAIT_KHR,
        CL_COMMAND_SVM_FREE,
        CL_COMMAND_SVM_MAP,
        CL_COMMAND_SVM_MEMCPY,
        CL_COMMAND_SVM_MEMFILL,
        CL_COMMAND_SVM_MIGRATE_MEM,
        CL_COMMAND_SVM_UNMAP,
        CL_COMMAND_TASK,
        CL_COMMAND_UNMAP_MEM_OBJECT,
        CL_COMMAND_USER,
        CL_COMMAND_WRITE_BUFFER,
        CL_COMMAND_WRITE_BUFFER_RECT,
        CL_COMMAND_WRITE_IMAGE,
    ]
}

/// Registers a function to call when the event reaches a status.
pub fn on_status(event: &Ref<Event>, status: cl_int, notify: StatusNotify<Event>, user_data: UserData) {
    // The event lives until its callback has been called, even if the application has released it. But a released user event must
    // be freed if its status can no longer be set, because it would never end.
    let held: Result<Ref<Event>, Weak<Object<Event>>> = match &event.origin {
        EventSource::User { is_watched, .. } => {
            is_watched.store(true, Ordering::SeqCst);
            Err(Arc::downgrade(event))
        }
        EventSource::Command { .. } | EventSource::SeveralQueues { .. } => Ok(event.clone()),
    };
    event.state.on_status(
        status,
        Box::new(move |reached| {
            if let Some(event) = held.map_or_else(|weak| weak.upgrade(), Some) {
                notify.call(event.handle(), reached, user_data);
            }
        }),
    );
    if event.is_user() && event.state.status() <= status {
        keep_until_called(event);
    }
}

/// Sets the status of a user event.
///
/// # Errors
/// [`graph::AlreadySet`] if it has been set before.
pub fn set_user_status(event: &Ref<Event>, status: cl_int) -> Result<(), graph::AlreadySet> {
    event.state.set_user_status(status)?;
    if matches!(&event.origin, EventSource::User { is_watched, .. } if is_watched.load(Ordering::SeqCst)) {
        keep_until_called(event);
    }
    Ok(())
}

/// Keeps a user event alive until the callbacks that are due have been called: callbacks are called in the order in which they
/// became due, and this one is due at once.
fn keep_until_called(event: &Ref<Event>) {
    let held = event.clone();
    event.state.on_status(CL_SUBMITTED, Box::new(move |_| drop(held)));
}
