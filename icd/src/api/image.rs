//! Images: what formats there are, making images, and asking about them. Commands on them are in [`super::enqueue::image`].

use std::sync::Arc;

use clift_include::cl::*;
use clift_include::image::{self, Format, Layout, MAX_2D, MAX_3D, MAX_BUFFER, MAX_LAYERS};
use clift_runtime::memory::{HostBuffer, MemSlice};

use super::buffer::{HOST_ACCESS, KERNEL_ACCESS, STORAGE, check_flags, check_view};
use crate::caps;
use crate::error::ClError::{
    ImageFormatNotSupported, InvalidHostPtr, InvalidImageDescriptor, InvalidImageFormatDescriptor, InvalidImageSize,
    InvalidMemObject, InvalidProperty, InvalidValue, MemObjectAllocationFailure,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, ImageDesc, In, Out, OutArray, Properties, pairs};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::image::{Image, Kind, Size};

/// Alignment of the memory of images in bytes: that of the widest vector access.
const ALIGN: usize = 64;

/// Channel orders that an image made of an image may see it in: that of the new one, that of the old one.
const VIEWS: [(cl_channel_order, cl_channel_order); 5] =
    [(CL_sBGRA, CL_BGRA), (CL_BGRA, CL_sBGRA), (CL_sRGBA, CL_RGBA), (CL_RGBA, CL_sRGBA), (CL_DEPTH, CL_R)];

/// `clGetSupportedImageFormats`
pub fn get_supported_formats(
    context: Handle<Context>,
    flags: cl_mem_flags,
    image_type: cl_mem_object_type,
    num_entries: cl_uint,
    formats: OutArray<cl_image_format>,
    num_formats: Out<cl_uint>,
) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    context.get()?;
    // CL_INVALID_VALUE if flags is not valid
    // (CL_MEM_KERNEL_READ_AND_WRITE exists for this query alone)
    check_flags(flags & !CL_MEM_KERNEL_READ_AND_WRITE)?;
    // CL_INVALID_VALUE if image_type is not valid
    let kind = Kind::of(image_type).ok_or(InvalidValue)?;
    // CL_INVALID_VALUE if num_entries is zero and image_formats is not NULL
    ensure(num_entries != 0 || formats.is_null(), InvalidValue)?;

    let list: Vec<cl_image_format> = image::formats()
        .filter(|format| is_supported(*format, kind))
        .map(|format| cl_image_format { image_channel_order: format.order, image_channel_data_type: format.data_type })
        .collect();
    num_formats.set(list.len() as cl_uint);
    formats.fill(num_entries as usize, list);
    Ok(())
}

/// Whether images of a type can have a format, for any use.
fn is_supported(format: Format, kind: Kind) -> bool {
    format.any_dimensions().is_some_and(|any| any || matches!(kind, Kind::D2 | Kind::D2Array))
}

/// `clCreateImage`
pub fn create(
    context: Handle<Context>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: In<ImageDesc>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    create_checked(context, Vec::new(), flags, format, desc.get(), host_ptr)
}

/// `clCreateImageWithProperties`
pub fn create_with_properties(
    context: Handle<Context>,
    properties: Properties<cl_mem_properties>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: In<ImageDesc>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    context.get()?;
    // CL_INVALID_PROPERTY if a property name in properties is not a supported property name: none is
    let list = properties.verbatim();
    ensure(pairs(&list).next().is_none(), InvalidProperty)?;

    create_checked(context, list, flags, format, desc.get(), host_ptr)
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
    let made = create_checked(context, Vec::new(), flags, format, Some(desc), host_ptr);
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
    let made = create_checked(context, Vec::new(), flags, format, Some(desc), host_ptr);
    made.map_err(|error| if error == InvalidImageDescriptor { InvalidImageSize } else { error })
}

fn create_checked(
    context: Handle<Context>,
    properties: Vec<cl_mem_properties>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: Option<ImageDesc>,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_VALUE if values specified in flags are not valid
    check_flags(flags)?;
    // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if values specified in image_format are not valid or if image_format is NULL
    let format = format.get().ok_or(InvalidImageFormatDescriptor)?;
    let format = Format { order: format.image_channel_order, data_type: format.image_channel_data_type };
    ensure(is_valid(format), InvalidImageFormatDescriptor)?;
    // CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid or if image_desc is NULL
    let desc = desc.ok_or(InvalidImageDescriptor)?;
    let kind = Kind::of(desc.image_type).ok_or(InvalidImageDescriptor)?;
    ensure(desc.num_mip_levels <= 1 && desc.num_samples == 0, InvalidImageDescriptor)?;
    // CL_INVALID_IMAGE_SIZE if image dimensions specified in image_desc exceed the maximum image dimensions
    let size = size(&desc, kind)?;
    // CL_IMAGE_FORMAT_NOT_SUPPORTED if there are no devices in context that support image_format
    ensure(is_supported(format, kind), ImageFormatNotSupported)?;
    let layout = format.layout().ok_or(ImageFormatNotSupported)?;
    // CL_INVALID_VALUE if CL_MEM_IMMUTABLE_EXT is set in flags and the image gets its content from nowhere
    let filled = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 || !desc.mem_object.is_null();
    ensure(flags & CL_MEM_IMMUTABLE_EXT == 0 || filled, InvalidValue)?;

    let made = Making { context, properties, flags, kind, format, layout, size, desc };
    if desc.mem_object.is_null() {
        // A buffer is what an image of this type is made of
        ensure(kind != Kind::D1Buffer, InvalidImageDescriptor)?;
        made.alone(host_ptr)
    } else {
        made.of_other(host_ptr)
    }
}

/// Whether numbers are those of an order and a data type that go together, supported or not.
fn is_valid(format: Format) -> bool {
    let (order, data) = (format.order, format.data_type);
    let orders = (CL_R..=CL_DEPTH).contains(&order) || (CL_sRGB..=CL_ABGR).contains(&order);
    let types = (CL_SNORM_INT8..=CL_UNORM_INT_101010_2).contains(&data) && data != 0x10DF;
    let three = [CL_RGB, CL_RGBx].contains(&order);
    let packed = [CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, CL_UNORM_INT_101010].contains(&data);
    let gray = [CL_INTENSITY, CL_LUMINANCE].contains(&order);
    let floats =
        [CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_HALF_FLOAT, CL_FLOAT].contains(&data);
    let depth = order == CL_DEPTH;
    orders
        && types
        && three == packed
        && (!gray || floats)
        && (!depth || [CL_UNORM_INT16, CL_FLOAT].contains(&data))
        && (data != CL_UNORM_INT_101010_2 || order == CL_RGBA)
}

/// The size, within the limits of the type.
fn size(desc: &ImageDesc, kind: Kind) -> ClResult<Size> {
    let [flat, volume, layers] = [MAX_2D, MAX_3D, MAX_LAYERS].map(|max| max as usize);
    let width = match kind {
        Kind::D1Buffer => MAX_BUFFER as usize,
        Kind::D3 => volume,
        Kind::D1 | Kind::D1Array | Kind::D2 | Kind::D2Array => flat,
    };
    // CL_INVALID_IMAGE_SIZE if a dimension is 0 or exceeds its limit
    let bounded = |size: usize, max: usize| if (1..=max).contains(&size) { Ok(size) } else { Err(InvalidImageSize) };
    Ok(Size {
        width: bounded(desc.image_width, width)?,
        height: if kind.has_height() {
            bounded(desc.image_height, if kind == Kind::D3 { volume } else { flat })?
        } else {
            1
        },
        depth: if kind == Kind::D3 { bounded(desc.image_depth, volume)? } else { 1 },
        layers: if kind.is_array() { bounded(desc.image_array_size, layers)? } else { 1 },
    })
}

/// An image whose format and size have been checked.
struct Making {
    context: Ref<Context>,
    properties: Vec<cl_mem_properties>,
    flags: cl_mem_flags,
    kind: Kind,
    format: Format,
    layout: Layout,
    size: Size,
    desc: ImageDesc,
}

impl Making {
    /// Row and slice pitch, tight where they are not given.
    fn pitches(&self, row: usize, slice: usize) -> ClResult<[usize; 2]> {
        let element = self.layout.bytes as usize;
        let tight = self.size.width * element;
        let row = if row == 0 { tight } else { row };
        // CL_INVALID_IMAGE_DESCRIPTOR: the row pitch must be at least a row, and a multiple of the element size
        ensure(row >= tight && row.is_multiple_of(element), InvalidImageDescriptor)?;
        let tight = row.checked_mul(self.size.height).ok_or(InvalidImageDescriptor)?;
        if !self.kind.has_slices() {
            return Ok([row, tight]);
        }
        let slice = if slice == 0 { tight } else { slice };
        // CL_INVALID_IMAGE_DESCRIPTOR: the slice pitch must be at least a slice, and a multiple of the row pitch
        ensure(slice >= tight && slice.is_multiple_of(row), InvalidImageDescriptor)?;
        Ok([row, slice])
    }

    /// Bytes that an image with these pitches takes: the rest of its last row and slice is not needed.
    fn bytes(&self, [row, slice]: [usize; 2]) -> ClResult<usize> {
        let Size { width, height, depth, layers } = self.size;
        let rows = (height - 1).checked_mul(row).ok_or(InvalidImageSize)?;
        let slices = (depth * layers - 1).checked_mul(slice).ok_or(InvalidImageSize)?;
        let last = width * self.layout.bytes as usize;
        slices.checked_add(rows).and_then(|bytes| bytes.checked_add(last)).ok_or(InvalidImageSize)
    }

    /// The image with its own memory, or the application's.
    fn alone(self, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
        let (desc, flags) = (self.desc, self.flags);
        // CL_INVALID_IMAGE_DESCRIPTOR: the pitches must be 0 if host_ptr is NULL
        ensure(
            !host_ptr.is_null() || desc.image_row_pitch == 0 && desc.image_slice_pitch == 0,
            InvalidImageDescriptor,
        )?;
        let given = self.pitches(desc.image_row_pitch, desc.image_slice_pitch)?;
        // CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are set in flags, or if
        // host_ptr is not NULL but neither is set
        let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        ensure(host_ptr.is_null() != from_host, InvalidHostPtr)?;
        let needed = self.bytes(given)?;
        // CL_INVALID_IMAGE_SIZE if it is larger than any allocation may be
        ensure(needed as u64 <= caps::limits().max_mem_alloc_size, InvalidImageSize)?;
        if flags & CL_MEM_USE_HOST_PTR != 0 {
            let bytes = host_ptr.slice(needed).ok_or(InvalidHostPtr)?;
            return Ok(self.finish(given, bytes, host_ptr, None));
        }
        // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the image object
        // (with the pitches of the application's memory, which queries tell)
        let allocated = HostBuffer::new(needed, ALIGN).map_err(|_| MemObjectAllocationFailure)?;
        let bytes = Arc::new(allocated).slice();
        if let Some(source) = host_ptr.slice(needed) {
            bytes.copy_from(&source).map_err(|_| MemObjectAllocationFailure)?;
        }
        Ok(self.finish(given, bytes, HostPtr::NULL, None))
    }

    /// The image in the memory of a buffer or another image.
    fn of_other(self, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
        // CL_INVALID_IMAGE_DESCRIPTOR if mem_object is not a valid memory object of a type that goes with the image's
        let other = self.desc.mem_object.get().map_err(|_| InvalidImageDescriptor)?;
        ensure(Ref::ptr_eq(other.context(), &self.context), InvalidImageDescriptor)?;
        ensure(matches!(self.kind, Kind::D1Buffer | Kind::D2), InvalidImageDescriptor)?;
        // CL_INVALID_HOST_PTR if host_ptr is not NULL
        ensure(host_ptr.is_null(), InvalidHostPtr)?;
        // CL_INVALID_VALUE: see `check_view`
        check_view(other.flags(), self.flags)?;
        // CL_INVALID_VALUE if CL_MEM_IMMUTABLE_EXT is not set in flags and mem_object was created with it
        ensure(other.flags() & !self.flags & CL_MEM_IMMUTABLE_EXT == 0, InvalidValue)?;
        let pitches = match other.as_image() {
            Some(image) => {
                // CL_INVALID_IMAGE_DESCRIPTOR if the descriptor is not that of mem_object
                let wanted = [0, image.row_pitch()].contains(&self.desc.image_row_pitch);
                ensure(self.kind == Kind::D2 && image.kind() == Kind::D2 && wanted, InvalidImageDescriptor)?;
                ensure(image.size() == self.size, InvalidImageDescriptor)?;
                // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if the data type differs or the channel orders are not compatible
                let orders = (self.format.order, image.format().order);
                let compatible = orders.0 == orders.1 || VIEWS.contains(&orders);
                let same_type = self.format.data_type == image.format().data_type;
                ensure(compatible && same_type, InvalidImageFormatDescriptor)?;
                [image.row_pitch(), image.row_pitch() * self.size.height]
            }
            None => {
                // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if the row pitch does not follow the rules for images of buffers; it may be
                // 0 for the tight one
                let row = self.desc.image_row_pitch;
                let alignment = caps::IMAGE_PITCH_ALIGNMENT as usize * self.layout.bytes as usize;
                let aligned = self.kind == Kind::D1Buffer || row.is_multiple_of(alignment);
                ensure(aligned, InvalidImageFormatDescriptor)?;
                let pitches = self.pitches(if self.kind == Kind::D2 { row } else { 0 }, 0)?;
                // CL_INVALID_IMAGE_SIZE if the buffer is smaller than the image; the end of its last row counts
                let needed = pitches[0].checked_mul(self.size.height).ok_or(InvalidImageSize)?;
                ensure(needed <= other.size(), InvalidImageSize)?;
                pitches
            }
        };
        let bytes = other.bytes().part(0, self.bytes(pitches)?).map_err(|_| InvalidImageSize)?;
        let host_ptr = if other.host_ptr().is_null() { HostPtr::NULL } else { HostPtr::new(bytes.as_ptr()) };
        Ok(self.finish(pitches, bytes, host_ptr, Some(other)))
    }

    fn finish(mut self, pitches: [usize; 2], bytes: MemSlice, host_ptr: HostPtr, other: Option<Ref<Mem>>) -> Ref<Mem> {
        if let Some(other) = &other {
            let inherit = |group: cl_mem_flags| if self.flags & group == 0 { other.flags() & group } else { 0 };
            self.flags |= inherit(KERNEL_ACCESS) | inherit(HOST_ACCESS) | inherit(STORAGE);
        }
        let image = Image::new(self.kind, self.format, self.layout, self.size, pitches, bytes.as_ptr());
        Object::create(Mem::image(self.context, self.flags, self.properties, host_ptr, bytes, image, other))
    }
}

/// `clGetImageInfo`
pub fn get_info(image: Handle<Mem>, name: cl_image_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_MEM_OBJECT if image is a not a valid image object
    let mem = image.get()?;
    let image = mem.as_image().ok_or(InvalidMemObject)?;
    let size = image.size();

    match name {
        CL_IMAGE_FORMAT => info.value(cl_image_format {
            image_channel_order: image.format().order,
            image_channel_data_type: image.format().data_type,
        }),
        CL_IMAGE_ELEMENT_SIZE => info.value(image.element_bytes()),
        CL_IMAGE_ROW_PITCH => info.value(image.row_pitch()),
        CL_IMAGE_SLICE_PITCH => info.value(image.slice_pitch()),
        CL_IMAGE_WIDTH => info.value(size.width),
        CL_IMAGE_HEIGHT => info.value(if image.kind().has_height() { size.height } else { 0 }),
        CL_IMAGE_DEPTH => info.value(if image.kind() == Kind::D3 { size.depth } else { 0 }),
        CL_IMAGE_ARRAY_SIZE => info.value(if image.kind().is_array() { size.layers } else { 0 }),
        CL_IMAGE_BUFFER => info.object_or_null(mem.parent().filter(|parent| parent.as_image().is_none())),
        CL_IMAGE_NUM_MIP_LEVELS | CL_IMAGE_NUM_SAMPLES => info.value::<cl_uint>(0),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_format_is_valid() {
        for format in image::formats() {
            assert!(is_valid(format), "{format:?}");
        }
        assert!(!is_valid(Format { order: CL_RGB, data_type: CL_FLOAT }));
        assert!(!is_valid(Format { order: 0, data_type: CL_FLOAT }));
    }
}
