//! Native kernels.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

#[repr(C)]
struct Args {
    number: u64,
    buffer: *mut u64,
    nothing: *mut u64,
}

extern "C" fn store(args: *mut c_void) {
    // SAFETY: the block that the case enqueued, its handles replaced by addresses.
    unsafe {
        let args = &*args.cast::<Args>();
        assert!(args.nothing.is_null());
        args.buffer.write(args.number);
    }
}

extern "C" fn without_arguments(args: *mut c_void) {
    assert!(args.is_null());
}

#[test]
fn native_kernels() {
    let setup = Setup::new();
    let buffer = setup.buffer(0, 8);
    let args = Args { number: 0x0102_0304_0506_0708, buffer: null_mut(), nothing: null_mut() };
    let block: *const c_void = (&raw const args).cast();
    let size = size_of::<Args>();
    let mems = [buffer, null_mut()];
    let places: [*const c_void; 2] = [(&raw const args.buffer).cast(), (&raw const args.nothing).cast()];
    let run = |function, block, size, count, mems: &[cl_mem], places: &[*const c_void]| {
        let list = if mems.is_empty() { null() } else { mems.as_ptr() };
        let at = if places.is_empty() { null() } else { places.as_ptr() };
        clEnqueueNativeKernel(setup.queue, function, block, size, count, list, at, 0, NONE, SKIP)
    };
    assert_eq!(run(Some(store), block, size, 2, &mems, &places), CL_SUCCESS);
    assert_eq!(setup.contents(buffer), args.number.to_ne_bytes());
    assert_eq!(run(Some(without_arguments), null(), 0, 0, &[], &[]), CL_SUCCESS);

    assert_eq!(run(None, block, size, 2, &mems, &places), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), null(), size, 0, &[], &[]), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), null(), 0, 2, &mems, &places), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), block, 0, 0, &[], &[]), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), block, size, 2, &[], &places), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), block, size, 2, &mems, &[]), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), block, size, 0, &mems, &[]), CL_INVALID_VALUE);
    assert_eq!(run(Some(store), block, size, 0, &[], &places), CL_INVALID_VALUE);
    let bad = [buffer, device()];
    assert_eq!(run(Some(store), block, size, 2, &bad, &places), CL_INVALID_MEM_OBJECT);
    // Images are not buffers, nor are pipes.
    let format = cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_UNSIGNED_INT8 };
    // SAFETY: a structure of numbers and a handle.
    let mut desc: cl_image_desc = unsafe { std::mem::zeroed() };
    (desc.image_type, desc.image_width) = (CL_MEM_OBJECT_IMAGE1D, 8);
    let image = made(|e| clCreateImage(setup.context, 0, &format, &desc, null_mut(), e));
    let pipe = made(|e| clCreatePipe(setup.context, 0, 4, 4, null(), e));
    for other in [image, pipe] {
        assert_eq!(run(Some(store), block, size, 2, &[other, null_mut()], &places), CL_INVALID_MEM_OBJECT);
        assert_eq!(clReleaseMemObject(other), CL_SUCCESS);
    }
    let outside = [places[0], block.wrapping_byte_add(size)];
    assert_eq!(run(Some(store), block, size, 2, &mems, &outside), CL_INVALID_VALUE);
    let before = [places[0], block.wrapping_byte_sub(1)];
    assert_eq!(run(Some(store), block, size, 2, &mems, &before), CL_INVALID_VALUE);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}
