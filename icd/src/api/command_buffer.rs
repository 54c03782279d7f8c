//! Command buffers (`cl_khr_command_buffer`): creation, recording, enqueuing and queries. Changes of recorded kernels are in
//! [`super::mutable_dispatch`].
//!
//! A recording entry point makes the checks of the command it records (the same functions, in [`super::enqueue`]) and those of
//! recording. A buffer has one queue (`cl_khr_command_buffer_multi_device` is not supported).

use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::graph::{self, Command, KeepAlive, WaitList, Work};

use super::enqueue::fill::{Fill, checked_fill};
use super::enqueue::geometry::{self, Request};
use super::enqueue::image::{self, Change};
use super::enqueue::ndrange::{demands, ready, sizes};
use super::enqueue::pointer;
use super::enqueue::transfer::{Copy, Side, Triple, checked_copy, checked_copy_rect};
use super::enqueue::{Submission, checked_before};
use crate::caps;
use crate::error::ClError::{
    IncompatibleCommandQueue, InvalidCommandQueue, InvalidContext, InvalidDevice, InvalidKernelArgs, InvalidOperation,
    InvalidProgramExecutable, InvalidProperty, InvalidSyncPointWaitList, InvalidValue,
};
use crate::error::{ClResult, ensure};
use crate::ffi::entry::Wait;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, InArray, InBytes, Out, Properties, pairs};
use crate::object::buffer::Mem;
use crate::object::command_buffer::{
    Action, CommandBuffer, MutableCommand, PreparedLaunch, Recorded, RecordedLaunch, handle_of,
};
use crate::object::kernel::Kernel;
use crate::object::queue::Queue;

/// Receives the handle of a recorded command.
type HandleOut<'call> = Out<'call, Handle<MutableCommand>>;
/// A list of sync points and its length.
type SyncPoints<'call> = (cl_uint, InArray<'call, cl_sync_point_khr>);
/// The properties of a command to record.
type CommandProperties<'call> = Properties<'call, cl_command_properties_khr>;

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
    let queue = queues.iter(1).next().ok_or(InvalidValue)?.get()?;
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
        let event = queue.commands().submit(Command { work, waits, keep });
        if is_barrier {
            barrier = Some(event.clone());
        }
        events.push(event);
    }
    for event in events {
        whole = whole.after(event);
    }
    whole.nothing(false, |_| ())
}

/// The work of a recorded command, and the resources it needs.
fn work(queue: &Queue, command: &Arc<Recorded>) -> ClResult<(Work, KeepAlive)> {
    match &command.action {
        Action::Barrier => Ok((Work::Task(Box::new(|| Ok(()))), KeepAlive::new())),
        Action::Task(_, keep) => {
            let command = command.clone();
            let task = move || match &command.action {
                Action::Task(task, _) => task(),
                Action::Barrier | Action::Launch(_) => unreachable!("broken invariant: the command was a task"),
            };
            Ok((Work::Task(Box::new(task)), keep.clone()))
        }
        Action::Launch(dispatch) => {
            let prepared = dispatch.prepared();
            let (launch, mut keep) = ready(queue, &prepared.kernel, &prepared.request)?;
            keep.push(prepared);
            Ok((Work::Launch(launch), keep))
        }
    }
}

/// Checks common to all recording entry points except that of kernels; returns the buffer.
fn recording(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    handle: HandleOut<'_>,
) -> ClResult<Ref<CommandBuffer>> {
    let buffer = recordable(buffer, queue)?;
    // CL_INVALID_VALUE if values specified in properties are not valid: there are none
    ensure(pairs(&properties.verbatim()).next().is_none(), InvalidValue)?;
    // CL_INVALID_VALUE if mutable_handle is not NULL
    ensure(handle.is_null(), InvalidValue)?;
    Ok(buffer)
}

/// Checks common to all recording entry points.
fn recordable(buffer: Handle<CommandBuffer>, queue: Handle<Queue>) -> ClResult<Ref<CommandBuffer>> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;
    // CL_INVALID_COMMAND_QUEUE if command_queue is not NULL
    ensure(queue.is_null(), InvalidCommandQueue)?;
    // CL_INVALID_OPERATION if command_buffer has been finalized
    ensure(buffer.state() == CL_COMMAND_BUFFER_STATE_RECORDING_KHR, InvalidOperation)?;
    Ok(buffer)
}

/// Records a command.
fn record(
    buffer: &Ref<CommandBuffer>,
    (count, list): SyncPoints<'_>,
    point: Out<'_, cl_sync_point_khr>,
    action: Action,
) -> ClResult<()> {
    let recorded = buffer.len();
    let mut waits = Vec::new();
    // CL_INVALID_SYNC_POINT_WAIT_LIST_KHR if sync_point_wait_list is NULL and num_sync_points_in_wait_list is > 0, or the
    // other way round, or if synchronization-point objects in it are not valid
    for point in list.checked(count, InvalidSyncPointWaitList)? {
        let index = (point as usize).checked_sub(1).filter(|index| *index < recorded);
        waits.push(index.ok_or(InvalidSyncPointWaitList)?);
    }
    point.set(buffer.record(Recorded { waits, action }).map_err(|_| InvalidOperation)?);
    Ok(())
}

/// `clCommandBarrierWithWaitListKHR`
pub fn barrier(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    record(&buffer, (count, list), point, Action::Barrier)
}

/// `clCommandCopyBufferKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_buffer(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_offset: usize,
    size: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Copy { src, dst, source, target } = checked_copy(buffer.queue(), src, dst, src_offset, dst_offset, size)?;
    let keep = KeepAlive::from_iter([src as _, dst as _]);
    let task = Box::new(move || checked_before(target.copy_from(&source)));
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandCopyBufferRectKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_buffer_rect(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    src_row_pitch: usize,
    src_slice_pitch: usize,
    dst_row_pitch: usize,
    dst_slice_pitch: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let on_src: Side<'_> = (src_origin, src_row_pitch, src_slice_pitch);
    let on_dst: Side<'_> = (dst_origin, dst_row_pitch, dst_slice_pitch);
    let (Copy { src, dst, source, target }, rect) =
        checked_copy_rect(buffer.queue(), src, dst, on_src, on_dst, region)?;
    let keep = KeepAlive::from_iter([src as _, dst as _]);
    let task = Box::new(move || checked_before(target.copy_rect_from(&source, &rect)));
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandFillBufferKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn fill_buffer(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    mem: Handle<Mem>,
    pattern: InBytes<'_>,
    pattern_size: usize,
    offset: usize,
    size: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Fill { buffer: mem, target, pattern } =
        checked_fill(buffer.queue(), mem, (pattern, pattern_size), offset, size)?;
    let keep = KeepAlive::from_iter([mem as _]);
    let task = Box::new(move || checked_before(target.fill(&pattern)));
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandCopyImageKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_image(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Change { task, keep } = image::checked_copy(buffer.queue(), src, dst, src_origin, dst_origin, region)?;
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandCopyImageToBufferKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_image_to_buffer(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    region: Triple<'_>,
    dst_offset: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Change { task, keep } =
        image::checked_copy_to_buffer(buffer.queue(), src, dst, src_origin, region, dst_offset)?;
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandCopyBufferToImageKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_buffer_to_image(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Change { task, keep } =
        image::checked_copy_from_buffer(buffer.queue(), src, dst, src_offset, dst_origin, region)?;
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandFillImageKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn fill_image(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    mem: Handle<Mem>,
    colour: InBytes<'_>,
    origin: Triple<'_>,
    region: Triple<'_>,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let Change { task, keep } = image::checked_fill(buffer.queue(), mem, colour, origin, region)?;
    record(&buffer, (count, list), point, Action::Task(task, keep))
}

/// `clCommandSVMMemcpyKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn svm_copy(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    target: HostPtr,
    source: HostPtr,
    size: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let (target, source) = pointer::checked_copy(target, source, size)?;
    let task = Box::new(move || checked_before(target.copy_from(&source)));
    record(&buffer, (count, list), point, Action::Task(task, KeepAlive::new()))
}

/// `clCommandSVMMemFillKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn svm_fill(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    target: HostPtr,
    pattern: InBytes<'_>,
    pattern_size: usize,
    size: usize,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recording(buffer, queue, properties, handle)?;
    let (target, pattern) = pointer::checked_fill(target, (pattern, pattern_size), size)?;
    let task = Box::new(move || checked_before(target.fill(&pattern)));
    record(&buffer, (count, list), point, Action::Task(task, KeepAlive::new()))
}

/// `clCommandNDRangeKernelKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn nd_range_kernel(
    buffer: Handle<CommandBuffer>,
    queue: Handle<Queue>,
    properties: CommandProperties<'_>,
    kernel: Handle<Kernel>,
    work_dim: cl_uint,
    global_work_offset: InArray<'_, usize>,
    global_work_size: InArray<'_, usize>,
    local_work_size: InArray<'_, usize>,
    count: cl_uint,
    list: InArray<'_, cl_sync_point_khr>,
    point: Out<'_, cl_sync_point_khr>,
    handle: HandleOut<'_>,
) -> ClResult<()> {
    let buffer = recordable(buffer, queue)?;
    let list_of_properties = properties.verbatim();
    let (mut fields, mut asserts) = (caps::MUTABLE_DISPATCH_FIELDS, buffer.asserts());
    for (index, (name, value)) in pairs(&list_of_properties).enumerate() {
        // CL_INVALID_VALUE if values specified in properties are not valid
        ensure(!pairs(&list_of_properties).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        match name {
            CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR => {
                // CL_INVALID_OPERATION if the requested fields are not reported for the device: all there are, are
                ensure(value & !caps::MUTABLE_DISPATCH_FIELDS == 0, InvalidValue)?;
                fields = value;
            }
            CL_MUTABLE_DISPATCH_ASSERTS_KHR => {
                ensure(value & !CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR == 0, InvalidValue)?;
                asserts |= value;
            }
            _ => return Err(InvalidValue),
        }
    }
    // CL_INVALID_KERNEL if kernel is not a valid kernel
    let kernel = kernel.get()?;
    // CL_INVALID_CONTEXT if the context associated with command_buffer and kernel is not the same
    ensure(Ref::ptr_eq(buffer.queue().context(), kernel.program().context()), InvalidContext)?;
    // CL_INVALID_KERNEL_ARGS if the kernel argument values have not been specified and may not be set later
    let later = buffer.is_mutable() && fields & CL_MUTABLE_DISPATCH_ARGUMENTS_KHR != 0;
    ensure(later || kernel.has_all_args(), InvalidKernelArgs)?;
    let request = Request {
        dims: work_dim,
        offset: sizes(global_work_offset, work_dim),
        global: sizes(global_work_size, work_dim),
        local: sizes(local_work_size, work_dim),
    };
    // CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_GROUP_SIZE,
    // CL_INVALID_WORK_ITEM_SIZE: see `geometry`
    geometry::checked(&request, &demands(buffer.queue(), &kernel))?;
    // CL_INVALID_VALUE if CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR is asserted for the buffer or the command
    // and local_work_size is NULL
    let fixed = asserts & CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR != 0;
    ensure(!fixed || request.local.is_some(), InvalidValue)?;
    // CL_INVALID_OPERATION if the device does not support a printf or kernel-enqueue call in the kernel: it does, or the
    // kernel would not have been built

    let prepared = PreparedLaunch { kernel: snapshot(&kernel)?, request };
    let dispatch = Arc::new(RecordedLaunch::new(kernel, fields, list_of_properties, prepared));
    record(&buffer, (count, list), point, Action::Launch(dispatch.clone()))?;
    if !handle.is_null() {
        handle.set(handle_of(&buffer, dispatch).handle());
    }
    Ok(())
}

/// A copy of a kernel with its arguments, which later changes of the kernel do not affect.
///
/// # Errors
/// `CL_INVALID_PROGRAM_EXECUTABLE` if there is none any more.
pub(super) fn snapshot(kernel: &Kernel) -> ClResult<Kernel> {
    kernel.program().attach().ok_or(InvalidProgramExecutable)?;
    Ok(kernel.copy())
}
