//! Recording of commands into command buffers (`cl_khr_command_buffer`).
//!
//! A recorded command has the arguments of the `clEnqueue*` function of the same name, between those of recording, which the
//! entry stub collects in a [`Recording`]. So each function here names the checks of the command ([`super::enqueue`]) and
//! nothing else.

use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::geometry::{self, Request};

use super::enqueue::ndrange::{demands, sizes};
use super::enqueue::transfer::Triple;
use super::enqueue::{fill, image, pointer, transfer};
use crate::caps;
use crate::error::ClError::{
    InvalidCommandQueue, InvalidContext, InvalidKernelArgs, InvalidOperation, InvalidProgramExecutable,
    InvalidSyncPointWaitList, InvalidValue,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{HostPtr, InArray, InBytes, Out, Properties, pairs};
use crate::object::buffer::Mem;
use crate::object::command_buffer::{
    Action, CommandBuffer, MutableCommand, PreparedLaunch, Recorded, RecordedLaunch, handle_of,
};
use crate::object::kernel::Kernel;
use crate::object::operation::{Operation, Task};
use crate::object::queue::Queue;

/// The arguments that all functions which record a command have: the first three and the last four.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'call> {
    /// The command buffer.
    pub buffer: Handle<CommandBuffer>,
    /// One of the buffer's queues; NULL if there is only one.
    pub queue: Handle<Queue>,
    /// The properties of the command.
    pub properties: Properties<'call, cl_command_properties_khr>,
    /// Sync points in the list.
    pub count: cl_uint,
    /// The sync points to wait for.
    pub list: InArray<'call, cl_sync_point_khr>,
    /// Receives the command's sync point.
    pub point: Out<'call, cl_sync_point_khr>,
    /// Receives the handle of a kernel that may be changed.
    pub handle: Out<'call, Handle<MutableCommand>>,
}

/// Where a command is recorded: a buffer, and the index of the queue.
struct Place {
    buffer: Ref<CommandBuffer>,
    queue: usize,
}

impl Place {
    fn queue(&self) -> &Ref<Queue> {
        &self.buffer.queues()[self.queue]
    }
}

impl Recording<'_> {
    /// The rules of all recording functions that come first.
    fn place(&self) -> ClResult<Place> {
        // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
        let buffer = self.buffer.get()?;
        let queue = if self.queue.is_null() {
            // CL_INVALID_COMMAND_QUEUE if command_queue is NULL and command_buffer was created with more than one queue
            ensure(buffer.queues().len() == 1, InvalidCommandQueue)?;
            0
        } else {
            let queue = self.queue.get()?;
            // CL_INVALID_CONTEXT if the contexts associated with command_queue and command_buffer are not the same
            ensure(Ref::ptr_eq(queue.context(), buffer.context()), InvalidContext)?;
            // CL_INVALID_COMMAND_QUEUE if command_queue is not listed on command_buffer creation
            let listed = buffer.queues().iter().position(|listed| Ref::ptr_eq(listed, &queue));
            listed.ok_or(InvalidCommandQueue)?
        };
        // CL_INVALID_OPERATION if command_buffer has been finalized
        ensure(buffer.state() == CL_COMMAND_BUFFER_STATE_RECORDING_KHR, InvalidOperation)?;
        Ok(Place { buffer, queue })
    }

    /// The rules of commands other than kernels.
    fn immutable(&self) -> ClResult<Place> {
        let place = self.place()?;
        // CL_INVALID_VALUE if values specified in properties are not valid: there are none
        ensure(pairs(&self.properties.verbatim()).next().is_none(), InvalidValue)?;
        // CL_INVALID_VALUE if mutable_handle is not NULL
        ensure(self.handle.is_null(), InvalidValue)?;
        Ok(place)
    }

    /// Records a copy or fill, which `checked` makes with the rules of the command.
    fn operation<F: Task>(self, checked: impl FnOnce(&Ref<Queue>) -> ClResult<Operation<F>>) -> ClResult<()> {
        let place = self.immutable()?;
        let operation = checked(place.queue())?.recorded();
        self.record(&place, Action::Operation(Arc::new(operation)))
    }

    /// Records a command.
    fn record(&self, place: &Place, action: Action) -> ClResult<()> {
        let recorded = place.buffer.len();
        let mut waits = Vec::new();
        // CL_INVALID_SYNC_POINT_WAIT_LIST_KHR if sync_point_wait_list is NULL and num_sync_points_in_wait_list is > 0, or the
        // other way round, or if synchronization-point objects in it are not valid
        for point in self.list.checked(self.count, InvalidSyncPointWaitList)? {
            let index = (point as usize).checked_sub(1).filter(|index| *index < recorded);
            waits.push(index.ok_or(InvalidSyncPointWaitList)?);
        }
        let command = Recorded { queue: place.queue, waits, action };
        self.point.set(place.buffer.record(command).map_err(|_| InvalidOperation)?);
        Ok(())
    }
}

/// `clCommandBarrierWithWaitListKHR`
pub fn barrier(recording: Recording<'_>) -> ClResult<()> {
    let place = recording.immutable()?;
    recording.record(&place, Action::Barrier)
}

/// `clCommandCopyBufferKHR`
pub fn copy_buffer(
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_offset: usize,
    size: usize,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| transfer::checked_copy(queue, src, dst, src_offset, dst_offset, size))
}

/// `clCommandCopyBufferRectKHR`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_buffer_rect(
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    src_row_pitch: usize,
    src_slice_pitch: usize,
    dst_row_pitch: usize,
    dst_slice_pitch: usize,
    recording: Recording<'_>,
) -> ClResult<()> {
    let on_src = (src_origin, src_row_pitch, src_slice_pitch);
    let on_dst = (dst_origin, dst_row_pitch, dst_slice_pitch);
    recording.operation(|queue| transfer::checked_copy_rect(queue, src, dst, on_src, on_dst, region))
}

/// `clCommandFillBufferKHR`
pub fn fill_buffer(
    buffer: Handle<Mem>,
    pattern: InBytes<'_>,
    pattern_size: usize,
    offset: usize,
    size: usize,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| fill::checked_fill(queue, buffer, (pattern, pattern_size), offset, size))
}

/// `clCommandCopyImageKHR`
pub fn copy_image(
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| image::checked_copy(queue, src, dst, src_origin, dst_origin, region))
}

/// `clCommandCopyImageToBufferKHR`
pub fn copy_image_to_buffer(
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    region: Triple<'_>,
    dst_offset: usize,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| image::checked_copy_to_buffer(queue, src, dst, src_origin, region, dst_offset))
}

/// `clCommandCopyBufferToImageKHR`
pub fn copy_buffer_to_image(
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| image::checked_copy_from_buffer(queue, src, dst, src_offset, dst_origin, region))
}

/// `clCommandFillImageKHR`
pub fn fill_image(
    image: Handle<Mem>,
    colour: InBytes<'_>,
    origin: Triple<'_>,
    region: Triple<'_>,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|queue| image::checked_fill(queue, image, colour, origin, region))
}

/// `clCommandSVMMemcpyKHR`
pub fn svm_copy(target: HostPtr, source: HostPtr, size: usize, recording: Recording<'_>) -> ClResult<()> {
    recording.operation(|_| pointer::checked_copy(target, source, size))
}

/// `clCommandSVMMemFillKHR`
pub fn svm_fill(
    target: HostPtr,
    pattern: InBytes<'_>,
    pattern_size: usize,
    size: usize,
    recording: Recording<'_>,
) -> ClResult<()> {
    recording.operation(|_| pointer::checked_fill(target, (pattern, pattern_size), size))
}

/// `clCommandNDRangeKernelKHR`
pub fn nd_range_kernel(
    kernel: Handle<Kernel>,
    work_dim: cl_uint,
    global_work_offset: InArray<'_, usize>,
    global_work_size: InArray<'_, usize>,
    local_work_size: InArray<'_, usize>,
    recording: Recording<'_>,
) -> ClResult<()> {
    let place = recording.place()?;
    let buffer = &place.buffer;
    let list_of_properties = recording.properties.verbatim();
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
    ensure(Ref::ptr_eq(buffer.context(), kernel.program().context()), InvalidContext)?;
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
    geometry::checked(&request, &demands(place.queue(), &kernel))?;
    // CL_INVALID_VALUE if CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR is asserted for the buffer or the command
    // and local_work_size is NULL
    let fixed = asserts & CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR != 0;
    ensure(!fixed || request.local.is_some(), InvalidValue)?;
    // CL_INVALID_OPERATION if the device does not support a printf or kernel-enqueue call in the kernel: it does, or the
    // kernel would not have been built

    let prepared = PreparedLaunch { kernel: snapshot(&kernel)?, request };
    let dispatch = Arc::new(RecordedLaunch::new(kernel, fields, list_of_properties, prepared));
    recording.record(&place, Action::Launch(dispatch.clone()))?;
    if !recording.handle.is_null() {
        recording.handle.set(handle_of(buffer, place.queue, dispatch).handle());
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
