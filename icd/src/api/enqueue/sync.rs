//! Markers and barriers.

use clift_include::cl::*;
use clift_runtime::graph::Work;

use super::{Submission, Wait};
use crate::error::ClError::{InvalidEvent, InvalidEventWaitList, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::pointer::{InArray, Out};
use crate::object::event::Event;
use crate::object::queue::Queue;

/// `clEnqueueMarkerWithWaitList`
pub fn marker_with_wait_list(queue: Handle<Queue>, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_MARKER, wait)?.submit(false, Work::Marker)
}

/// `clEnqueueBarrierWithWaitList`
pub fn barrier_with_wait_list(queue: Handle<Queue>, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_BARRIER, wait)?.submit(false, Work::Barrier)
}

/// `clEnqueueMarker` (deprecated in 1.2)
pub fn marker(queue: Handle<Queue>, event: Out<'_, Handle<Event>>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if event is NULL
    ensure(!event.is_null(), InvalidValue)?;

    let wait = Wait { count: 0, list: InArray::null(), event };
    Submission::new(&queue, CL_COMMAND_MARKER, wait)?.submit(false, Work::Marker)
}

/// `clEnqueueWaitForEvents` (deprecated in 1.2): later commands wait for the events.
pub fn wait_for_events(queue: Handle<Queue>, count: cl_uint, list: InArray<'_, Handle<Event>>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_events is 0 or event_list is NULL
    ensure(count != 0 && !list.is_null(), InvalidValue)?;
    // CL_INVALID_CONTEXT: see `Submission::new`
    // CL_INVALID_EVENT if event objects specified in event_list are not valid events
    let wait = Wait { count, list, event: Out::null() };
    let command = Submission::new(&queue, CL_COMMAND_BARRIER, wait)
        .map_err(|error| if error == InvalidEventWaitList { InvalidEvent } else { error })?;

    command.submit(false, Work::Barrier)
}

/// `clEnqueueBarrier` (deprecated in 1.2)
pub fn barrier(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;

    let wait = Wait { count: 0, list: InArray::null(), event: Out::null() };
    Submission::new(&queue, CL_COMMAND_BARRIER, wait)?.submit(false, Work::Barrier)
}
