//! Commands: checks, and submission to the runtime.
//!
//! By class: [`transfer`] (read, write, copy, also of rectangles), [`map`] (and migration), [`fill`], [`sync`] (markers,
//! barriers), [`image`], [`native`], [`mod@pointer`] (memory by address), [`ndrange`] (kernels; their sizes in
//! [`clift_runtime::geometry`]). This file contains what they have in common: the rules for wait lists, and [`Submission`].
//!
//! One rule applies to all commands on buffers and can never be violated: `CL_MISALIGNED_SUB_BUFFER_OFFSET` if a sub-buffer's
//! origin is not aligned to CL_DEVICE_MEM_BASE_ADDR_ALIGN for the device of the queue. All devices have the same alignment, and
//! memory is allocated when the buffer is created.
//!
//! [`Submission::keep`] keeps the objects that a command accesses alive; its work has plain memory and data, no handles.

use std::any::Any;
use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::graph::{self, Command, KeepAlive, TaskError, WaitList, Work};
use clift_runtime::memory::MemSlice;
use clift_runtime::status;

use crate::error::ClError::{
    ExecStatusErrorForEventsInWaitList, InvalidContext, InvalidEventWaitList, InvalidMemObject, InvalidValue,
    OutOfResources,
};
use crate::error::{ClError, ClResult, ensure};
use crate::ffi::handle::{ClObject, Handle, Object, Ref};
use crate::ffi::pointer::{InArray, Out};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::event::{Event, command_name};
use crate::object::operation::{Operation, Task};
use crate::object::queue::Queue;

mod code;
pub mod fill;
pub mod image;
pub mod map;
pub mod native;
pub mod ndrange;
pub mod pointer;
pub mod sync;
pub mod transfer;

/// The last three arguments of every enqueue function: the wait list, and the pointer for the event.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'call> {
    /// Events in the list.
    pub count: cl_uint,
    /// The list.
    pub list: InArray<'call, Handle<Event>>,
    /// Receives the command's event; NULL if the application does not need it.
    pub event: Out<'call, Handle<Event>>,
}

/// A command whose arguments have been checked.
pub struct Submission<'call> {
    queue: Ref<Queue>,
    kind: cl_command_type,
    wait: Wait<'call>,
    waits: WaitList,
    keep: KeepAlive,
    parts: WaitList,
    /// Whether its event belongs to no single queue.
    several_queues: bool,
}

impl<'call> Submission<'call> {
    /// A command of a kind (`CL_COMMAND_*`) for a queue. Checks the wait list:
    ///
    /// - `CL_INVALID_EVENT_WAIT_LIST` if event_wait_list is NULL and num_events_in_wait_list is greater than zero, if
    ///   event_wait_list is not NULL and num_events_in_wait_list is zero, or if event objects in it are not valid events;
    /// - `CL_INVALID_CONTEXT` if the context associated with command_queue and events in event_wait_list are not the same.
    ///
    /// # Errors
    /// The ones above.
    pub fn new(queue: &Ref<Queue>, kind: cl_command_type, wait: Wait<'call>) -> ClResult<Self> {
        let mut waits = WaitList::new();
        for event in wait.list.checked(wait.count, InvalidEventWaitList)? {
            let event = event.get().map_err(|_| InvalidEventWaitList)?;
            same_context(queue, event.context())?;
            waits.push(event.state().clone());
        }
        let (keep, parts) = (KeepAlive::new(), WaitList::new());
        Ok(Self { queue: queue.clone(), kind, wait, waits, keep, parts, several_queues: false })
    }

    /// Its dependencies so far.
    pub fn waits(&self) -> &WaitList {
        &self.waits
    }

    /// Adds a dependency.
    pub fn after(mut self, event: graph::Event) -> Self {
        self.waits.push(event);
        self
    }

    /// Waits for a command that executes as a part of this one.
    pub fn part(mut self, event: graph::Event) -> Self {
        self.parts.push(event.clone());
        self.after(event)
    }

    /// Its parts execute in several queues: queries of its event name none of them.
    pub fn of_several_queues(self) -> Self {
        Self { several_queues: true, ..self }
    }

    /// The rule of commands that reject a wait list in which an event has already failed.
    ///
    /// # Errors
    /// `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST`.
    pub fn ensure_none_failed(&self) -> ClResult<()> {
        let failed = |event: &graph::Event| event.status() < status::COMPLETE;
        ensure(!self.waits.iter().any(failed), ExecStatusErrorForEventsInWaitList)
    }

    /// Keeps an object alive until the command has ended.
    pub fn keep<T: ClObject>(self, object: &Ref<T>) -> Self {
        self.keep_any(object.clone())
    }

    /// Keeps a resource that is not an OpenCL object alive until the command has ended.
    pub fn keep_any(mut self, thing: Arc<dyn Any + Send + Sync>) -> Self {
        self.keep.push(thing);
        self
    }

    /// Submits a copy or fill.
    ///
    /// # Errors
    /// As [`Submission::submit`].
    pub fn operation(mut self, blocking: bool, operation: Operation<impl Task>) -> ClResult<()> {
        let (work, keep) = operation.into_work();
        self.keep.extend(keep);
        self.submit(blocking, work)
    }

    /// Submits a command that one thread executes: a copy, a fill, or a call.
    ///
    /// # Errors
    /// As [`Submission::submit`].
    pub fn task(self, blocking: bool, task: impl FnOnce() -> Result<(), TaskError> + Send + 'static) -> ClResult<()> {
        self.submit(blocking, Work::Task(Box::new(task)))
    }

    /// Submits a command without work. `observe` is called with the command's event before the call waits for it.
    ///
    /// # Errors
    /// As [`Submission::submit`].
    pub fn nothing(self, blocking: bool, observe: impl FnOnce(&graph::Event)) -> ClResult<()> {
        // A marker without a wait list waits for all earlier commands, which this command must not in an out-of-order queue.
        let free = self.queue.commands().options().out_of_order && self.waits.is_empty();
        let work = if free { Work::Task(Box::new(|| Ok(()))) } else { Work::Marker };
        self.submit_observed(blocking, work, observe)
    }

    /// Submits the command, waits for its end if the call is blocking, and returns its event if requested.
    ///
    /// # Errors
    /// Only for a blocking call: `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST` if the execution status of any of the
    /// events in event_wait_list is a negative integer value, or the error with which the command failed.
    pub fn submit(self, blocking: bool, work: Work) -> ClResult<()> {
        self.submit_observed(blocking, work, |_| ())
    }

    /// As [`Submission::submit`]; `observe` is called with the command's event before the call waits for it.
    ///
    /// # Errors
    /// As [`Submission::submit`].
    pub fn submit_observed(self, blocking: bool, work: Work, observe: impl FnOnce(&graph::Event)) -> ClResult<()> {
        let Self { queue, kind, wait, waits, keep, parts, several_queues } = self;
        let event = queue.commands().submit(Command { name: command_name(kind), work, waits, keep, parts });
        observe(&event);
        if blocking {
            succeeded(event.wait())?;
        }
        if !wait.event.is_null() {
            let event = if several_queues {
                Event::of_several_queues(event, queue.context().clone(), kind)
            } else {
                Event::of_command(event, queue, kind)
            };
            wait.event.set(Object::create(event).handle());
        }
        Ok(())
    }
}

/// The error that corresponds to a command's final status, if it failed.
fn succeeded(ended: cl_int) -> ClResult<()> {
    match ended {
        status::COMPLETE => Ok(()),
        status::WAIT_LIST_FAILED => Err(ExecStatusErrorForEventsInWaitList),
        error => Err(ClError::ALL.iter().copied().find(|known| known.code() == error).unwrap_or(OutOfResources)),
    }
}

/// The rule that all objects of a command belong to the queue's context.
///
/// # Errors
/// `CL_INVALID_CONTEXT` if the context associated with command_queue and the other one are not the same.
pub fn same_context(queue: &Ref<Queue>, other: &Ref<Context>) -> ClResult<()> {
    ensure(Ref::ptr_eq(queue.context(), other), InvalidContext)
}

/// A memory object that is a buffer.
///
/// # Errors
/// `CL_INVALID_MEM_OBJECT` if it is not a valid buffer object.
fn buffer_of(handle: Handle<Mem>) -> ClResult<Ref<Mem>> {
    let mem = handle.get()?;
    ensure(mem.is_buffer(), InvalidMemObject)?;
    Ok(mem)
}

/// The part of a buffer that a command accesses.
///
/// # Errors
/// `CL_INVALID_VALUE` if the region specified by offset and size is out of bounds.
fn region(buffer: &Ref<Mem>, offset: usize, size: usize) -> ClResult<MemSlice> {
    buffer.bytes().part(offset, size).map_err(|_| InvalidValue)
}
