//! Command buffers (`cl_khr_command_buffer`): creation, enqueuing and queries. Recording is in [`super::recording`], changes of
//! recorded kernels in [`super::mutable_dispatch`].

use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::graph::{self, Command, KeepAlive, WaitList, Work};

use super::enqueue::ndrange::ready;
use super::enqueue::{Submission, Wait};
use crate::caps;
use crate::error::ClError::{
    IncompatibleCommandQueue, InvalidContext, InvalidDevice, InvalidOperation, InvalidProperty, InvalidValue,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{InArray, Properties, pairs};
use crate::object::command_buffer::{Action, CommandBuffer, Recorded};
use crate::object::queue::Queue;

/// `clCreateCommandBufferKHR`
pub fn create(
    num_queues: cl_uint,
    queues: InArray<Handle<Queue>>,
    properties: Properties<cl_command_buffer_properties_khr>,
) -> ClResult<Ref<CommandBuffer>> {
    const FLAGS: cl_command_buffer_flags_khr = CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR | CL_COMMAND_BUFFER_MUTABLE_KHR;

    // CL_INVALID_VALUE if num_queues is not one
    ensure(num_queues == 1, InvalidValue)?;
    // CL_INVALID_VALUE if queues is NULL
    ensure(!queues.is_null(), InvalidValue)?;
    // CL_INVALID_COMMAND_QUEUE if any command-queue in queues is not a valid command-queue
    let queue = queues.iter(1).next().ok_or(InvalidValue)?.active()?;
    // CL_INVALID_CONTEXT if all the command-queues in queues do not have the same OpenCL context: there is one
    let list = properties.verbatim();
    let (mut flags, mut asserts) = (0, 0);
    for (index, (name, value)) in pairs(&list).enumerate() {
        // CL_INVALID_VALUE if the same property name is specified more than once
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        match name {
            // CL_INVALID_VALUE if values specified in properties are not valid
            CL_COMMAND_BUFFER_FLAGS_KHR => {
                ensure(value & !(FLAGS | CL_COMMAND_BUFFER_DEVICE_SIDE_SYNC_KHR) == 0, InvalidValue)?;
                // CL_INVALID_PROPERTY if values specified in properties are valid but are not supported
                ensure(value & !FLAGS == 0, InvalidProperty)?;
                flags = value;
            }
            CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR => {
                ensure(value & !CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR == 0, InvalidValue)?;
                asserts = value;
            }
            _ => return Err(InvalidValue),
        }
    }

    Ok(Object::create(CommandBuffer::new(queue, list, flags, asserts)))
}

/// `clFinalizeCommandBufferKHR`
pub fn finalize(buffer: Handle<CommandBuffer>) -> ClResult<()> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;
    // CL_INVALID_OPERATION if command_buffer is not in the Recording state
    ensure(buffer.finalize(), InvalidOperation)
}

/// `clGetCommandBufferInfoKHR`
pub fn get_info(buffer: Handle<CommandBuffer>, name: cl_command_buffer_info_khr, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;

    match name {
        CL_COMMAND_BUFFER_NUM_QUEUES_KHR => info.value::<cl_uint>(1),
        CL_COMMAND_BUFFER_QUEUES_KHR => info.object(buffer.queue()),
        CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR => info.value(buffer.reference_count()),
        CL_COMMAND_BUFFER_STATE_KHR => info.value(buffer.state()),
        CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR => info.slice(buffer.properties()),
        CL_COMMAND_BUFFER_CONTEXT_KHR => info.object(buffer.queue().context()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clEnqueueCommandBufferKHR`
pub fn enqueue(
    num_queues: cl_uint,
    queues: InArray<Handle<Queue>>,
    buffer: Handle<CommandBuffer>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;
    // CL_INVALID_OPERATION if command_buffer is not in the Executable state
    ensure(buffer.state() == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR, InvalidOperation)?;
    // CL_INVALID_VALUE if queues is NULL and num_queues is > 0, or queues is not NULL and num_queues is 0
    let mut given = queues.checked(num_queues, InvalidValue)?;
    // CL_INVALID_VALUE if num_queues is > 0 and not the same value as num_queues set on command_buffer creation
    ensure(num_queues <= 1, InvalidValue)?;
    // CL_INVALID_COMMAND_QUEUE if any element of queues is not a valid command-queue
    let queue = given.next().map_or_else(|| Ok(buffer.queue().clone()), |queue| queue.get())?;
    // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
    queue.context().ensure_active()?;
    // CL_INCOMPATIBLE_COMMAND_QUEUE_KHR if the properties of any command-queue in queues contain one that is not supported
    ensure(queue.properties() & !caps::COMMAND_BUFFER_QUEUE_PROPERTIES == 0, IncompatibleCommandQueue)?;
    // CL_INVALID_DEVICE if any element of queues does not have the same device as the one set on command_buffer creation
    ensure(Ref::ptr_eq(queue.device(), buffer.queue().device()), InvalidDevice)?;
    // CL_INVALID_CONTEXT if any element of queues does not have the same context
    ensure(Ref::ptr_eq(queue.context(), buffer.queue().context()), InvalidContext)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut whole = Submission::new(&queue, CL_COMMAND_COMMAND_BUFFER_KHR, wait)?.keep(&buffer);

    // All commands are prepared before any is submitted, because the preparation may fail.
    let commands = buffer.commands();
    let works = commands.iter().map(|command| work(&queue, command)).collect::<ClResult<Vec<_>>>()?;
    let in_order = buffer.queue().properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
    let mut events: Vec<graph::Event> = Vec::new();
    let mut barrier: Option<graph::Event> = None;
    for (command, (work, keep)) in commands.iter().zip(works) {
        let is_barrier = matches!(command.action, Action::Barrier);
        let mut waits: WaitList = command.waits.iter().filter_map(|index| events.get(*index).cloned()).collect();
        if is_barrier && command.waits.is_empty() {
            waits.extend(events.iter().cloned());
        }
        if in_order {
            waits.extend(events.last().cloned());
        }
        waits.extend(barrier.clone());
        if waits.is_empty() {
            waits.extend(whole.waits().iter().cloned());
        }
        let event = queue.commands().submit(Command { waits, keep, ..Command::new(work) });
        if is_barrier {
            barrier = Some(event.clone());
        }
        events.push(event);
    }
    for event in events {
        whole = whole.part(event);
    }
    whole.nothing(false, |_| ())
}

/// The work of a recorded command, and the resources it needs.
fn work(queue: &Queue, command: &Arc<Recorded>) -> ClResult<(Work, KeepAlive)> {
    match &command.action {
        Action::Barrier => Ok((Work::Task(Box::new(|| Ok(()))), KeepAlive::new())),
        Action::Operation(operation) => {
            let operation = operation.clone();
            let keep = operation.keep.clone();
            Ok((Work::Task(Box::new(move || (operation.task)())), keep))
        }
        Action::Launch(dispatch) => {
            let prepared = dispatch.prepared();
            let (launch, mut keep) = ready(queue, &prepared.kernel, &prepared.request)?;
            keep.push(prepared);
            Ok((Work::Launch(launch), keep))
        }
    }
}
