//! Event: user events, waiting, callbacks, profiling.

use clift_include::cl::*;

use crate::error::ClError::{
    ExecStatusErrorForEventsInWaitList, InvalidContext, InvalidEvent, InvalidOperation, InvalidValue,
    ProfilingInfoNotAvailable,
};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::StatusNotify;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{InArray, UserData};
use crate::object::context::Context;
use crate::object::event::{self, Event};

/// `clCreateUserEvent`
pub fn create_user(context: Handle<Context>) -> ClResult<Ref<Event>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;

    Ok(Object::create(Event::user(context)))
}

/// `clSetUserEventStatus`
pub fn set_user_status(event: Handle<Event>, status: cl_int) -> ClResult<()> {
    // CL_INVALID_EVENT if event is not a valid user event object
    let event = event.get()?;
    ensure(event.is_user(), InvalidEvent)?;
    // CL_INVALID_VALUE if the execution_status is not CL_COMPLETE or a negative integer value
    ensure(status <= CL_COMPLETE, InvalidValue)?;
    // CL_INVALID_OPERATION if the execution_status for event has already been changed by a previous call
    event::set_user_status(&event, status).map_err(|_| InvalidOperation)
}

/// `clWaitForEvents`
pub fn wait(num_events: cl_uint, event_list: InArray<Handle<Event>>) -> ClResult<()> {
    // CL_INVALID_VALUE if num_events is zero or event_list is NULL
    ensure(num_events != 0 && !event_list.is_null(), InvalidValue)?;
    let mut events: Vec<Ref<Event>> = Vec::new();
    for event in event_list.iter(num_events as usize) {
        // CL_INVALID_EVENT if event objects specified in event_list are not valid event objects
        let event = event.get()?;
        // CL_INVALID_CONTEXT if events specified in event_list do not belong to the same context
        ensure(events.first().is_none_or(|first| Ref::ptr_eq(first.context(), event.context())), InvalidContext)?;
        events.push(event);
    }

    // Commands start without a flush, so waiting is sufficient.
    let mut failed = false;
    for event in &events {
        failed |= event.state().wait() < CL_COMPLETE;
    }
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the execution status of any of the events in event_list is a
    // negative integer value
    ensure(!failed, ExecStatusErrorForEventsInWaitList)
}

/// `clGetEventInfo`
pub fn get_info(event: Handle<Event>, name: cl_event_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_EVENT if event is a not a valid event object
    let event = event.get()?;

    match name {
        CL_EVENT_COMMAND_QUEUE => info.object_or_null(event.queue()),
        CL_EVENT_CONTEXT => info.object(event.context()),
        CL_EVENT_COMMAND_TYPE => info.value(event.kind()),
        CL_EVENT_COMMAND_EXECUTION_STATUS => info.value(event.state().status()),
        CL_EVENT_REFERENCE_COUNT => info.value(event.reference_count()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clSetEventCallback`
pub fn set_callback(
    event: Handle<Event>,
    status: cl_int,
    notify: StatusNotify<Event>,
    user_data: UserData,
) -> ClResult<()> {
    // CL_INVALID_EVENT if event is not a valid event object
    let event = event.get()?;
    // CL_INVALID_VALUE if pfn_event_notify is NULL
    ensure(!notify.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if command_exec_callback_type is not CL_SUBMITTED, CL_RUNNING, or CL_COMPLETE
    ensure([CL_SUBMITTED, CL_RUNNING, CL_COMPLETE].contains(&status), InvalidValue)?;

    event::on_status(&event, status, notify, user_data);
    Ok(())
}

/// `clGetEventProfilingInfo`
pub fn get_profiling_info(event: Handle<Event>, name: cl_profiling_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_EVENT if event is a not a valid event object
    let event = event.get()?;
    // CL_PROFILING_INFO_NOT_AVAILABLE if the CL_QUEUE_PROFILING_ENABLE flag is not set for the command-queue, if the
    // execution status of the command identified by event is not CL_COMPLETE or if event is a user event object
    let times = event.state().times().ok_or(ProfilingInfoNotAvailable)?;
    ensure(event.state().status() == CL_COMPLETE, ProfilingInfoNotAvailable)?;

    match name {
        CL_PROFILING_COMMAND_QUEUED => info.value(times.queued),
        CL_PROFILING_COMMAND_SUBMIT => info.value(times.submit),
        CL_PROFILING_COMMAND_START => info.value(times.start),
        CL_PROFILING_COMMAND_END => info.value(times.end),
        // The end of the command including its child commands on the device.
        CL_PROFILING_COMMAND_COMPLETE => info.value(times.complete),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
