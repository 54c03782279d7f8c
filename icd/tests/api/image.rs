//! Images and samplers: formats, what can be made, queries, and commands. Kernels on images are tested through the loader.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

const RGBA8: cl_image_format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };

fn desc(ty: cl_uint, [width, height, depth]: [usize; 3], layers: usize) -> cl_image_desc {
    cl_image_desc {
        image_type: ty,
        image_width: width,
        image_height: height,
        image_depth: depth,
        image_array_size: layers,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    }
}

/// An image of RGBA bytes, 4 elements wide and 3 high.
fn plain(setup: &Setup) -> cl_mem {
    let desc = desc(CL_MEM_OBJECT_IMAGE2D, [4, 3, 1], 1);
    made(|e| clCreateImage(setup.context, 0, &RGBA8, &desc, null_mut(), e))
}

fn number(image: cl_mem, name: cl_uint) -> usize {
    let mut value = 77;
    let place = (&raw mut value).cast();
    assert_eq!(clGetImageInfo(image, name, size_of::<usize>(), place, null_mut()), CL_SUCCESS);
    value
}

#[test]
fn formats() {
    let setup = Setup::new();
    let c = setup.context;
    let mut count = 0;
    for ty in CL_MEM_OBJECT_IMAGE2D..=CL_MEM_OBJECT_IMAGE1D_BUFFER {
        for flags in [0, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_KERNEL_READ_AND_WRITE] {
            if ty == CL_MEM_OBJECT_PIPE {
                continue;
            }
            assert_eq!(clGetSupportedImageFormats(c, flags, ty, 0, null_mut(), &mut count), CL_SUCCESS);
            assert!(count >= 82, "as many as others have");
            let mut list = vec![cl_image_format { image_channel_order: 0, image_channel_data_type: 0 }; count as usize];
            let place = list.as_mut_ptr().cast();
            assert_eq!(clGetSupportedImageFormats(c, flags, ty, count, place, null_mut()), CL_SUCCESS);
            // Formats that kernels cannot write are not in the lists for writing, and those with an ignored channel in none.
            let raw = list.iter().any(|format| format.image_channel_data_type == CL_UNSIGNED_INT_RAW10_EXT);
            assert_eq!(raw, flags == CL_MEM_READ_ONLY);
            assert!(!list.iter().any(|format| format.image_channel_order == CL_RGBx));
            let depth = list.iter().any(|format| format.image_channel_order == CL_DEPTH);
            assert_eq!(depth, [CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY].contains(&ty));
        }
    }
    let flags = CL_MEM_READ_ONLY;
    let ty = CL_MEM_OBJECT_IMAGE2D;
    assert_eq!(clGetSupportedImageFormats(null_mut(), flags, ty, 0, null_mut(), &mut count), CL_INVALID_CONTEXT);
    for bad in [1 << 40, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY] {
        assert_eq!(clGetSupportedImageFormats(c, bad, ty, 0, null_mut(), &mut count), CL_INVALID_VALUE);
    }
    for bad in [0, CL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_PIPE] {
        assert_eq!(clGetSupportedImageFormats(c, flags, bad, 0, null_mut(), &mut count), CL_INVALID_VALUE);
    }
    let formats = (&raw mut count).cast();
    assert_eq!(clGetSupportedImageFormats(c, flags, ty, 0, formats, null_mut()), CL_INVALID_VALUE);
}

#[test]
fn invalid_images() {
    let setup = Setup::new();
    let good = desc(CL_MEM_OBJECT_IMAGE2D, [4, 3, 1], 1);
    let mut bytes = [0u8; 64];
    let host: *mut c_void = bytes.as_mut_ptr().cast();
    let refuse = |flags, format: *const cl_image_format, desc: &cl_image_desc, host, error| {
        assert_eq!(refused(|e| clCreateImage(setup.context, flags, format, desc, host, e)), error, "{format:?}");
    };
    let format = |order, data| cl_image_format { image_channel_order: order, image_channel_data_type: data };
    assert_eq!(refused(|e| clCreateImage(null_mut(), 0, &RGBA8, &good, null_mut(), e)), CL_INVALID_CONTEXT);
    refuse(1 << 40, &RGBA8, &good, null_mut(), CL_INVALID_VALUE);
    refuse(0, null(), &good, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    refuse(0, &format(0, CL_FLOAT), &good, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    refuse(0, &format(CL_RGB, CL_FLOAT), &good, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    refuse(0, &format(CL_RGx, CL_FLOAT), &good, null_mut(), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    refuse(0, &format(CL_DEPTH, CL_UNORM_INT24), &good, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    // Elements that share bytes: rows of whole groups, which kernels do not write.
    let raw = format(CL_R, CL_UNSIGNED_INT_RAW10_EXT);
    refuse(0, &format(CL_RG, CL_UNSIGNED_INT_RAW10_EXT), &good, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    refuse(CL_MEM_WRITE_ONLY, &raw, &good, null_mut(), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    refuse(0, &raw, &cl_image_desc { num_mip_levels: 2, ..good }, null_mut(), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    refuse(0, &raw, &desc(CL_MEM_OBJECT_IMAGE2D, [6, 3, 1], 1), null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    assert_eq!(
        refused(|e| clCreateImage(setup.context, 0, &RGBA8, null(), null_mut(), e)),
        CL_INVALID_IMAGE_DESCRIPTOR
    );
    refuse(0, &RGBA8, &desc(CL_MEM_OBJECT_BUFFER, [4, 3, 1], 1), null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    refuse(0, &RGBA8, &cl_image_desc { num_samples: 2, ..good }, null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    refuse(0, &RGBA8, &cl_image_desc { num_mip_levels: 16, ..good }, null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    let levels = cl_image_desc { num_mip_levels: 2, ..good };
    refuse(CL_MEM_COPY_HOST_PTR, &RGBA8, &levels, host, CL_INVALID_HOST_PTR);
    refuse(0, &RGBA8, &cl_image_desc { image_row_pitch: 16, ..good }, null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    for size in [[0, 3, 1], [4, 0, 1], [1 << 20, 3, 1], [4, usize::MAX, 1]] {
        refuse(0, &RGBA8, &desc(CL_MEM_OBJECT_IMAGE2D, size, 1), null_mut(), CL_INVALID_IMAGE_SIZE);
    }
    refuse(0, &RGBA8, &desc(CL_MEM_OBJECT_IMAGE3D, [4, 3, 0], 1), null_mut(), CL_INVALID_IMAGE_SIZE);
    refuse(0, &RGBA8, &desc(CL_MEM_OBJECT_IMAGE1D_ARRAY, [4, 0, 0], 0), null_mut(), CL_INVALID_IMAGE_SIZE);
    refuse(CL_MEM_USE_HOST_PTR, &RGBA8, &good, null_mut(), CL_INVALID_HOST_PTR);
    refuse(0, &RGBA8, &good, host, CL_INVALID_HOST_PTR);
    for pitch in [15, 18] {
        let bad = cl_image_desc { image_row_pitch: pitch, ..good };
        refuse(CL_MEM_COPY_HOST_PTR, &RGBA8, &bad, host, CL_INVALID_IMAGE_DESCRIPTOR);
    }
    // In another object's memory.
    let buffer = setup.buffer(0, 47);
    refuse(0, &RGBA8, &cl_image_desc { buffer, ..good }, null_mut(), CL_INVALID_IMAGE_SIZE);
    let three = cl_image_desc { buffer, ..desc(CL_MEM_OBJECT_IMAGE3D, [2, 2, 2], 1) };
    for (row, slice) in [(9, 0), (8, 17)] {
        let bad = cl_image_desc { image_row_pitch: row, image_slice_pitch: slice, ..three };
        refuse(0, &RGBA8, &bad, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    }
    let bad = cl_image_desc { image_slice_pitch: 24, ..three };
    refuse(0, &RGBA8, &bad, null_mut(), CL_INVALID_IMAGE_SIZE);
    refuse(0, &RGBA8, &cl_image_desc { num_mip_levels: 2, ..three }, null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    clReleaseMemObject(made(|e| clCreateImage(setup.context, 0, &RGBA8, &three, null_mut(), e)));
    refuse(0, &RGBA8, &desc(CL_MEM_OBJECT_IMAGE1D_BUFFER, [4, 0, 0], 0), null_mut(), CL_INVALID_IMAGE_DESCRIPTOR);
    let image = plain(&setup);
    let view = cl_image_desc { buffer: image, ..good };
    refuse(0, &format(CL_BGRA, CL_UNORM_INT8), &view, null_mut(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    clReleaseMemObject(made(|e| {
        clCreateImage(setup.context, 0, &format(CL_sRGBA, CL_UNORM_INT8), &view, null_mut(), e)
    }));
    clReleaseMemObject(image);
    clReleaseMemObject(buffer);
}

#[test]
fn elements_that_share_bytes() {
    let setup = Setup::new();
    let raw = cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_UNSIGNED_INT_RAW12_EXT };
    let wide = desc(CL_MEM_OBJECT_IMAGE2D, [8, 3, 1], 1);
    let image = made(|e| clCreateImage(setup.context, CL_MEM_READ_ONLY, &raw, &wide, null_mut(), e));
    assert_eq!([CL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ROW_PITCH].map(|name| number(image, name)), [2, 12]);
    let mut bytes = [0u8; 36];
    let mut write = |origin: [usize; 3], region: [usize; 3]| {
        let host = bytes.as_mut_ptr().cast();
        clEnqueueWriteImage(
            setup.queue,
            image,
            1,
            &raw const origin as _,
            &raw const region as _,
            0,
            0,
            host,
            0,
            null(),
            null_mut(),
        )
    };
    assert_eq!(write([2, 1, 0], [4, 2, 1]), CL_SUCCESS);
    assert_eq!(write([1, 1, 0], [4, 2, 1]), CL_INVALID_VALUE, "it begins within a group");
    assert_eq!(write([2, 1, 0], [3, 2, 1]), CL_INVALID_VALUE, "it ends within a group");
    clReleaseMemObject(image);
}

#[test]
fn queries() {
    let setup = Setup::new();
    let mut bytes = [7u8; 20 * 3];
    let host: *mut c_void = bytes.as_mut_ptr().cast();
    let wide = cl_image_desc { image_row_pitch: 20, ..desc(CL_MEM_OBJECT_IMAGE2D, [4, 3, 1], 1) };
    let image = made(|e| clCreateImage(setup.context, CL_MEM_USE_HOST_PTR, &RGBA8, &wide, host, e));
    let names = [CL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ROW_PITCH, CL_IMAGE_SLICE_PITCH, CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT];
    assert_eq!(names.map(|name| number(image, name)), [4, 20, 0, 4, 3]);
    assert_eq!([CL_IMAGE_DEPTH, CL_IMAGE_ARRAY_SIZE].map(|name| number(image, name)), [0, 0]);
    let mut ty: cl_uint = 0;
    assert_eq!(clGetMemObjectInfo(image, CL_MEM_TYPE, 4, (&raw mut ty).cast(), null_mut()), CL_SUCCESS);
    assert_eq!(ty, CL_MEM_OBJECT_IMAGE2D);
    assert_eq!(clGetImageInfo(image, 0, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    clReleaseMemObject(image);
    // What is not an image has no image information, and an image is not a buffer.
    let buffer = setup.buffer(0, 64);
    assert_eq!(clGetImageInfo(buffer, CL_IMAGE_WIDTH, 0, null_mut(), null_mut()), CL_INVALID_MEM_OBJECT);
    let row = cl_image_desc { buffer, ..desc(CL_MEM_OBJECT_IMAGE1D_BUFFER, [16, 0, 0], 0) };
    let image = made(|e| clCreateImage(setup.context, 0, &RGBA8, &row, null_mut(), e));
    let mut of: cl_mem = null_mut();
    assert_eq!(clGetImageInfo(image, CL_IMAGE_BUFFER, 8, (&raw mut of).cast(), null_mut()), CL_SUCCESS);
    assert_eq!(of, buffer);
    let q = setup.queue;
    assert_eq!(clEnqueueCopyBuffer(q, image, buffer, 0, 0, 4, 0, null(), null_mut()), CL_INVALID_MEM_OBJECT);
    clReleaseMemObject(image);
    clReleaseMemObject(buffer);
}

/// A buffer must hold as many slices as an image of it has layers, with the padding of the last one.
#[test]
fn slices_in_a_buffer() {
    let setup = Setup::new();
    let buffer = setup.buffer(0, 64);
    for (ty, layers) in [(CL_MEM_OBJECT_IMAGE2D_ARRAY, 1), (CL_MEM_OBJECT_IMAGE1D_ARRAY, 1), (CL_MEM_OBJECT_IMAGE3D, 0)]
    {
        let of = |slice| cl_image_desc { buffer, image_slice_pitch: slice, ..desc(ty, [4, 1, 1], layers) };
        let image = made(|e| clCreateImage(setup.context, 0, &RGBA8, &of(64), null_mut(), e));
        assert_eq!(clReleaseMemObject(image), CL_SUCCESS);
        let error = refused(|e| clCreateImage(setup.context, 0, &RGBA8, &of(80), null_mut(), e));
        assert_eq!(error, CL_INVALID_IMAGE_SIZE);
    }
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

#[test]
fn commands() {
    let setup = Setup::new();
    let q = setup.queue;
    let image = plain(&setup);
    let (zero, all, one) = ([0usize; 3], [4usize, 3, 1], [1usize, 1, 0]);
    let no = || (0, null::<cl_event>(), null_mut::<cl_event>());
    let (n, l, e) = no();
    // Fill, read, write a part, copy it, map it.
    let colour = [1.0f32, 0.5, 0.0, 1.0];
    let fill = |origin: *const usize, region: *const usize| {
        clEnqueueFillImage(q, image, colour.as_ptr().cast(), origin, region, n, l, e)
    };
    assert_eq!(fill(zero.as_ptr(), all.as_ptr()), CL_SUCCESS);
    assert_eq!(fill(zero.as_ptr(), [5, 3, 1].as_ptr()), CL_INVALID_VALUE);
    assert_eq!(fill([0, 0, 1].as_ptr(), all.as_ptr()), CL_INVALID_VALUE);
    assert_eq!(fill(null(), all.as_ptr()), CL_INVALID_VALUE);
    assert_eq!(fill([usize::MAX, 0, 0].as_ptr(), all.as_ptr()), CL_INVALID_VALUE);
    let mut part = [9u8, 9, 9, 9, 8, 8, 8, 8];
    let ptr = part.as_mut_ptr().cast();
    let region = [2usize, 1, 1];
    let write =
        |row, slice| clEnqueueWriteImage(q, image, CL_TRUE, one.as_ptr(), region.as_ptr(), row, slice, ptr, n, l, e);
    assert_eq!(write(0, 0), CL_SUCCESS);
    assert_eq!(write(4, 0), CL_INVALID_VALUE);
    assert_eq!(write(0, 8), CL_INVALID_VALUE, "no slices");
    let mut bytes = [0u8; 48];
    let host = bytes.as_mut_ptr().cast();
    assert_eq!(clEnqueueReadImage(q, image, CL_TRUE, zero.as_ptr(), all.as_ptr(), 0, 0, host, n, l, e), CL_SUCCESS);
    let orange = [255u8, 128, 0, 255];
    assert_eq!(bytes[..4], orange);
    assert_eq!(bytes[20..28], part);
    assert_eq!(bytes[28..32], orange);
    let copy = |from: [usize; 3], to: [usize; 3]| {
        clEnqueueCopyImage(q, image, image, from.as_ptr(), to.as_ptr(), region.as_ptr(), n, l, e)
    };
    assert_eq!(copy(one, [2, 1, 0]), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy(one, [0, 2, 0]), CL_SUCCESS);
    let buffer = setup.buffer(0, 16);
    let to_buffer =
        |offset| clEnqueueCopyImageToBuffer(q, image, buffer, [0, 2, 0].as_ptr(), region.as_ptr(), offset, n, l, e);
    assert_eq!(to_buffer(9), CL_INVALID_VALUE);
    assert_eq!(to_buffer(4), CL_SUCCESS);
    assert_eq!(clEnqueueCopyBufferToImage(q, buffer, image, 4, zero.as_ptr(), region.as_ptr(), n, l, e), CL_SUCCESS);
    let (mut row, mut slice) = (0, 1);
    let mut error = 1;
    let mapped = clEnqueueMapImage(
        q,
        image,
        CL_TRUE,
        CL_MAP_READ,
        zero.as_ptr(),
        all.as_ptr(),
        &mut row,
        &mut slice,
        n,
        l,
        e,
        &mut error,
    );
    assert_eq!((error, row, slice), (CL_SUCCESS, 16, 0));
    // SAFETY: the whole image is mapped, 48 bytes.
    let seen = unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), 48) };
    assert_eq!(seen[..8], part);
    assert_eq!(seen[32..40], part);
    assert_eq!(clEnqueueUnmapMemObject(q, image, mapped, n, l, e), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    clReleaseMemObject(buffer);
    clReleaseMemObject(image);
}

#[test]
fn levels() {
    let setup = Setup::new();
    let q = setup.queue;
    let desc = cl_image_desc { num_mip_levels: 3, ..desc(CL_MEM_OBJECT_IMAGE2D_ARRAY, [4, 3, 1], 2) };
    let image = made(|e| clCreateImage(setup.context, 0, &RGBA8, &desc, null_mut(), e));
    let mut count: cl_uint = 0;
    let place = (&raw mut count).cast();
    assert_eq!(clGetImageInfo(image, CL_IMAGE_NUM_MIP_LEVELS, 4, place, null_mut()), CL_SUCCESS);
    assert_eq!(count, 3);
    let mut bytes = 0usize;
    assert_eq!(clGetMemObjectInfo(image, CL_MEM_SIZE, 8, (&raw mut bytes).cast(), null_mut()), CL_SUCCESS);
    assert_eq!(bytes, 2 * 4 * (12 + 2 + 1));
    let (l, e) = (null::<cl_event>(), null_mut::<cl_event>());
    let colour = [1.0f32; 4];
    let fill = |level: usize, region: [usize; 3]| {
        let origin = [0, 0, 0, level];
        clEnqueueFillImage(q, image, colour.as_ptr().cast(), origin.as_ptr(), region.as_ptr(), 0, l, e)
    };
    assert_eq!(fill(1, [2, 1, 2]), CL_SUCCESS);
    assert_eq!(fill(1, [3, 1, 2]), CL_INVALID_VALUE);
    assert_eq!(fill(2, [1, 1, 2]), CL_SUCCESS);
    assert_eq!(fill(3, [1, 1, 1]), CL_INVALID_MIP_LEVEL);
    // From one level to another of the same image, nothing overlaps.
    let copy = |from: usize, to: usize, region: [usize; 3]| {
        let (from, to) = ([0, 0, 0, from], [0, 0, 0, to]);
        clEnqueueCopyImage(q, image, image, from.as_ptr(), to.as_ptr(), region.as_ptr(), 0, l, e)
    };
    assert_eq!(copy(1, 0, [2, 1, 2]), CL_SUCCESS);
    assert_eq!(copy(1, 1, [2, 1, 2]), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy(1, 3, [1, 1, 1]), CL_INVALID_MIP_LEVEL);
    let (mut row, mut slice, mut error) = (0, 0, 1);
    let (origin, region) = ([0usize, 0, 0, 1], [2usize, 1, 2]);
    let (o, r, row_out, slice_out) = (origin.as_ptr(), region.as_ptr(), &raw mut row, &raw mut slice);
    let mapped = clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_READ, o, r, row_out, slice_out, 0, l, e, &mut error);
    assert_eq!((error, row, slice), (CL_SUCCESS, 8, 8));
    // SAFETY: a level of 16 bytes is mapped.
    assert_eq!(unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), 16) }, [255; 16]);
    assert_eq!(clEnqueueUnmapMemObject(q, image, mapped, 0, l, e), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    clReleaseMemObject(image);
}

#[test]
fn requirements() {
    let setup = Setup::new();
    let c = setup.context;
    let ask = |context, flags, format: *const cl_image_format, desc: *const cl_image_desc, name| {
        let (mut value, mut size) = ([0u8; 8], 0);
        let place = value.as_mut_ptr().cast();
        let status = clGetImageRequirementsInfoEXT(context, null(), flags, format, desc, name, 8, place, &raw mut size);
        if status == CL_SUCCESS { Ok((u64::from_le_bytes(value), size)) } else { Err(status) }
    };
    let flat = desc(CL_MEM_OBJECT_IMAGE2D, [4, 3, 0], 0);
    let sizes = [
        CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT,
        CL_IMAGE_REQUIREMENTS_MAX_HEIGHT_EXT,
        CL_IMAGE_REQUIREMENTS_MAX_DEPTH_EXT,
        CL_IMAGE_REQUIREMENTS_MAX_ARRAY_SIZE_EXT,
    ];
    let bad = Err(CL_INVALID_IMAGE_DESCRIPTOR);
    assert_eq!(sizes.map(|name| ask(c, 0, null(), &flat, name)), [Ok((16384, 4)), Ok((16384, 4)), bad, bad]);
    let any = desc(0, [0; 3], 0);
    for desc in [&raw const any, null()] {
        assert_eq!(sizes.map(|name| ask(c, 0, null(), desc, name)), [2048; 4].map(|size| Ok((size, 4))));
    }
    let alignments = [
        CL_IMAGE_REQUIREMENTS_BASE_ADDRESS_ALIGNMENT_EXT,
        CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT,
        CL_IMAGE_REQUIREMENTS_SLICE_PITCH_ALIGNMENT_EXT,
    ];
    assert_eq!(alignments.map(|name| ask(c, 0, &RGBA8, &flat, name)), [Ok((4, 8)); 3]);
    assert_eq!(alignments.map(|name| ask(c, 0, null(), null(), name)), [Ok((16, 8)); 3]);
    let bytes = CL_IMAGE_REQUIREMENTS_SIZE_EXT;
    assert_eq!(ask(c, CL_MEM_KERNEL_READ_AND_WRITE, &RGBA8, &flat, bytes), Ok((48, 8)));
    assert_eq!(ask(c, 0, &RGBA8, &cl_image_desc { num_mip_levels: 2, ..flat }, bytes), Ok((56, 8)));
    assert_eq!(ask(c, 0, &RGBA8, &cl_image_desc { image_row_pitch: 20, ..flat }, bytes), Ok((60, 8)));
    assert_eq!(ask(c, 0, null(), &flat, bytes), Err(CL_INVALID_VALUE));
    assert_eq!(ask(c, 0, &RGBA8, null(), bytes), Err(CL_INVALID_VALUE));
    assert_eq!(ask(null_mut(), 0, &RGBA8, &flat, bytes), Err(CL_INVALID_CONTEXT));
    assert_eq!(ask(c, 1 << 40, &RGBA8, &flat, bytes), Err(CL_INVALID_VALUE));
    let strange = cl_image_format { image_channel_order: CL_RGB, image_channel_data_type: CL_FLOAT };
    assert_eq!(ask(c, 0, &strange, &flat, bytes), Err(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR));
    assert_eq!(ask(c, 0, &RGBA8, &desc(CL_MEM_OBJECT_BUFFER, [4, 3, 0], 0), bytes), bad);
    assert_eq!(ask(c, 0, &RGBA8, &desc(CL_MEM_OBJECT_IMAGE2D, [0, 3, 0], 0), bytes), bad);
    assert_eq!(ask(c, 0, &RGBA8, &cl_image_desc { image_row_pitch: 15, ..flat }, bytes), bad);
    assert_eq!(ask(c, 0, &RGBA8, &flat, CL_IMAGE_FORMAT), Err(CL_INVALID_VALUE));
}

#[test]
fn immutable_images_cannot_be_written() {
    let setup = Setup::new();
    let q = setup.queue;
    let mut bytes = [5u8; 48];
    let host: *mut c_void = bytes.as_mut_ptr().cast();
    let plain = desc(CL_MEM_OBJECT_IMAGE2D, [4, 3, 1], 1);
    let create = |flags, desc: &cl_image_desc, host, error: *mut cl_int| {
        clCreateImage(setup.context, flags, &RGBA8, desc, host, error)
    };
    assert_eq!(refused(|e| create(CL_MEM_IMMUTABLE_EXT, &plain, null_mut(), e)), CL_INVALID_VALUE, "nothing in it");
    let image = made(|e| create(CL_MEM_IMMUTABLE_EXT | CL_MEM_COPY_HOST_PTR, &plain, host, e));
    let view = cl_image_desc { buffer: image, ..plain };
    assert_eq!(refused(|e| create(0, &view, null_mut(), e)), CL_INVALID_VALUE, "a way to write it");
    clReleaseMemObject(made(|e| create(CL_MEM_IMMUTABLE_EXT, &view, null_mut(), e)));
    let buffer = setup.buffer(0, 48);
    let (zero, all) = ([0usize; 3], [4usize, 3, 1]);
    let (o, r, l, e) = (zero.as_ptr(), all.as_ptr(), null::<cl_event>(), null_mut::<cl_event>());
    let colour = [0f32; 4];
    let (mut row, mut error) = (0, 1);
    for status in [
        clEnqueueFillImage(q, image, colour.as_ptr().cast(), o, r, 0, l, e),
        clEnqueueWriteImage(q, image, CL_TRUE, o, r, 0, 0, host, 0, l, e),
        clEnqueueCopyBufferToImage(q, buffer, image, 0, o, r, 0, l, e),
    ] {
        assert_eq!(status, CL_INVALID_OPERATION);
    }
    let mapped = clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_WRITE, o, r, &mut row, null_mut(), 0, l, e, &mut error);
    assert_eq!((mapped.is_null(), error), (true, CL_INVALID_OPERATION));
    assert_eq!(clEnqueueReadImage(q, image, CL_TRUE, o, r, 0, 0, host, 0, l, e), CL_SUCCESS);
    assert_eq!(bytes, [5; 48]);
    clReleaseMemObject(image);
    clReleaseMemObject(buffer);
}

#[test]
fn samplers() {
    let setup = Setup::new();
    let c = setup.context;
    let sampler = made(|e| clCreateSampler(c, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_LINEAR, e));
    let value = |name| {
        let mut value: cl_uint = 77;
        assert_eq!(clGetSamplerInfo(sampler, name, 4, (&raw mut value).cast(), null_mut()), CL_SUCCESS);
        value
    };
    let names = [CL_SAMPLER_NORMALIZED_COORDS, CL_SAMPLER_ADDRESSING_MODE, CL_SAMPLER_FILTER_MODE];
    assert_eq!(names.map(value), [CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_LINEAR]);
    assert_eq!(clGetSamplerInfo(sampler, 0, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    assert_eq!(clRetainSampler(sampler), CL_SUCCESS);
    assert_eq!(value(CL_SAMPLER_REFERENCE_COUNT), 2);
    assert_eq!(clReleaseSampler(sampler), CL_SUCCESS);
    assert_eq!(clReleaseSampler(sampler), CL_SUCCESS);
    assert_eq!(clReleaseSampler(null_mut()), CL_INVALID_SAMPLER);
    assert_eq!(refused(|e| clCreateSampler(c, 2, CL_ADDRESS_NONE, CL_FILTER_NEAREST, e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| clCreateSampler(c, 0, 0, CL_FILTER_NEAREST, e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| clCreateSampler(c, 0, CL_ADDRESS_NONE, 0, e)), CL_INVALID_VALUE);
    let twice = [CL_SAMPLER_FILTER_MODE.into(), CL_FILTER_LINEAR.into(), CL_SAMPLER_FILTER_MODE.into(), 0, 0];
    assert_eq!(refused(|e| clCreateSamplerWithProperties(c, twice.as_ptr(), e)), CL_INVALID_VALUE);
    let levels = [
        CL_SAMPLER_MIP_FILTER_MODE.into(),
        CL_FILTER_LINEAR.into(),
        CL_SAMPLER_LOD_MAX.into(),
        u64::from(2.5f32.to_bits()),
        0,
    ];
    let sampler = made(|e| clCreateSamplerWithProperties(c, levels.as_ptr(), e));
    let value = |name| {
        let mut value: cl_uint = 77;
        assert_eq!(clGetSamplerInfo(sampler, name, 4, (&raw mut value).cast(), null_mut()), CL_SUCCESS);
        value
    };
    let names = [CL_SAMPLER_MIP_FILTER_MODE, CL_SAMPLER_LOD_MIN, CL_SAMPLER_LOD_MAX];
    assert_eq!(names.map(value), [CL_FILTER_LINEAR, 0, 2.5f32.to_bits()]);
    assert_eq!(clReleaseSampler(sampler), CL_SUCCESS);
    let strange = [CL_SAMPLER_LOD_MIN.into(), u64::from(f32::NAN.to_bits()), 0];
    assert_eq!(refused(|e| clCreateSamplerWithProperties(c, strange.as_ptr(), e)), CL_INVALID_VALUE);
    let sampler = made(|e| clCreateSamplerWithProperties(c, null(), e));
    let mut size = 9;
    assert_eq!(clGetSamplerInfo(sampler, CL_SAMPLER_PROPERTIES, 0, null_mut(), &mut size), CL_SUCCESS);
    assert_eq!(size, 0);
    assert_eq!(clReleaseSampler(sampler), CL_SUCCESS);
}

/// Parts of an image that have no byte in common may be mapped for writing at the same time, and only those.
#[test]
fn mapped_tiles() {
    let setup = Setup::new();
    let q = setup.queue;
    for (kind, depth) in [(CL_MEM_OBJECT_IMAGE2D, 1), (CL_MEM_OBJECT_IMAGE3D, 3)] {
        let image = made(|e| clCreateImage(setup.context, 0, &RGBA8, &desc(kind, [8, 6, depth], 1), null_mut(), e));
        let map = |origin: [usize; 3], region: [usize; 3]| {
            let (mut pitches, mut error) = ([0; 2], 1);
            let [row, slice] = &mut pitches;
            let (o, r) = (origin.as_ptr(), region.as_ptr());
            let flags = CL_MAP_WRITE;
            let ptr = clEnqueueMapImage(q, image, CL_TRUE, flags, o, r, row, slice, 0, NONE, SKIP, &mut error);
            if error == CL_SUCCESS { Ok(ptr) } else { Err(error) }
        };
        let tiles = [([0, 0, 0], [4, 3, 1]), ([4, 0, 0], [4, 3, 1]), ([0, 3, 0], [4, 3, 1]), ([4, 3, 0], [4, 3, 1])];
        let pointers = tiles.map(|(origin, region)| map(origin, region).unwrap());
        for (origin, region) in tiles.into_iter().chain([([3, 2, 0], [2, 1, 1]), ([0, 0, 0], [8, 6, depth])]) {
            assert_eq!(map(origin, region), Err(CL_INVALID_OPERATION), "{origin:?}");
        }
        if depth > 1 {
            let below = map([0, 0, 1], [8, 6, depth - 1]).unwrap();
            assert_eq!(map([7, 5, 2], [1, 1, 1]), Err(CL_INVALID_OPERATION));
            assert_eq!(clEnqueueUnmapMemObject(q, image, below, 0, NONE, SKIP), CL_SUCCESS);
        }
        for ptr in pointers {
            assert_eq!(clEnqueueUnmapMemObject(q, image, ptr, 0, NONE, SKIP), CL_SUCCESS);
        }
        assert_eq!(clFinish(q), CL_SUCCESS);
        assert_eq!(clReleaseMemObject(image), CL_SUCCESS);
    }
}

/// The pitches of the application's memory need not be multiples of anything.
#[test]
fn odd_pitches() {
    const ROW: usize = 4 * 4 + 3;
    const SLICE: usize = 3 * ROW + 5;
    let setup = Setup::new();
    let (q, kind) = (setup.queue, CL_MEM_OBJECT_IMAGE3D);
    let image = made(|e| clCreateImage(setup.context, 0, &RGBA8, &desc(kind, [4, 3, 2], 1), null_mut(), e));
    let host: Vec<u8> = (0..2 * SLICE).map(|place| place as u8).collect();
    let mut back = vec![0u8; host.len()];
    let (zero, all) = ([0usize; 3], [4usize, 3, 2]);
    let (o, r) = (zero.as_ptr(), all.as_ptr());
    let (from, to) = (host.as_ptr().cast(), back.as_mut_ptr().cast());
    assert_eq!(clEnqueueWriteImage(q, image, CL_TRUE, o, r, ROW, SLICE, from, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueReadImage(q, image, CL_TRUE, o, r, ROW, SLICE, to, 0, NONE, SKIP), CL_SUCCESS);
    for (place, (written, read)) in host.iter().zip(&back).enumerate() {
        let in_image = place % SLICE < 3 * ROW && place % SLICE % ROW < 16;
        assert_eq!(*read, if in_image { *written } else { 0 }, "{place}");
    }
    for (row, slice) in [(15, 0), (16, 47), (ROW, 3 * ROW - 1)] {
        let status = clEnqueueReadImage(q, image, CL_TRUE, o, r, row, slice, to, 0, NONE, SKIP);
        assert_eq!(status, CL_INVALID_VALUE, "{row} {slice}");
    }
    assert_eq!(clReleaseMemObject(image), CL_SUCCESS);
}
