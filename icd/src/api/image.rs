//! Image: not supported (`CL_DEVICE_IMAGE_SUPPORT` is false). What is here answers questions; everything that would make or
//! use an image is a gap in the list of entry points.

use clift_include::cl::*;

use super::buffer::check_flags;
use crate::error::ClError::InvalidValue;
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::pointer::{Out, OutArray};
use crate::object::context::Context;

/// `clGetSupportedImageFormats`: none.
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
    let types = [
        CL_MEM_OBJECT_IMAGE2D,
        CL_MEM_OBJECT_IMAGE3D,
        CL_MEM_OBJECT_IMAGE2D_ARRAY,
        CL_MEM_OBJECT_IMAGE1D,
        CL_MEM_OBJECT_IMAGE1D_ARRAY,
        CL_MEM_OBJECT_IMAGE1D_BUFFER,
    ];
    ensure(types.contains(&image_type), InvalidValue)?;
    // CL_INVALID_VALUE if num_entries is zero and image_formats is not NULL
    ensure(num_entries != 0 || formats.is_null(), InvalidValue)?;

    num_formats.set(0);
    Ok(())
}
