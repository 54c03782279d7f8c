//! Creation of images: the rules for descriptors, and the memory layout.

use std::sync::Arc;

use clift_include::cl::*;
use clift_include::image::{Format, Layout, MAX_2D, MAX_3D, MAX_BUFFER, MAX_LAYERS, MAX_LEVELS};
use clift_runtime::memory::{HostBuffer, MemSlice};

use super::super::buffer::{HOST_ACCESS, KERNEL_ACCESS, STORAGE, check_flags, check_view};
use super::super::external_memory::{self, Given, Import};
use super::{is_supported, is_valid};
use crate::caps;
use crate::error::ClError::{
    ImageFormatNotSupported, InvalidHostPtr, InvalidImageDescriptor, InvalidImageFormatDescriptor, InvalidImageSize,
    InvalidProperty, InvalidValue, MemObjectAllocationFailure,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::pointer::{HostPtr, ImageDesc, In, Properties};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::image::{Image, ImageSize, ImageType, MipLevel};

/// Alignment of the memory of images in bytes: that of the widest vector access.
const ALIGN: usize = 64;

/// Channel orders that an image created from another image may have: that of the new one, that of the old one.
const VIEWS: [(cl_channel_order, cl_channel_order); 7] = [
    (CL_sBGRA, CL_BGRA),
    (CL_BGRA, CL_sBGRA),
    (CL_sRGBA, CL_RGBA),
    (CL_RGBA, CL_sRGBA),
    (CL_sRGBx, CL_RGBx),
    (CL_RGBx, CL_sRGBx),
    (CL_DEPTH, CL_R),
];

/// `clCreateImage`
pub fn create(
    context: Handle<Context>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: In<ImageDesc<Mem>>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    create_checked(context, Given::NOTHING, flags, format, desc.get(), host_ptr)
}

/// `clCreateImageWithProperties`
pub fn create_with_properties(
    context: Handle<Context>,
    properties: Properties<cl_mem_properties>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: In<ImageDesc<Mem>>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    // CL_INVALID_PROPERTY, CL_INVALID_DEVICE: see `checked_properties`
    let given = checked_properties(&context.active()?, properties)?;

    create_checked(context, given, flags, format, desc.get(), host_ptr)
}

/// `clCreateImage2D` (deprecated in 1.2)
pub fn create_2d(
    context: Handle<Context>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    width: usize,
    height: usize,
    row_pitch: usize,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    let desc = ImageDesc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: width,
        image_height: height,
        image_row_pitch: row_pitch,
        ..ImageDesc::EMPTY
    };
    // CL_INVALID_IMAGE_SIZE also if values specified by image_row_pitch do not follow the rules
    let made = create_checked(context, Given::NOTHING, flags, format, Some(desc), host_ptr);
    made.map_err(|error| if error == InvalidImageDescriptor { InvalidImageSize } else { error })
}

/// `clCreateImage3D` (deprecated in 1.2)
#[allow(clippy::too_many_arguments, reason = "as many as the entry point has")]
pub fn create_3d(
    context: Handle<Context>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    width: usize,
    height: usize,
    depth: usize,
    row_pitch: usize,
    slice_pitch: usize,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_IMAGE_SIZE if image_depth is not above 1
    ensure(depth > 1, InvalidImageSize)?;
    let desc = ImageDesc {
        image_type: CL_MEM_OBJECT_IMAGE3D,
        image_width: width,
        image_height: height,
        image_depth: depth,
        image_row_pitch: row_pitch,
        image_slice_pitch: slice_pitch,
        ..ImageDesc::EMPTY
    };
    // CL_INVALID_IMAGE_SIZE also if values specified by the pitches do not follow the rules
    let made = create_checked(context, Given::NOTHING, flags, format, Some(desc), host_ptr);
    made.map_err(|error| if error == InvalidImageDescriptor { InvalidImageSize } else { error })
}

fn create_checked(
    context: Handle<Context>,
    given: Given,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: Option<ImageDesc<Mem>>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if values specified in flags are not valid
    check_flags(flags)?;
    // CL_INVALID_VALUE if properties includes an external memory handle and flags includes CL_MEM_USE_HOST_PTR,
    // CL_MEM_ALLOC_HOST_PTR, or CL_MEM_COPY_HOST_PTR
    let Given { list: properties, external, .. } = given;
    ensure(external.is_none() || flags & STORAGE == 0, InvalidValue)?;
    // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if values specified in image_format are not valid or if image_format is NULL
    let format = format.get().ok_or(InvalidImageFormatDescriptor)?;
    let format = checked_format(format)?;
    // CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid or if image_desc is NULL
    let desc = desc.ok_or(InvalidImageDescriptor)?;
    let kind = ImageType::of(desc.image_type).ok_or(InvalidImageDescriptor)?;
    ensure(desc.num_samples == 0, InvalidImageDescriptor)?;
    // CL_INVALID_IMAGE_SIZE if image dimensions specified in image_desc exceed the maximum image dimensions
    let size = size(&desc, kind)?;
    // CL_INVALID_IMAGE_DESCRIPTOR: see `level_count`
    let level_count = level_count(&desc, kind)?;
    // CL_IMAGE_FORMAT_NOT_SUPPORTED if there are no devices in context that support image_format
    ensure(is_supported(format, kind), ImageFormatNotSupported)?;
    let layout = format.layout().ok_or(ImageFormatNotSupported)?;
    ensure(layout.group.is_none() || flags & CL_MEM_WRITE_ONLY == 0 && level_count == 1, ImageFormatNotSupported)?;
    // CL_INVALID_IMAGE_DESCRIPTOR if the width is not a multiple of the elements that share bytes
    ensure(size.width.is_multiple_of(layout.granule().elements as usize), InvalidImageDescriptor)?;
    // CL_INVALID_VALUE if CL_MEM_IMMUTABLE_EXT is set in flags and the image gets its content from nowhere
    let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    let filled = from_host || !desc.mem_object.is_null() || external.is_some();
    ensure(flags & CL_MEM_IMMUTABLE_EXT == 0 || filled, InvalidValue)?;

    let made = Making { context, properties, flags, kind, format, layout, size, level_count, desc };
    if let Some(import) = external {
        made.of_file(import, host_ptr)
    } else if desc.mem_object.is_null() {
        // Images of this type are created from buffers
        ensure(kind != ImageType::D1Buffer, InvalidImageDescriptor)?;
        made.alone(host_ptr)
    } else {
        made.of_other(host_ptr)
    }
}

/// The properties of an image.
///
/// # Errors
/// Those of [`external_memory::given`]; `CL_INVALID_PROPERTY` for a property that only buffers have.
pub(super) fn checked_properties(
    context: &Ref<Context>,
    properties: Properties<'_, cl_mem_properties>,
) -> ClResult<Given> {
    let given = external_memory::given(context, properties)?;
    ensure(!given.addressed, InvalidProperty)?;
    Ok(given)
}

/// A valid format.
///
/// # Errors
/// `CL_INVALID_IMAGE_FORMAT_DESCRIPTOR` if order and data type are invalid or cannot be combined.
pub(super) fn checked_format(format: cl_image_format) -> ClResult<Format> {
    let format = Format { order: format.image_channel_order, data_type: format.image_channel_data_type };
    ensure(is_valid(format), InvalidImageFormatDescriptor)?;
    Ok(format)
}

/// The maximum size of a type of image.
pub(super) fn largest(kind: ImageType) -> ImageSize {
    let [flat, volume, layers] = [MAX_2D, MAX_3D, MAX_LAYERS].map(|max| max as usize);
    let (width, height, depth) = match kind {
        ImageType::D1Buffer => (MAX_BUFFER as usize, 1, 1),
        ImageType::D1 | ImageType::D1Array => (flat, 1, 1),
        ImageType::D2 | ImageType::D2Array => (flat, flat, 1),
        ImageType::D3 => (volume, volume, volume),
    };
    ImageSize { width, height, depth, layers: if kind.is_array() { layers } else { 1 } }
}

/// The size, within the limits of the type.
///
/// # Errors
/// `CL_INVALID_IMAGE_SIZE` if a dimension that the type has is 0 or exceeds its limit.
pub(super) fn size(desc: &ImageDesc<Mem>, kind: ImageType) -> ClResult<ImageSize> {
    let max = largest(kind);
    let bounded = |size: usize, max: usize| if (1..=max).contains(&size) { Ok(size) } else { Err(InvalidImageSize) };
    Ok(ImageSize {
        width: bounded(desc.image_width, max.width)?,
        height: if kind.has_height() { bounded(desc.image_height, max.height)? } else { 1 },
        depth: if kind == ImageType::D3 { bounded(desc.image_depth, max.depth)? } else { 1 },
        layers: if kind.is_array() { bounded(desc.image_array_size, max.layers)? } else { 1 },
    })
}

/// Number of levels of the image. There may be more levels than the size can be halved; the additional ones have one element.
///
/// # Errors
/// `CL_INVALID_IMAGE_DESCRIPTOR` if the number exceeds the maximum, or exceeds one for an image created from a buffer or in other
/// memory. Depth images may have levels: the specification says that they cannot, but OpenCL C has functions for them and the
/// conformance tests require them.
pub(super) fn level_count(desc: &ImageDesc<Mem>, kind: ImageType) -> ClResult<usize> {
    let count = desc.num_mip_levels.max(1) as usize;
    ensure(count <= MAX_LEVELS, InvalidImageDescriptor)?;
    let alone = kind != ImageType::D1Buffer && desc.mem_object.is_null();
    ensure(count == 1 || alone, InvalidImageDescriptor)?;
    Ok(count)
}

/// The only level of an image with these pitches; 0 means contiguous.
///
/// # Errors
/// `CL_INVALID_IMAGE_DESCRIPTOR` if a row pitch is less than a row or not a multiple of the element size (if each has bytes of
/// its own), or a slice pitch is less than a slice or not a multiple of the row pitch. `CL_INVALID_IMAGE_SIZE` if the size
/// exceeds the address space.
pub(super) fn single_level(
    kind: ImageType,
    layout: &Layout,
    size: ImageSize,
    row: usize,
    slice: usize,
) -> ClResult<MipLevel> {
    let tight = layout.row_bytes(size.width);
    let row_pitch = if row == 0 { tight } else { row };
    ensure(row_pitch >= tight && row_pitch.is_multiple_of(layout.alignment()), InvalidImageDescriptor)?;
    let tight = row_pitch.checked_mul(size.height).ok_or(InvalidImageDescriptor)?;
    let slice_pitch = if slice == 0 || !kind.has_slices() { tight } else { slice };
    ensure(slice_pitch >= tight && slice_pitch.is_multiple_of(row_pitch), InvalidImageDescriptor)?;
    slice_pitch.checked_mul(size.depth * size.layers).ok_or(InvalidImageSize)?;
    Ok(MipLevel { size, row_pitch, slice_pitch, offset: 0 })
}

/// Size in bytes of an image with one level, without the padding of its last row.
fn used_bytes(layout: &Layout, level: &MipLevel) -> usize {
    let ImageSize { width, height, depth, layers } = level.size;
    (depth * layers - 1) * level.slice_pitch + (height - 1) * level.row_pitch + layout.row_bytes(width)
}

/// An image whose format and size have been checked.
struct Making {
    context: Ref<Context>,
    properties: Vec<cl_mem_properties>,
    flags: cl_mem_flags,
    kind: ImageType,
    format: Format,
    layout: Layout,
    size: ImageSize,
    level_count: usize,
    desc: ImageDesc<Mem>,
}

impl Making {
    /// An image in the memory of a file descriptor, with linear layout.
    fn of_file(self, import: Import, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
        let desc = self.desc;
        // CL_INVALID_HOST_PTR if properties includes a supported external memory handle and host_ptr is not NULL
        ensure(host_ptr.is_null(), InvalidHostPtr)?;
        // CL_INVALID_IMAGE_DESCRIPTOR if the memory is another object's, too, or holds more than one level
        ensure(desc.mem_object.is_null() && self.level_count == 1, InvalidImageDescriptor)?;
        ensure(self.kind != ImageType::D1Buffer, InvalidImageDescriptor)?;
        let level = single_level(self.kind, &self.layout, self.size, desc.image_row_pitch, desc.image_slice_pitch)?;
        // CL_INVALID_PROPERTY, CL_MEM_OBJECT_ALLOCATION_FAILURE: see `Import::open`
        let external = import.open(used_bytes(&self.layout, &level))?;
        let bytes = external.memory.slice();
        Ok(Object::create(self.finish(vec![level], bytes, HostPtr::NULL, None).with_external(external)))
    }

    /// An image with its own memory, or that of the application.
    fn alone(self, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
        let (desc, flags) = (self.desc, self.flags);
        // CL_INVALID_IMAGE_DESCRIPTOR: the pitches must be 0 if host_ptr is NULL
        ensure(
            !host_ptr.is_null() || desc.image_row_pitch == 0 && desc.image_slice_pitch == 0,
            InvalidImageDescriptor,
        )?;
        let level = single_level(self.kind, &self.layout, self.size, desc.image_row_pitch, desc.image_slice_pitch)?;
        // CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are set in flags, or if
        // host_ptr is not NULL but neither is set, or if host_ptr is not NULL and the image has several levels
        let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        ensure(host_ptr.is_null() != from_host, InvalidHostPtr)?;
        ensure(self.level_count == 1 || host_ptr.is_null(), InvalidHostPtr)?;
        let (levels, needed) = if self.level_count == 1 {
            (vec![level], used_bytes(&self.layout, &level))
        } else {
            let levels = MipLevel::chain(self.size, &self.layout, self.level_count);
            let end = levels.last().map_or(0, MipLevel::end);
            (levels, end)
        };
        // CL_INVALID_IMAGE_SIZE if it is larger than any allocation may be
        ensure(needed as u64 <= caps::limits().max_mem_alloc_size, InvalidImageSize)?;
        if flags & CL_MEM_USE_HOST_PTR != 0 {
            let bytes = host_ptr.slice(needed).ok_or(InvalidHostPtr)?;
            return Ok(Object::create(self.finish(levels, bytes, host_ptr, None)));
        }
        // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the image object
        // (with the pitches of the application's memory, which queries report)
        let source = host_ptr.slice(needed);
        let allocate = if source.is_some() { HostBuffer::overwritten } else { HostBuffer::new };
        let bytes = Arc::new(allocate(needed, ALIGN).map_err(|_| MemObjectAllocationFailure)?).slice();
        if let Some(source) = source {
            bytes.copy_from(&source).map_err(|_| MemObjectAllocationFailure)?;
        }
        Ok(Object::create(self.finish(levels, bytes, HostPtr::NULL, None)))
    }

    /// An image in the memory of a buffer or another image.
    fn of_other(self, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
        // CL_INVALID_IMAGE_DESCRIPTOR if mem_object is not a valid memory object of a type that goes with the image's
        let other = self.desc.mem_object.get().map_err(|_| InvalidImageDescriptor)?;
        ensure(Ref::ptr_eq(other.context(), &self.context) && other.as_pipe().is_none(), InvalidImageDescriptor)?;
        // CL_INVALID_HOST_PTR if host_ptr is not NULL
        ensure(host_ptr.is_null(), InvalidHostPtr)?;
        // CL_INVALID_VALUE: see `check_view`
        check_view(other.flags(), self.flags)?;
        // CL_INVALID_VALUE if CL_MEM_IMMUTABLE_EXT is not set in flags and mem_object was created with it
        ensure(other.flags() & !self.flags & CL_MEM_IMMUTABLE_EXT == 0, InvalidValue)?;
        let level = match other.as_image() {
            Some(image) => self.of_image(image)?,
            None => self.of_buffer(&other)?,
        };
        let bytes = other.bytes().part(0, used_bytes(&self.layout, &level)).map_err(|_| InvalidImageSize)?;
        let host_ptr = if other.host_ptr().is_null() { HostPtr::NULL } else { HostPtr::new(bytes.as_ptr()) };
        Ok(Object::create(self.finish(vec![level], bytes, host_ptr, Some(other))))
    }

    /// The layout of an image that is created from another image.
    fn of_image(&self, image: &Image) -> ClResult<MipLevel> {
        // CL_INVALID_IMAGE_DESCRIPTOR if the descriptor is not that of mem_object
        let base = image.base();
        let wanted = [0, base.row_pitch].contains(&self.desc.image_row_pitch);
        ensure(self.kind == ImageType::D2 && image.kind() == ImageType::D2 && wanted, InvalidImageDescriptor)?;
        ensure(base.size == self.size && !image.is_mipmapped(), InvalidImageDescriptor)?;
        // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if the data type differs or the channel orders are not compatible
        let orders = (self.format.order, image.format().order);
        let compatible = orders.0 == orders.1 || VIEWS.contains(&orders);
        let same_type = self.format.data_type == image.format().data_type;
        ensure(compatible && same_type, InvalidImageFormatDescriptor)?;
        Ok(*base)
    }

    /// The layout of an image that is created from a buffer.
    fn of_buffer(&self, buffer: &Mem) -> ClResult<MipLevel> {
        // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if the pitches and the buffer's address do not follow the rules for images of
        // buffers: all are multiples of the element size, if each element has bytes of its own; a pitch of 0 means contiguous
        let (row, slice) = (self.desc.image_row_pitch, self.desc.image_slice_pitch);
        let alignment = self.layout.alignment();
        let aligned = [row, slice, buffer.bytes().as_ptr().addr()].iter().all(|place| place.is_multiple_of(alignment));
        ensure(aligned, InvalidImageFormatDescriptor)?;
        let row = if self.kind == ImageType::D1Buffer { 0 } else { row };
        let level = single_level(self.kind, &self.layout, self.size, row, slice)?;
        // CL_INVALID_IMAGE_SIZE if the buffer is smaller than the image; the end of its last row counts
        ensure(level.bytes() <= buffer.size(), InvalidImageSize)?;
        Ok(level)
    }

    fn finish(mut self, levels: Vec<MipLevel>, bytes: MemSlice, host_ptr: HostPtr, other: Option<Ref<Mem>>) -> Mem {
        if let Some(other) = &other {
            let inherit = |group: cl_mem_flags| if self.flags & group == 0 { other.flags() & group } else { 0 };
            self.flags |= inherit(KERNEL_ACCESS) | inherit(HOST_ACCESS) | inherit(STORAGE);
        }
        let image = Image::new(self.kind, self.format, self.layout, levels, bytes.as_ptr());
        Mem::image(self.context, self.flags, self.properties, host_ptr, bytes, image, other)
    }
}
