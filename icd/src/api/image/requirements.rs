//! Queries about an image before its creation: `cl_ext_image_requirements_info`.

use clift_include::cl::*;
use clift_include::image::{Layout, formats};

use super::check_query_flags;
use super::creation::{checked_format, checked_properties, largest, level_count, single_level, size};
use crate::error::ClError::{ImageFormatNotSupported, InvalidImageDescriptor, InvalidImageSize, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{ImageDesc, In, Properties};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::image::{ImageSize, ImageType, MipLevel};

/// `clGetImageRequirementsInfoEXT`
///
/// The maximum sizes apply to each dimension separately; an image with all of them may exceed the memory.
pub fn get_info(
    context: Handle<Context>,
    properties: Properties<cl_mem_properties>,
    flags: cl_mem_flags,
    format: In<cl_image_format>,
    desc: In<ImageDesc<Mem>>,
    name: cl_image_requirements_info_ext,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_PROPERTY: see `checked_properties`
    checked_properties(&context, properties)?;
    // CL_INVALID_VALUE if values specified in flags are not valid
    check_query_flags(flags)?;
    // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if values specified in image_format are not valid
    let format = format.get().map(checked_format).transpose()?;
    // (there is no separate error for a combination that is valid but not supported)
    let layout = format.map(|format| format.layout().ok_or(ImageFormatNotSupported)).transpose()?;
    // CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid
    let desc = desc.get();
    let kind = desc.as_ref().map(|desc| kind_of(desc, name)).transpose()?.flatten();
    let size = desc.as_ref().zip(kind).filter(|_| !asks_for_largest(name)).map(|(desc, kind)| size(desc, kind));
    let size = size.transpose().map_err(|_| InvalidImageDescriptor)?;

    match name {
        CL_IMAGE_REQUIREMENTS_BASE_ADDRESS_ALIGNMENT_EXT
        | CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT
        | CL_IMAGE_REQUIREMENTS_SLICE_PITCH_ALIGNMENT_EXT => info.value(alignment(layout.as_ref())),
        CL_IMAGE_REQUIREMENTS_SIZE_EXT => {
            let Some(layout) = layout else { return Err(InvalidValue) };
            let (Some(desc), Some(kind), Some(size)) = (desc, kind, size) else { return Err(InvalidValue) };
            let count = level_count(&desc, kind)?;
            let end = if count == 1 {
                let level = single_level(kind, &layout, size, desc.image_row_pitch, desc.image_slice_pitch);
                level.map_err(|_| InvalidImageDescriptor)?.end()
            } else {
                MipLevel::chain(size, &layout, count).last().map_or(0, MipLevel::end)
            };
            info.value(end)
        }
        CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT => info.value(max(kind, |_| true, |size| size.width)?),
        CL_IMAGE_REQUIREMENTS_MAX_HEIGHT_EXT => info.value(max(kind, ImageType::has_height, |size| size.height)?),
        CL_IMAGE_REQUIREMENTS_MAX_DEPTH_EXT => info.value(max(kind, |kind| kind == ImageType::D3, |size| size.depth)?),
        CL_IMAGE_REQUIREMENTS_MAX_ARRAY_SIZE_EXT => info.value(max(kind, ImageType::is_array, |size| size.layers)?),
        // CL_INVALID_VALUE if param_name is not valid
        _ => Err(InvalidValue),
    }
}

/// Whether a query is about the maximum size: then sizes and the type may be 0, which means any.
fn asks_for_largest(name: cl_image_requirements_info_ext) -> bool {
    (CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT..=CL_IMAGE_REQUIREMENTS_MAX_ARRAY_SIZE_EXT).contains(&name)
}

/// The type of image in a query; `None` for any.
fn kind_of(desc: &ImageDesc<Mem>, name: cl_image_requirements_info_ext) -> ClResult<Option<ImageType>> {
    if desc.image_type == 0 && asks_for_largest(name) {
        return Ok(None);
    }
    ImageType::of(desc.image_type).map(Some).ok_or(InvalidImageDescriptor)
}

/// Alignment of addresses and pitches in bytes.
fn alignment(layout: Option<&Layout>) -> usize {
    let largest = || formats().filter_map(|format| format.layout()).map(|layout| layout.alignment()).max().unwrap_or(1);
    layout.map_or_else(largest, Layout::alignment)
}

/// The maximum size along one dimension for images of a type, or of all types that have this dimension.
///
/// # Errors
/// `CL_INVALID_IMAGE_DESCRIPTOR` if the type does not have it.
fn max(
    kind: Option<ImageType>,
    has: impl Fn(ImageType) -> bool,
    along: impl Fn(ImageSize) -> usize,
) -> ClResult<cl_uint> {
    ensure(kind.is_none_or(&has), InvalidImageDescriptor)?;
    let kinds = ImageType::ALL.iter().map(|(_, kind)| *kind).filter(|any| kind.unwrap_or(*any) == *any && has(*any));
    let least = kinds.map(|kind| along(largest(kind))).min();
    least.and_then(|size| cl_uint::try_from(size).ok()).ok_or(InvalidImageSize)
}
