//! Commands on images: read, write, copy (also from and to buffers), fill, map.

use clift_include::cl::*;
use clift_runtime::graph::KeepAlive;
use clift_runtime::image::encode;
use clift_runtime::memory::{MemSlice, RectCopy, RectLayout};

use super::map::{check_access, mapped};
use super::{Submission, Wait, buffer_of, region as part_of, same_context};
use crate::error::ClError::{
    ImageFormatMismatch, InvalidMemObject, InvalidMipLevel, InvalidOperation, InvalidValue, MemCopyOverlap,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{HostPtr, InArray, InBytes, Out};
use crate::object::buffer::Mem;
use crate::object::image::{Image, MipLevel};
use crate::object::mapping::Region;
use crate::object::operation::{self, Operation, Task};
use crate::object::queue::Queue;

/// Origin or region as C passes it, in elements.
type Triple<'call> = InArray<'call, usize>;

/// A part of an image, in one of its levels.
struct Part {
    level: MipLevel,
    /// The memory of the level.
    bytes: MemSlice,
    /// Its extent in (bytes, rows, slices).
    extent: [usize; 3],
    /// Its location in the level.
    place: RectLayout,
}

/// A memory object that is an image.
///
/// # Errors
/// `CL_INVALID_MEM_OBJECT` if it is not a valid image object.
fn image_of(handle: Handle<Mem>) -> ClResult<Ref<Mem>> {
    let mem = handle.get()?;
    ensure(mem.as_image().is_some(), InvalidMemObject)?;
    Ok(mem)
}

fn as_image(mem: &Mem) -> &Image {
    mem.as_image().unwrap_or_else(|| unreachable!("broken invariant: it was found to be an image"))
}

/// The part of an image with this origin and region.
///
/// # Errors
/// `CL_INVALID_VALUE` if origin or region is NULL, if the region is out of bounds or empty, or if values for dimensions that the
/// image does not have are not 0 and 1. `CL_INVALID_MIP_LEVEL` if a mipmapped image does not have the level that origin names.
fn part(mem: &Mem, origin: Triple<'_>, region: Triple<'_>) -> ClResult<Part> {
    let image = as_image(mem);
    let (mut start, region) = (origin.array().ok_or(InvalidValue)?, region.array().ok_or(InvalidValue)?);
    let level = if image.is_mipmapped() {
        let at = image.kind().level_coordinate();
        let number = match start.get_mut(at) {
            Some(number) => std::mem::take(number),
            // Then the origin has one more component than for images without levels.
            None => origin.array::<4>().ok_or(InvalidValue)?[at],
        };
        image.levels().get(number).ok_or(InvalidMipLevel)?
    } else {
        image.base()
    };
    let (origin, extent) = image.region(level, start, region).ok_or(InvalidValue)?;
    let place = RectLayout::new(origin, extent, level.row_pitch, level.slice_pitch).map_err(|_| InvalidValue)?;
    let rest = mem.bytes().len().saturating_sub(level.offset);
    let bytes = mem.bytes().part(level.offset, rest.min(level.bytes())).map_err(|_| InvalidValue)?;
    Ok(Part { level: *level, bytes, extent, place })
}

/// The layout of the application's memory for a part of an image.
///
/// # Errors
/// `CL_INVALID_VALUE` if a pitch is not 0 and less than a row or slice, or a slice pitch is given where there are no slices.
fn host_layout(image: &Image, extent: [usize; 3], row_pitch: usize, slice_pitch: usize) -> ClResult<RectLayout> {
    ensure(image.kind().has_slices() || slice_pitch == 0, InvalidValue)?;
    RectLayout::with_any_pitches([0; 3], extent, row_pitch, slice_pitch).map_err(|_| InvalidValue)
}

/// What reading and writing have in common: a part of an image, and the application's memory.
struct Transfer {
    queue: Ref<Queue>,
    mem: Ref<Mem>,
    part: Part,
    /// The layout of the application's memory.
    outside: RectLayout,
    memory: MemSlice,
}

impl Transfer {
    /// The rules of both commands, except those for wait lists.
    fn new(
        queue: Handle<Queue>,
        image: Handle<Mem>,
        (origin, region): (Triple<'_>, Triple<'_>),
        (row_pitch, slice_pitch): (usize, usize),
        ptr: HostPtr,
    ) -> ClResult<Self> {
        // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
        let queue = queue.active()?;
        // CL_INVALID_MEM_OBJECT if image is not a valid image object
        let mem = image_of(image)?;
        let image = as_image(&mem);
        // CL_INVALID_CONTEXT if the context associated with command_queue and image are not the same
        same_context(&queue, mem.context())?;
        // CL_INVALID_VALUE: see `part` and `host_layout`
        let part = part(&mem, origin, region)?;
        let outside = host_layout(image, part.extent, row_pitch, slice_pitch)?;
        // CL_INVALID_VALUE if ptr is NULL
        let memory = ptr.slice(outside.end()).ok_or(InvalidValue)?;
        Ok(Self { queue, mem, part, outside, memory })
    }
}

/// `clEnqueueReadImage`
#[allow(clippy::too_many_arguments, reason = "as many as the entry point has")]
pub fn read(
    queue: Handle<Queue>,
    image: Handle<Mem>,
    blocking: cl_bool,
    origin: Triple<'_>,
    region: Triple<'_>,
    row_pitch: usize,
    slice_pitch: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    let transfer = Transfer::new(queue, image, (origin, region), (row_pitch, slice_pitch), ptr)?;
    let Transfer { queue, mem, part, outside, memory } = transfer;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_READ_IMAGE, wait)?;
    // CL_INVALID_OPERATION if called on an image created with CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS
    ensure(mem.host_may_read(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    let (source, rect) = (part.bytes, RectCopy::new(part.extent, part.place, outside));
    command.keep(&mem).operation(blocking != CL_FALSE, operation::copy_rect(memory, source, rect, KeepAlive::new()))
}

/// `clEnqueueWriteImage`
#[allow(clippy::too_many_arguments, reason = "as many as the entry point has")]
pub fn write(
    queue: Handle<Queue>,
    image: Handle<Mem>,
    blocking: cl_bool,
    origin: Triple<'_>,
    region: Triple<'_>,
    row_pitch: usize,
    slice_pitch: usize,
    ptr: HostPtr,
    wait: Wait<'_>,
) -> ClResult<()> {
    let transfer = Transfer::new(queue, image, (origin, region), (row_pitch, slice_pitch), ptr)?;
    let Transfer { queue, mem, part, outside, memory } = transfer;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_WRITE_IMAGE, wait)?;
    // CL_INVALID_OPERATION if called on an image created with CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS or
    // CL_MEM_IMMUTABLE_EXT
    ensure(mem.host_may_write(), InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    let (target, rect) = (part.bytes, RectCopy::new(part.extent, outside, part.place));
    command.keep(&mem).operation(blocking != CL_FALSE, operation::copy_rect(target, memory, rect, KeepAlive::new()))
}

/// `clEnqueueCopyImage`
pub fn copy(
    queue: Handle<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let copy = checked_copy(&queue, src, dst, src_origin, dst_origin, region)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_COPY_IMAGE, wait)?.operation(false, copy)
}

/// The rules for a copy between images, except those for wait lists.
pub fn checked_copy(
    queue: &Ref<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if src_image or dst_image is not a valid image object
    let (src, dst) = (image_of(src)?, image_of(dst)?);
    let (from, to) = (as_image(&src), as_image(&dst));
    // CL_INVALID_CONTEXT if the contexts associated with command_queue, src_image and dst_image are not the same
    same_context(queue, src.context())?;
    same_context(queue, dst.context())?;
    // CL_IMAGE_FORMAT_MISMATCH if src_image and dst_image do not use the same image format
    ensure(from.format() == to.format(), ImageFormatMismatch)?;
    // CL_INVALID_VALUE: see `part`
    let (source, target) = (part(&src, src_origin, region)?, part(&dst, dst_origin, region)?);
    // Between a row of images and a plane the shapes of the regions differ: rows of one are slices of the other.
    let [width, rows, slices] = source.extent;
    let rect = if target.extent == source.extent {
        RectCopy::new(source.extent, source.place, target.place)
    } else {
        let extent = [width, rows * slices, 1];
        RectCopy::new(extent, as_rows(&source)?, as_rows(&target)?)
    };
    // CL_INVALID_OPERATION if dst_image was created with CL_MEM_IMMUTABLE_EXT
    ensure(dst.is_mutable(), InvalidOperation)?;
    // CL_MEM_COPY_OVERLAP if src_image and dst_image are the same image object and the source and destination regions overlap
    let same = source.bytes.overlaps(&target.bytes) && source.bytes.as_ptr() == target.bytes.as_ptr();
    ensure(!(same && rect.overlaps(0, 0)), MemCopyOverlap)?;

    Ok(operation::copy_rect(target.bytes, source.bytes, rect, KeepAlive::from_iter([src as _, dst as _])))
}

/// The layout of a part in which slices of one row each count as rows.
fn as_rows(part: &Part) -> ClResult<RectLayout> {
    let [width, rows, slices] = part.extent;
    let pitch = if slices > 1 { part.level.slice_pitch } else { part.level.row_pitch };
    let start = part.place.start();
    RectLayout::new([start % pitch, start / pitch, 0], [width, rows * slices, 1], pitch, 0).map_err(|_| InvalidValue)
}

/// `clEnqueueCopyImageToBuffer`
pub fn copy_to_buffer(
    queue: Handle<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    region: Triple<'_>,
    dst_offset: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let copy = checked_copy_to_buffer(&queue, src, dst, src_origin, region, dst_offset)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, wait)?.operation(false, copy)
}

/// The rules for a copy from an image to a buffer, except those for wait lists.
pub fn checked_copy_to_buffer(
    queue: &Ref<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_origin: Triple<'_>,
    region: Triple<'_>,
    dst_offset: usize,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if src_image is not a valid image object or dst_buffer is not a valid buffer object, or if
    // src_image is a 1D image buffer object created from dst_buffer
    let (src, dst) = (image_of(src)?, buffer_of(dst)?);
    ensure(!src.parent().is_some_and(|buffer| Ref::ptr_eq(buffer, &dst)), InvalidMemObject)?;
    // CL_INVALID_CONTEXT if the contexts associated with command_queue, src_image and dst_buffer are not the same
    same_context(queue, src.context())?;
    same_context(queue, dst.context())?;
    // CL_INVALID_VALUE: see `part`; if the region specified by dst_offset and its size is out of bounds of dst_buffer
    let part = part(&src, src_origin, region)?;
    let tight = RectLayout::new([0; 3], part.extent, 0, 0).map_err(|_| InvalidValue)?;
    let target = part_of(&dst, dst_offset, tight.end())?;
    // CL_INVALID_OPERATION if dst_buffer was created with CL_MEM_IMMUTABLE_EXT
    ensure(dst.is_mutable(), InvalidOperation)?;

    let (source, rect) = (part.bytes, RectCopy::new(part.extent, part.place, tight));
    Ok(operation::copy_rect(target, source, rect, KeepAlive::from_iter([src as _, dst as _])))
}

/// `clEnqueueCopyBufferToImage`
pub fn copy_from_buffer(
    queue: Handle<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let copy = checked_copy_from_buffer(&queue, src, dst, src_offset, dst_origin, region)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, wait)?.operation(false, copy)
}

/// The rules for a copy from a buffer to an image, except those for wait lists.
pub fn checked_copy_from_buffer(
    queue: &Ref<Queue>,
    src: Handle<Mem>,
    dst: Handle<Mem>,
    src_offset: usize,
    dst_origin: Triple<'_>,
    region: Triple<'_>,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if src_buffer is not a valid buffer object or dst_image is not a valid image object, or if
    // dst_image is a 1D image buffer object created from src_buffer
    let (src, dst) = (buffer_of(src)?, image_of(dst)?);
    ensure(!dst.parent().is_some_and(|buffer| Ref::ptr_eq(buffer, &src)), InvalidMemObject)?;
    // CL_INVALID_CONTEXT if the contexts associated with command_queue, src_buffer and dst_image are not the same
    same_context(queue, src.context())?;
    same_context(queue, dst.context())?;
    // CL_INVALID_VALUE: see `part`; if the region specified by src_offset and its size is out of bounds of src_buffer
    let part = part(&dst, dst_origin, region)?;
    let tight = RectLayout::new([0; 3], part.extent, 0, 0).map_err(|_| InvalidValue)?;
    let source = part_of(&src, src_offset, tight.end())?;
    // CL_INVALID_OPERATION if dst_image was created with CL_MEM_IMMUTABLE_EXT
    ensure(dst.is_mutable(), InvalidOperation)?;

    let (target, rect) = (part.bytes, RectCopy::new(part.extent, tight, part.place));
    Ok(operation::copy_rect(target, source, rect, KeepAlive::from_iter([src as _, dst as _])))
}

/// `clEnqueueFillImage`
pub fn fill(
    queue: Handle<Queue>,
    image: Handle<Mem>,
    colour: InBytes<'_>,
    origin: Triple<'_>,
    region: Triple<'_>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let fill = checked_fill(&queue, image, colour, origin, region)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_FILL_IMAGE, wait)?.operation(false, fill)
}

/// The rules for filling an image, except those for wait lists.
pub fn checked_fill(
    queue: &Ref<Queue>,
    image: Handle<Mem>,
    colour: InBytes<'_>,
    origin: Triple<'_>,
    region: Triple<'_>,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if image is not a valid image object
    let mem = image_of(image)?;
    let image = as_image(&mem);
    // CL_INVALID_CONTEXT if the context associated with command_queue and image are not the same
    same_context(queue, mem.context())?;
    // CL_INVALID_VALUE if fill_color is NULL: a single float for depth, else four floats or integers
    let colour = if image.format().order == CL_DEPTH {
        [colour.read::<u32>().ok_or(InvalidValue)?; 4]
    } else {
        colour.read::<[u32; 4]>().ok_or(InvalidValue)?
    };
    // CL_INVALID_VALUE: see `part`
    let part = part(&mem, origin, region)?;
    // CL_INVALID_OPERATION if image was created with CL_MEM_IMMUTABLE_EXT
    ensure(mem.is_mutable(), InvalidOperation)?;

    let element = encode(image.layout(), colour);
    Ok(operation::fill_rect(part.bytes, element, (part.place, part.extent), KeepAlive::from_iter([mem as _])))
}

/// `clEnqueueMapImage`
#[allow(clippy::too_many_arguments, reason = "as many as the entry point has")]
pub fn map(
    queue: Handle<Queue>,
    image: Handle<Mem>,
    blocking: cl_bool,
    flags: cl_map_flags,
    origin: Triple<'_>,
    region: Triple<'_>,
    row_pitch: Out<usize>,
    slice_pitch: Out<usize>,
    wait: Wait<'_>,
) -> ClResult<HostPtr> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if image is not a valid image object
    let mem = image_of(image)?;
    let image = as_image(&mem);
    // CL_INVALID_CONTEXT if context associated with command_queue and image are not the same
    same_context(&queue, mem.context())?;
    // CL_INVALID_VALUE: see `part`
    let part = part(&mem, origin, region)?;
    // CL_INVALID_OPERATION if the host may not read or write it so: see `check_access` (before what is only about the results,
    // as the conformance tests have it)
    check_access(&mem, flags)?;
    // CL_INVALID_VALUE if image_row_pitch is NULL
    ensure(!row_pitch.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if image is a 3D image, 1D or 2D image array object and image_slice_pitch is NULL
    ensure(!image.kind().has_slices() || !slice_pitch.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE, CL_INVALID_OPERATION and the rest: see `mapped`
    let region = Region {
        start: part.level.offset + part.place.start(),
        extent: part.extent,
        pitches: [part.place.row_pitch(), part.place.slice_pitch()],
    };
    let pointer = mapped(&queue, &mem, CL_COMMAND_MAP_IMAGE, flags, region, blocking, wait)?;

    row_pitch.set(part.level.row_pitch);
    slice_pitch.set(image.slice_pitch(&part.level));
    Ok(pointer)
}
