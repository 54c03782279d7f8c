//! Unified shared memory, and the addresses of buffers. What all commands share is in `waits`.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

const FLAGS: cl_bitfield = CL_MEM_ALLOC_FLAGS_INTEL as cl_bitfield;

/// The three calls as functions of properties, size and alignment.
type Alloc<'a> = Box<dyn Fn(*const cl_bitfield, usize, cl_uint, *mut cl_int) -> *mut c_void + 'a>;

fn calls(setup: &Setup) -> [(Alloc<'_>, cl_uint); 4] {
    let c = setup.context;
    [
        (Box::new(move |p, s, a, e| clHostMemAllocINTEL(c, p, s, a, e)), CL_MEM_TYPE_HOST_INTEL),
        (Box::new(move |p, s, a, e| clDeviceMemAllocINTEL(c, device(), p, s, a, e)), CL_MEM_TYPE_DEVICE_INTEL),
        (Box::new(move |p, s, a, e| clSharedMemAllocINTEL(c, device(), p, s, a, e)), CL_MEM_TYPE_SHARED_INTEL),
        (Box::new(move |p, s, a, e| clSharedMemAllocINTEL(c, null_mut(), p, s, a, e)), CL_MEM_TYPE_SHARED_INTEL),
    ]
}

#[test]
fn capabilities() {
    for name in 0x4190..=0x4194 {
        let caps: cl_bitfield = info(|s, v, r| clGetDeviceInfo(device(), name, s, v, r));
        assert_eq!(caps, 0b1111, "{name:#x}");
    }
}

#[test]
fn alloc_and_ask() {
    let setup = Setup::new();
    let c = setup.context;
    for (index, (alloc, kind)) in calls(&setup).iter().enumerate() {
        let flags = CL_MEM_ALLOC_WRITE_COMBINED_INTEL;
        let pointer = made(|e| alloc([FLAGS, flags, 0].as_ptr(), 100, 64, e));
        for inside in [0, 99] {
            let inside = pointer.wrapping_byte_add(inside);
            let ask = |name| move |s, v, r| clGetMemAllocInfoINTEL(c, inside, name, s, v, r);
            assert_eq!(info::<cl_uint>(ask(CL_MEM_ALLOC_TYPE_INTEL)), *kind);
            assert_eq!(info::<*mut c_void>(ask(CL_MEM_ALLOC_BASE_PTR_INTEL)), pointer);
            assert_eq!(info::<usize>(ask(CL_MEM_ALLOC_SIZE_INTEL)), 100);
            assert_eq!(info::<cl_bitfield>(ask(FLAGS as cl_uint)), flags);
            let of = if index == 1 || index == 2 { device() } else { null_mut() };
            assert_eq!(info::<cl_device_id>(ask(CL_MEM_ALLOC_DEVICE_INTEL)), of);
            assert_eq!(ask(CL_MEM_SIZE)(0, null_mut(), null_mut()), CL_INVALID_VALUE);
        }
        assert_eq!(clMemFreeINTEL(c, pointer.wrapping_byte_add(1)), CL_INVALID_VALUE);
        assert_eq!(clMemFreeINTEL(c, pointer), CL_SUCCESS);
        assert_eq!(clMemFreeINTEL(c, pointer), CL_INVALID_VALUE);
        let ask = |s, v, r| clGetMemAllocInfoINTEL(c, pointer, CL_MEM_ALLOC_TYPE_INTEL, s, v, r);
        assert_eq!(info::<cl_uint>(ask), CL_MEM_TYPE_UNKNOWN_INTEL);
    }
}

#[test]
fn invalid_allocations() {
    let setup = Setup::new();
    let max: cl_ulong = info(|s, v, r| clGetDeviceInfo(device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, s, v, r));
    let (on_device, on_host) = (CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL, CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL);
    for (index, (alloc, _)) in calls(&setup).iter().enumerate() {
        let error = |properties: &[cl_bitfield], size, align| refused(|e| alloc(properties.as_ptr(), size, align, e));
        assert_eq!(error(&[0], 0, 0), CL_INVALID_BUFFER_SIZE);
        assert_eq!(error(&[0], max as usize + 1, 0), CL_INVALID_BUFFER_SIZE);
        assert_eq!(error(&[0], 8, 3), CL_INVALID_VALUE);
        assert_eq!(error(&[0], 8, 4 << 20), CL_INVALID_VALUE);
        for align in [256, 4096, 2 << 20] {
            let pointer = made(|e| alloc([0].as_ptr(), 8, align, e));
            assert!(pointer.addr().is_multiple_of(align as usize));
            assert_eq!(clMemFreeINTEL(setup.context, pointer), CL_SUCCESS);
        }
        assert_eq!(error(&[1, 0, 0], 8, 0), CL_INVALID_PROPERTY);
        assert_eq!(error(&[FLAGS, 8, 0], 8, 0), CL_INVALID_PROPERTY);
        assert_eq!(error(&[FLAGS, 0, FLAGS, 0, 0], 8, 0), CL_INVALID_PROPERTY);
        assert_eq!(error(&[FLAGS, on_device | on_host, 0], 8, 0), CL_INVALID_PROPERTY);
        if index < 2 {
            assert_eq!(error(&[FLAGS, on_device, 0], 8, 0), CL_INVALID_PROPERTY);
        } else {
            let pointer = made(|e| alloc([FLAGS, on_device, 0].as_ptr(), 8, 0, e));
            assert_eq!(clMemFreeINTEL(setup.context, pointer), CL_SUCCESS);
        }
    }
    assert_eq!(refused(|e| clHostMemAllocINTEL(null_mut(), null(), 8, 0, e)), CL_INVALID_CONTEXT);
    assert_eq!(refused(|e| clDeviceMemAllocINTEL(setup.context, null_mut(), null(), 8, 0, e)), CL_INVALID_DEVICE);
    assert_eq!(refused(|e| clSharedMemAllocINTEL(setup.context, setup.queue, null(), 8, 0, e)), CL_INVALID_DEVICE);
    assert_eq!(clMemFreeINTEL(null_mut(), null_mut()), CL_INVALID_CONTEXT);
    assert_eq!(clMemFreeINTEL(setup.context, null_mut()), CL_SUCCESS);
    assert_eq!(clMemBlockingFreeINTEL(setup.context, null_mut()), CL_SUCCESS);
    let svm = clSVMAlloc(setup.context, 0, 8, 0);
    assert_eq!(clMemFreeINTEL(setup.context, svm), CL_INVALID_VALUE);
    assert_eq!(clMemBlockingFreeINTEL(setup.context, svm), CL_INVALID_VALUE);
    clSVMFree(setup.context, svm);
}

#[test]
fn commands() {
    let setup = Setup::new();
    let q = setup.queue;
    let a = made(|e| clSharedMemAllocINTEL(setup.context, null_mut(), null(), 64, 0, e));
    let mut host = [0u8; 64];
    assert_eq!(clEnqueueMemsetINTEL(q, a, 0x1_05, 64, 0, NONE, SKIP), CL_SUCCESS);
    let pattern = [9u8; 2];
    assert_eq!(clEnqueueMemFillINTEL(q, a, pattern.as_ptr().cast(), 2, 32, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueMigrateMemINTEL(q, a, 64, CL_MIGRATE_MEM_OBJECT_HOST, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueMemAdviseINTEL(q, a, 64, 0, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueMemcpyINTEL(q, CL_TRUE, host.as_mut_ptr().cast(), a, 64, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!((&host[..32], &host[32..]), (&[9; 32][..], &[5; 32][..]));
    assert_eq!(clEnqueueMemsetINTEL(q, null_mut(), 0, 64, 0, NONE, SKIP), CL_INVALID_VALUE);
    assert_eq!(clEnqueueMigrateMemINTEL(q, a, 64, 8, 0, NONE, SKIP), CL_INVALID_VALUE);
    assert_eq!(clEnqueueMemAdviseINTEL(q, a, 64, 0x4208, 0, NONE, SKIP), CL_INVALID_VALUE);
    assert_eq!(clMemBlockingFreeINTEL(setup.context, a), CL_SUCCESS);
}

#[test]
fn addresses_of_buffers() {
    let setup = Setup::new();
    let create = |list: &[cl_mem_properties]| {
        let mut error = 1;
        let buffer = clCreateBufferWithProperties(setup.context, list.as_ptr(), 0, 512, null_mut(), &mut error);
        assert_eq!(buffer.is_null(), error != CL_SUCCESS);
        if error == CL_SUCCESS { Ok(buffer) } else { Err(error) }
    };
    let name = CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT;
    assert_eq!(create(&[name, 2, 0]), Err(CL_INVALID_PROPERTY));
    assert_eq!(create(&[name, 1, name, 1, 0]), Err(CL_INVALID_PROPERTY));
    for on in [0, 1] {
        let buffer = create(&[name, on, 0]).unwrap();
        let region = cl_buffer_region { origin: 128, size: 64 };
        let region = (&raw const region).cast();
        let part = made(|e| clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, region, e));
        let ask = |m| move |s, v, r| clGetMemObjectInfo(m, CL_MEM_DEVICE_ADDRESS_EXT, s, v, r);
        if on == 0 {
            assert_eq!(ask(buffer)(0, null_mut(), null_mut()), CL_INVALID_OPERATION);
        } else {
            let address: cl_ulong = info(ask(buffer));
            assert!(address != 0 && address.is_multiple_of(128));
            assert_eq!(info::<cl_ulong>(ask(part)), address + 128);
        }
        for m in [part, buffer] {
            assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
        }
    }
}

#[test]
fn immutable_buffers() {
    let setup = Setup::new();
    let (q, c) = (setup.queue, setup.context);
    let mut host = [4u8; 64];
    let ptr = host.as_mut_ptr().cast();
    let immutable = CL_MEM_IMMUTABLE_EXT;
    for flags in [
        immutable,
        immutable | CL_MEM_ALLOC_HOST_PTR,
        immutable | CL_MEM_COPY_HOST_PTR | CL_MEM_READ_WRITE,
        immutable | CL_MEM_COPY_HOST_PTR | CL_MEM_WRITE_ONLY,
        immutable | CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_WRITE_ONLY,
    ] {
        let host = if flags & CL_MEM_COPY_HOST_PTR == 0 { null_mut() } else { ptr };
        assert_eq!(refused(|e| clCreateBuffer(c, flags, 64, host, e)), CL_INVALID_VALUE, "{flags:#x}");
    }
    let buffer = made(|e| clCreateBuffer(c, immutable | CL_MEM_COPY_HOST_PTR, 64, ptr, e));
    let other = setup.buffer(0, 64);
    let (o, g) = ([0usize; 3], [4usize, 2, 1]);
    let (o, g) = (o.as_ptr(), g.as_ptr());
    let none = CL_INVALID_OPERATION;
    assert_eq!(clEnqueueWriteBuffer(q, buffer, CL_TRUE, 0, 64, ptr, 0, NONE, SKIP), none);
    assert_eq!(clEnqueueWriteBufferRect(q, buffer, CL_TRUE, o, o, g, 0, 0, 0, 0, ptr, 0, NONE, SKIP), none);
    assert_eq!(clEnqueueCopyBuffer(q, other, buffer, 0, 0, 64, 0, NONE, SKIP), none);
    assert_eq!(clEnqueueCopyBufferRect(q, other, buffer, o, o, g, 0, 0, 0, 0, 0, NONE, SKIP), none);
    assert_eq!(clEnqueueFillBuffer(q, buffer, ptr, 1, 0, 64, 0, NONE, SKIP), none);
    for flags in [CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION] {
        assert_eq!(refused(|e| clEnqueueMapBuffer(q, buffer, CL_TRUE, flags, 0, 64, 0, NONE, SKIP, e)), none);
    }
    assert_eq!(clEnqueueCopyBuffer(q, buffer, other, 0, 0, 64, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(setup.contents(other), vec![4; 64]);
    let region = cl_buffer_region { origin: 0, size: 64 };
    let region = (&raw const region).cast();
    let part = |flags| move |e: *mut cl_int| clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, region, e);
    for flags in [CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_HOST_WRITE_ONLY] {
        assert_eq!(refused(part(flags)), CL_INVALID_VALUE);
    }
    let part = made(part(0));
    assert_eq!(clEnqueueFillBuffer(q, part, ptr, 1, 0, 64, 0, NONE, SKIP), none);
    for m in [part, other, buffer] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}
