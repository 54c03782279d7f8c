//! Command buffers (`cl_khr_command_buffer`): creation, enqueuing and queries. Recording is in [`super::recording`], changes of
//! recorded kernels in [`super::mutable_dispatch`].

use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::geometry;
use clift_runtime::graph::{self, Command, KeepAlive, WaitList, Work};
use rustc_hash::FxHashMap;

use super::enqueue::ndrange::{demands, ready};
use super::enqueue::{Submission, Wait};
use super::recording::snapshot;
use crate::caps;
use crate::error::ClError::{IncompatibleCommandQueue, InvalidContext, InvalidDevice, InvalidOperation, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{InArray, OutArray, Properties, pairs};
use crate::object::command_buffer::{
    Action, CommandBuffer, MutableCommand, PreparedLaunch, Recorded, RecordedLaunch, handle_of,
};
use crate::object::queue::Queue;

/// `clCreateCommandBufferKHR`
pub fn create(
    num_queues: cl_uint,
    queues: InArray<Handle<Queue>>,
    properties: Properties<cl_command_buffer_properties_khr>,
) -> ClResult<Ref<CommandBuffer>> {
    const FLAGS: cl_command_buffer_flags_khr =
        CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR | CL_COMMAND_BUFFER_MUTABLE_KHR | CL_COMMAND_BUFFER_DEVICE_SIDE_SYNC_KHR;

    // CL_INVALID_VALUE if num_queues is zero, or if queues is NULL
    // CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT: see `checked_queues`
    let queues = checked_queues(num_queues, queues)?;
    // CL_INCOMPATIBLE_COMMAND_QUEUE_KHR if a device does not support several queues, or devices cannot synchronize with each
    // other: all do
    let list = properties.verbatim();
    let (mut flags, mut asserts) = (0, 0);
    for (index, (name, value)) in pairs(&list).enumerate() {
        // CL_INVALID_VALUE if the same property name is specified more than once
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        match name {
            // CL_INVALID_VALUE if values specified in properties are not valid
            CL_COMMAND_BUFFER_FLAGS_KHR => {
                // CL_INVALID_PROPERTY if values specified in properties are valid but are not supported: all are
                ensure(value & !FLAGS == 0, InvalidValue)?;
                flags = value;
            }
            CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR => {
                ensure(value & !CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR == 0, InvalidValue)?;
                asserts = value;
            }
            _ => return Err(InvalidValue),
        }
    }

    Ok(Object::create(CommandBuffer::new(queues, list, flags, asserts)))
}

/// Queues of one context.
///
/// # Errors
/// `CL_INVALID_VALUE` if there are none, `CL_INVALID_COMMAND_QUEUE` if one is not a valid queue, `CL_INVALID_CONTEXT` if they
/// do not have the same context.
fn checked_queues(count: cl_uint, queues: InArray<Handle<Queue>>) -> ClResult<Vec<Ref<Queue>>> {
    ensure(count != 0 && !queues.is_null(), InvalidValue)?;
    let queues = queues.iter(count as usize).map(|queue| queue.active()).collect::<ClResult<Vec<_>>>()?;
    ensure(queues.iter().all(|queue| Ref::ptr_eq(queue.context(), queues[0].context())), InvalidContext)?;
    Ok(queues)
}

/// `clRemapCommandBufferKHR`
#[allow(clippy::too_many_arguments, reason = "as many as the entry point has")]
pub fn remap(
    buffer: Handle<CommandBuffer>,
    automatic: cl_bool,
    num_queues: cl_uint,
    queues: InArray<Handle<Queue>>,
    num_handles: cl_uint,
    handles: InArray<Handle<MutableCommand>>,
    handles_ret: OutArray<Handle<MutableCommand>>,
) -> ClResult<Ref<CommandBuffer>> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;
    // CL_INVALID_VALUE if num_queues is 0, or if queues is NULL
    ensure(num_queues != 0 && !queues.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if automatic is CL_FALSE and num_queues is not equal to the number of queues used on creation
    ensure(automatic != CL_FALSE || num_queues as usize == buffer.queues().len(), InvalidValue)?;
    // CL_INVALID_VALUE if handles or handles_ret is NULL and num_handles is > 0, or either is not NULL and num_handles is 0
    ensure(handles_ret.is_null() == (num_handles == 0), InvalidValue)?;
    let handles = handles.checked(num_handles, InvalidValue)?;
    // CL_INVALID_VALUE if any handle in handles is not a valid command handle belonging to command_buffer
    let handles = handles.map(|handle| {
        let handle = handle.get().map_err(|_| InvalidValue)?;
        let owner = handle.buffer().ok_or(InvalidValue)?;
        ensure(Ref::ptr_eq(&owner, &buffer), InvalidValue)?;
        Ok(handle)
    });
    let handles = handles.collect::<ClResult<Vec<_>>>()?;
    // CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT if all the command-queues in queues do not have the same context: see
    // `checked_queues`
    let queues = checked_queues(num_queues, queues)?;
    // CL_INVALID_CONTEXT if command_buffer and the command-queues do not have the same context
    ensure(Ref::ptr_eq(queues[0].context(), buffer.context()), InvalidContext)?;
    // CL_INVALID_OPERATION if the platform does not support the remapping: it does

    let copy = Object::create(buffer.emptied(queues));
    // By the address of the recorded launch: the new one, and its queue.
    let mut launches: FxHashMap<*const RecordedLaunch, (usize, Arc<RecordedLaunch>)> = FxHashMap::default();
    for command in buffer.commands() {
        // If the runtime may choose, commands of the same queue stay together.
        let queue = command.queue % copy.queues().len();
        let action = match &command.action {
            Action::Barrier => Action::Barrier,
            Action::Operation(operation) => Action::Operation(operation.clone()),
            Action::Launch(old) => {
                let prepared = old.prepared();
                // The errors of clCommandNDRangeKernelKHR about sizes, for the new device
                geometry::checked(&prepared.request, &demands(&copy.queues()[queue], &prepared.kernel))?;
                let prepared = PreparedLaunch { kernel: snapshot(&prepared.kernel)?, request: prepared.request };
                let new = RecordedLaunch::new(old.kernel.clone(), old.fields, old.properties.clone(), prepared);
                let new = Arc::new(new);
                launches.insert(Arc::as_ptr(old), (queue, new.clone()));
                Action::Launch(new)
            }
        };
        let recorded = Recorded { queue, waits: command.waits.clone(), action };
        copy.record(recorded).map_err(|_| InvalidOperation)?;
    }
    if buffer.state() != CL_COMMAND_BUFFER_STATE_RECORDING_KHR {
        copy.finalize();
    }
    let copied = handles.iter().filter_map(|handle| {
        let (queue, new) = launches.get(&Arc::as_ptr(handle.dispatch()))?;
        Some(handle_of(&copy, *queue, new.clone()).handle())
    });
    let copied: Vec<_> = copied.collect();
    handles_ret.fill(num_handles as usize, copied);
    Ok(copy)
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
        CL_COMMAND_BUFFER_NUM_QUEUES_KHR => info.value(buffer.queues().len() as cl_uint),
        CL_COMMAND_BUFFER_QUEUES_KHR => {
            let queues: Vec<Handle<Queue>> = buffer.queues().iter().map(|queue| queue.handle()).collect();
            info.slice(&queues)
        }
        CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR => info.value(buffer.reference_count()),
        CL_COMMAND_BUFFER_STATE_KHR => info.value(buffer.state()),
        CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR => info.slice(buffer.properties()),
        CL_COMMAND_BUFFER_CONTEXT_KHR => info.object(buffer.context()),
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
    let given = queues.checked(num_queues, InvalidValue)?;
    // CL_INVALID_VALUE if num_queues is > 0 and not the same value as num_queues set on command_buffer creation
    ensure(num_queues == 0 || num_queues as usize == buffer.queues().len(), InvalidValue)?;
    // CL_INVALID_COMMAND_QUEUE if any element of queues is not a valid command-queue
    let mut queues = given.map(|queue| queue.get()).collect::<ClResult<Vec<_>>>()?;
    if queues.is_empty() {
        queues = buffer.queues().to_vec();
    }
    for (queue, old) in queues.iter().zip(buffer.queues()) {
        // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
        queue.context().ensure_active()?;
        // CL_INCOMPATIBLE_COMMAND_QUEUE_KHR if the properties of any command-queue in queues contain one that is not supported
        ensure(queue.properties() & !caps::COMMAND_BUFFER_QUEUE_PROPERTIES == 0, IncompatibleCommandQueue)?;
        // CL_INVALID_DEVICE if any element of queues does not have the same device as the one set on command_buffer creation at
        // the same index
        ensure(Ref::ptr_eq(queue.device(), old.device()), InvalidDevice)?;
        // CL_INVALID_CONTEXT if any element of queues does not have the same context as the one at the same index
        ensure(Ref::ptr_eq(queue.context(), old.context()), InvalidContext)?;
    }
    // The event of the whole has times if any queue has profiling.
    let profiled = queues.iter().find(|queue| queue.properties() & CL_QUEUE_PROFILING_ENABLE != 0);
    let first = profiled.unwrap_or(&queues[0]);
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut whole = Submission::new(first, CL_COMMAND_COMMAND_BUFFER_KHR, wait)?.keep(&buffer);
    if queues.len() > 1 {
        whole = whole.of_several_queues();
    }

    // All commands are prepared before any is submitted, because the preparation may fail.
    let commands = buffer.commands();
    let works = commands.iter().map(|command| work(&queues[command.queue], command)).collect::<ClResult<Vec<_>>>()?;
    let in_order = |queue: &Ref<Queue>| queue.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
    // The last command of each queue that is in order, and the last barrier, which is one for all queues.
    let mut last: Vec<Option<graph::Event>> = vec![None; queues.len()];
    let mut events: Vec<graph::Event> = Vec::new();
    let mut barrier: Option<graph::Event> = None;
    // The latest command that waits for all earlier ones: who waits for it need not wait for those.
    let mut latest_of_all = 0;
    for (number, (command, (work, keep))) in commands.iter().zip(works).enumerate() {
        let is_barrier = matches!(command.action, Action::Barrier);
        let mut waits: WaitList = command.waits.iter().filter_map(|index| events.get(*index).cloned()).collect();
        if is_barrier && command.waits.is_empty() {
            waits.extend(events[latest_of_all..].iter().cloned());
            latest_of_all = number;
        }
        waits.extend(last[command.queue].clone());
        waits.extend(barrier.clone());
        if waits.is_empty() {
            waits.extend(whole.waits().iter().cloned());
        }
        let event = queues[command.queue].commands().submit(Command { waits, keep, ..Command::new(work) });
        if is_barrier {
            barrier = Some(event.clone());
        }
        if in_order(&buffer.queues()[command.queue]) {
            last[command.queue] = Some(event.clone());
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
        Action::Operation(operation) => Ok(operation.work()),
        Action::Launch(dispatch) => {
            let prepared = dispatch.prepared();
            let (launch, mut keep) = ready(queue, &prepared.kernel, &prepared.request)?;
            keep.push(prepared);
            Ok((Work::Launch(launch), keep))
        }
    }
}
