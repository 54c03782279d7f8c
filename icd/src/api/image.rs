//! Images: formats and queries. Creation is in [`creation`], queries before creation in [`requirements`]; commands on images are
//! in [`super::enqueue::image`].

pub mod creation;
pub mod requirements;

use clift_include::cl::*;
use clift_include::image::{self, Format};

use super::buffer::check_flags;
use crate::error::ClError::{InvalidMemObject, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Out, OutArray};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::image::ImageType;

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
    check_query_flags(flags)?;
    // CL_INVALID_VALUE if image_type is not valid
    let kind = ImageType::of(image_type).ok_or(InvalidValue)?;
    // CL_INVALID_VALUE if num_entries is zero and image_formats is not NULL
    ensure(num_entries != 0 || formats.is_null(), InvalidValue)?;

    let list: Vec<cl_image_format> = image::formats()
        .filter(|format| format.is_listed() && is_supported(*format, kind) && is_usable(*format, flags))
        .map(|format| cl_image_format { image_channel_order: format.order, image_channel_data_type: format.data_type })
        .collect();
    num_formats.set(list.len() as cl_uint);
    formats.fill(num_entries as usize, list);
    Ok(())
}

/// Flags of memory objects, or `CL_MEM_KERNEL_READ_AND_WRITE`, which exists for queries alone.
///
/// # Errors
/// `CL_INVALID_VALUE` for others.
fn check_query_flags(flags: cl_mem_flags) -> ClResult<()> {
    check_flags(flags & !CL_MEM_KERNEL_READ_AND_WRITE)
}

/// Whether images of a type can have a format, for any use.
fn is_supported(format: Format, kind: ImageType) -> bool {
    format.any_dimensions().is_some_and(|any| any || matches!(kind, ImageType::D2 | ImageType::D2Array))
}

/// Whether kernels can access images of a format as the flags say. Images are created with other flags, too: then only reads
/// work.
fn is_usable(format: Format, flags: cl_mem_flags) -> bool {
    let writes = flags & CL_MEM_READ_ONLY == 0 || flags & CL_MEM_KERNEL_READ_AND_WRITE != 0;
    !writes || format.layout().is_some_and(|layout| layout.group.is_none())
}

/// Whether these constants are an order and a data type that can be combined, supported or not.
fn is_valid(format: Format) -> bool {
    let (order, data) = (format.order, format.data_type);
    let orders = (CL_R..=CL_DEPTH).contains(&order) || (CL_sRGB..=CL_ABGR).contains(&order);
    let types = (CL_SNORM_INT8..=CL_UNORM_INT_101010_2).contains(&data) && data != CL_UNORM_INT24
        || data == CL_UNORM_INT_2_101010_EXT;
    let raw = [CL_UNSIGNED_INT_RAW10_EXT, CL_UNSIGNED_INT_RAW12_EXT].contains(&data);
    let upper = data == CL_UNORM_INT10X6_EXT || (CL_UNSIGNED_INT10X6_EXT..=CL_UNORM_INT14X2_EXT).contains(&data);
    let packed = [CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, CL_UNORM_INT_101010].contains(&data);
    let gray = [CL_INTENSITY, CL_LUMINANCE].contains(&order);
    let floats =
        [CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_HALF_FLOAT, CL_FLOAT].contains(&data);
    let depth = order == CL_DEPTH;
    orders
        && (types || upper && [CL_R, CL_RG, CL_RGBA].contains(&order) || raw && order == CL_R)
        && (order != CL_RGB || packed)
        && (!packed || [CL_RGB, CL_RGBx].contains(&order))
        && (!gray || floats)
        && (!depth || [CL_UNORM_INT16, CL_FLOAT].contains(&data))
        && (data != CL_UNORM_INT_101010_2 || order == CL_RGBA)
        && (data != CL_UNORM_INT_2_101010_EXT || order == CL_ABGR)
}

/// `clGetImageInfo`
pub fn get_info(image: Handle<Mem>, name: cl_image_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_MEM_OBJECT if image is a not a valid image object
    let mem = image.get()?;
    let image = mem.as_image().ok_or(InvalidMemObject)?;
    let (kind, base) = (image.kind(), image.base());

    match name {
        CL_IMAGE_FORMAT => info.value(cl_image_format {
            image_channel_order: image.format().order,
            image_channel_data_type: image.format().data_type,
        }),
        CL_IMAGE_ELEMENT_SIZE => info.value(image.element_bytes()),
        CL_IMAGE_ROW_PITCH => info.value(base.row_pitch),
        CL_IMAGE_SLICE_PITCH => info.value(image.slice_pitch(base)),
        CL_IMAGE_WIDTH => info.value(base.size.width),
        CL_IMAGE_HEIGHT => info.value(if kind.has_height() { base.size.height } else { 0 }),
        CL_IMAGE_DEPTH => info.value(if kind == ImageType::D3 { base.size.depth } else { 0 }),
        CL_IMAGE_ARRAY_SIZE => info.value(if kind.is_array() { base.size.layers } else { 0 }),
        CL_IMAGE_BUFFER => info.object_or_null(mem.parent().filter(|parent| parent.is_buffer())),
        // The number it was created with; 0 and 1 both mean a single level.
        CL_IMAGE_NUM_MIP_LEVELS => info.value(if image.is_mipmapped() { image.levels().len() as cl_uint } else { 0 }),
        CL_IMAGE_NUM_SAMPLES => info.value::<cl_uint>(0),
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
