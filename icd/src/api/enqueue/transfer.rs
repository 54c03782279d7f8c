//! Reading, writing and copying buffers, in one piece or as rectangles.

use clift_include::cl::*;
use clift_runtime::graph::KeepAlive;
use clift_runtime::memory::{RectCopy, RectLayout};

use super::{Submission, Wait, buffer_of, region as part_of, same_context};
use crate::error::ClError::{InvalidOperation, InvalidValue, MemCopyOverlap};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{HostPtr, InArray};
use crate::object::buffer::Mem;
use crate::object::operation::{self, Operation, Task};
use crate::object::queue::Queue;

/// `clEnqueueReadBuffer`
pub fn read_buffer(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    blocking: cl_bool,
    offset: usize,
    size: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(&queue, buffer.context())?;
    // CL_INVALID_VALUE if the region being read specified by offset and size is out of bounds
    let source = part_of(&buffer, offset, size)?;
    // CL_INVALID_VALUE if ptr is NULL
    let target = ptr.slice(size).ok_or(InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_READ_BUFFER, wait)?;
    // CL_INVALID_OPERATION if called on a buffer created with CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS
    ensure(buffer.host_may_read(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    command.keep(&buffer).operation(blocking != CL_FALSE, operation::copy(target, source, KeepAlive::new()))
}

/// `clEnqueueWriteBuffer`
pub fn write_buffer(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    blocking: cl_bool,
    offset: usize,
    size: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(&queue, buffer.context())?;
    // CL_INVALID_VALUE if the region being written specified by offset and size is out of bounds
    let target = part_of(&buffer, offset, size)?;
    // CL_INVALID_VALUE if ptr is NULL
    let source = ptr.slice(size).ok_or(InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_WRITE_BUFFER, wait)?;
    // CL_INVALID_OPERATION if called on a buffer created with CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS or
    // CL_MEM_IMMUTABLE_EXT
    ensure(buffer.host_may_write(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    command.keep(&buffer).operation(blocking != CL_FALSE, operation::copy(target, source, KeepAlive::new()))
}

/// `clEnqueueCopyBuffer`
pub fn copy_buffer(
    queue: Handle<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_offset: usize,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let copy = checked_copy(&queue, src, dst, src_offset, dst_offset, size)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_COPY_BUFFER, wait)?.operation(false, copy)
}

/// The rules for a copy, except those for wait lists.
pub fn checked_copy(
    queue: &Ref<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_offset: usize,
    size: usize,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if src_buffer or dst_buffer is not a valid buffer object
    let (src, dst) = (buffer_of(src)?, buffer_of(dst)?);
    // CL_INVALID_CONTEXT if the contexts associated with command_queue, src_buffer and dst_buffer are not the same
    same_context(queue, src.context())?;
    same_context(queue, dst.context())?;
    // CL_INVALID_VALUE if the region specified by src_offset and size is out of bounds of src_buffer
    let source = part_of(&src, src_offset, size)?;
    // CL_INVALID_VALUE if the region specified by dst_offset and size is out of bounds of dst_buffer
    let target = part_of(&dst, dst_offset, size)?;
    // CL_INVALID_OPERATION if dst_buffer was created with CL_MEM_IMMUTABLE_EXT
    ensure(dst.is_mutable(), InvalidOperation)?;
    // CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and the source and
    // destination regions overlap, or if they are different sub-buffers of the same associated buffer object and they
    // overlap (a buffer and its own sub-buffer are treated alike)
    ensure(!(same_memory(&src, &dst) && source.overlaps(&target)), MemCopyOverlap)?;
    Ok(operation::copy(target, source, KeepAlive::from_iter([src as _, dst as _])))
}

/// Whether two memory objects are, or are parts of, the same buffer.
fn same_memory(a: &Ref<Mem>, b: &Ref<Mem>) -> bool {
    Ref::ptr_eq(a.parent().unwrap_or(a), b.parent().unwrap_or(b))
}

/// Origin or region of a rectangle as C passes it: bytes, rows, slices.
pub type Triple<'call> = InArray<'call, usize>;

/// The geometry of a rectangular transfer between two sides, each given by origin, row pitch and slice pitch.
///
/// # Errors
/// `CL_INVALID_VALUE` by these rules:
///
/// - if an origin or region is NULL;
/// - if any region array element is zero;
/// - if a row pitch is not equal to zero and is less than region\[0\];
/// - if a slice pitch is not equal to zero and is less than region\[1\] times the row pitch, or is not a multiple of the
///   row pitch;
/// - if the end of a region overflows (which is out of any bounds).
fn rect(
    region: Triple<'_>,
    (src_origin, src_row, src_slice): (Triple<'_>, usize, usize),
    (dst_origin, dst_row, dst_slice): (Triple<'_>, usize, usize),
) -> ClResult<RectCopy> {
    let region = region.array().ok_or(InvalidValue)?;
    let layout = |origin: Triple<'_>, row, slice| {
        let origin = origin.array().ok_or(InvalidValue)?;
        RectLayout::new(origin, region, row, slice).map_err(|_| InvalidValue)
    };
    let (src, dst) = (layout(src_origin, src_row, src_slice)?, layout(dst_origin, dst_row, dst_slice)?);
    Ok(RectCopy::new(region, src, dst))
}

/// `clEnqueueReadBufferRect`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn read_buffer_rect(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    blocking: cl_bool,
    buffer_origin: Triple<'_>,
    host_origin: Triple<'_>,
    region: Triple<'_>,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(&queue, buffer.context())?;
    // CL_INVALID_VALUE by the rules of `rect`
    let on_buffer = (buffer_origin, buffer_row_pitch, buffer_slice_pitch);
    let rect = rect(region, on_buffer, (host_origin, host_row_pitch, host_slice_pitch))?;
    // CL_INVALID_VALUE if the region being read specified by buffer_origin, region, buffer_row_pitch, and
    // buffer_slice_pitch is out of bounds
    ensure(rect.src.end() <= buffer.size(), InvalidValue)?;
    // CL_INVALID_VALUE if ptr is NULL
    let target = ptr.slice(rect.dst.end()).ok_or(InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_READ_BUFFER_RECT, wait)?;
    // CL_INVALID_OPERATION if called on a buffer created with CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS
    ensure(buffer.host_may_read(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    let source = buffer.bytes().clone();
    command.keep(&buffer).operation(blocking != CL_FALSE, operation::copy_rect(target, source, rect, KeepAlive::new()))
}

/// `clEnqueueWriteBufferRect`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn write_buffer_rect(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    blocking: cl_bool,
    buffer_origin: Triple<'_>,
    host_origin: Triple<'_>,
    region: Triple<'_>,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(&queue, buffer.context())?;
    // CL_INVALID_VALUE by the rules of `rect`
    let on_buffer = (buffer_origin, buffer_row_pitch, buffer_slice_pitch);
    let rect = rect(region, (host_origin, host_row_pitch, host_slice_pitch), on_buffer)?;
    // CL_INVALID_VALUE if the region being written specified by buffer_origin, region, buffer_row_pitch, and
    // buffer_slice_pitch is out of bounds
    ensure(rect.dst.end() <= buffer.size(), InvalidValue)?;
    // CL_INVALID_VALUE if ptr is NULL
    let source = ptr.slice(rect.src.end()).ok_or(InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_WRITE_BUFFER_RECT, wait)?;
    // CL_INVALID_OPERATION if called on a buffer created with CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS or
    // CL_MEM_IMMUTABLE_EXT
    ensure(buffer.host_may_write(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    let target = buffer.bytes().clone();
    command.keep(&buffer).operation(blocking != CL_FALSE, operation::copy_rect(target, source, rect, KeepAlive::new()))
}

/// `clEnqueueCopyBufferRect`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn copy_buffer_rect(
    queue: Handle<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    src_row_pitch: usize,
    src_slice_pitch: usize,
    dst_row_pitch: usize,
    dst_slice_pitch: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let on_src = (src_origin, src_row_pitch, src_slice_pitch);
    let on_dst = (dst_origin, dst_row_pitch, dst_slice_pitch);
    let copy = checked_copy_rect(&queue, src, dst, on_src, on_dst, region)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_COPY_BUFFER_RECT, wait)?.operation(false, copy)
}

/// One side of a rectangular copy: origin, row pitch and slice pitch.
pub type Side<'call> = (Triple<'call>, usize, usize);

/// The rules for a rectangular copy, except those for wait lists.
pub fn checked_copy_rect(
    queue: &Ref<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    on_src: Side<'_>,
    on_dst: Side<'_>,
    region: Triple<'_>,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if src_buffer or dst_buffer is not a valid buffer object
    let (src, dst) = (buffer_of(src)?, buffer_of(dst)?);
    // CL_INVALID_CONTEXT if the contexts associated with command_queue, src_buffer and dst_buffer are not the same
    same_context(queue, src.context())?;
    same_context(queue, dst.context())?;
    // CL_INVALID_VALUE by the rules of `rect`
    let rect = rect(region, on_src, on_dst)?;
    // CL_INVALID_VALUE if the region specified by src_origin, region, src_row_pitch, and src_slice_pitch is out of bounds
    // of src_buffer
    ensure(rect.src.end() <= src.size(), InvalidValue)?;
    // CL_INVALID_VALUE if the region specified by dst_origin, region, dst_row_pitch, and dst_slice_pitch is out of bounds
    // of dst_buffer
    ensure(rect.dst.end() <= dst.size(), InvalidValue)?;
    // CL_INVALID_VALUE if src_buffer and dst_buffer are the same buffer object and src_row_pitch is not equal to
    // dst_row_pitch, or src_slice_pitch is not equal to dst_slice_pitch
    if Ref::ptr_eq(&src, &dst) {
        ensure(rect.src.row_pitch() == rect.dst.row_pitch(), InvalidValue)?;
        ensure(rect.src.slice_pitch() == rect.dst.slice_pitch(), InvalidValue)?;
    }
    // CL_INVALID_OPERATION if dst_buffer was created with CL_MEM_IMMUTABLE_EXT
    ensure(dst.is_mutable(), InvalidOperation)?;
    // CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and the source and
    // destination regions overlap, or if they are different sub-buffers of the same associated buffer object and they
    // overlap (a buffer and its own sub-buffer are treated alike)
    ensure(!(same_memory(&src, &dst) && rects_overlap(&rect, &src, &dst)), MemCopyOverlap)?;

    let (source, target) = (src.bytes().clone(), dst.bytes().clone());
    Ok(operation::copy_rect(target, source, rect, KeepAlive::from_iter([src as _, dst as _])))
}

/// Whether source and destination of a copy within one buffer overlap.
fn rects_overlap(rect: &RectCopy, src: &Ref<Mem>, dst: &Ref<Mem>) -> bool {
    if rect.src.row_pitch() == rect.dst.row_pitch() && rect.src.slice_pitch() == rect.dst.slice_pitch() {
        return rect.overlaps(src.origin(), dst.origin());
    }
    // The specification's method assumes equal pitches. Otherwise, the ranges from first to last byte are compared.
    let (src_start, src_end) = (src.origin() + rect.src.start(), src.origin() + rect.src.end());
    let (dst_start, dst_end) = (dst.origin() + rect.dst.start(), dst.origin() + rect.dst.end());
    src_start < dst_end && dst_start < src_end
}
