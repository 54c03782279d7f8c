//! Buffers and sub-buffers: creation, queries, destructor callbacks.

use parking_lot::Mutex;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

const ALIGN: usize = 128;

#[test]
fn create() {
    let setup = Setup::new();
    let mut host = [7u8; 64];
    let ptr: *mut c_void = host.as_mut_ptr().cast();
    let make = |flags, size, ptr, e| clCreateBuffer(setup.context, flags, size, ptr, e);

    for flags in
        [0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS]
    {
        let buffer = made(|e| make(flags, 64, null_mut(), e));
        assert_eq!(info::<cl_mem_flags>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_FLAGS, s, v, r)), flags);
        assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    }
    let copied = made(|e| make(CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 64, ptr, e));
    assert_eq!(setup.contents(copied), [7; 64]);
    assert!(info::<*mut c_void>(|s, v, r| clGetMemObjectInfo(copied, CL_MEM_HOST_PTR, s, v, r)).is_null());
    let used = made(|e| make(CL_MEM_USE_HOST_PTR, 64, ptr, e));
    assert_eq!(info::<*mut c_void>(|s, v, r| clGetMemObjectInfo(used, CL_MEM_HOST_PTR, s, v, r)), ptr);
    for buffer in [copied, used] {
        assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    }

    assert_eq!(refused(|e| clCreateBuffer(null_mut(), 0, 64, null_mut(), e)), CL_INVALID_CONTEXT);
    for flags in [
        1 << 40,
        CL_MEM_KERNEL_READ_AND_WRITE,
        CL_MEM_SVM_FINE_GRAIN_BUFFER,
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
        CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY,
        CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
    ] {
        assert_eq!(refused(|e| make(flags, 64, null_mut(), e)), CL_INVALID_VALUE, "{flags:#x}");
    }
    for more in [CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR] {
        assert_eq!(refused(|e| make(CL_MEM_USE_HOST_PTR | more, 64, ptr, e)), CL_INVALID_VALUE);
    }
    let largest: cl_ulong = info(|s, v, r| clGetDeviceInfo(device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, s, v, r));
    for size in [0, largest as usize + 1, usize::MAX] {
        assert_eq!(refused(|e| make(0, size, null_mut(), e)), CL_INVALID_BUFFER_SIZE);
    }
    for flags in [CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR] {
        assert_eq!(refused(|e| make(flags, 64, null_mut(), e)), CL_INVALID_HOST_PTR);
    }
    for flags in [0, CL_MEM_ALLOC_HOST_PTR] {
        assert_eq!(refused(|e| make(flags, 64, ptr, e)), CL_INVALID_HOST_PTR);
    }
}

#[test]
fn create_with_properties() {
    let setup = Setup::new();
    let make =
        |list: *const cl_mem_properties, e| clCreateBufferWithProperties(setup.context, list, 0, 64, null_mut(), e);
    for (list, size) in [(null(), 0), ([0].as_ptr(), size_of::<cl_mem_properties>())] {
        let buffer = made(|e| make(list, e));
        assert_eq!(info_bytes(&|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_PROPERTIES, s, v, r)).len(), size);
        assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    }
    let bad: [cl_mem_properties; 3] = [0xdead, 1, 0];
    assert_eq!(refused(|e| make(bad.as_ptr(), e)), CL_INVALID_PROPERTY);
    let of_nothing = |e| clCreateBufferWithProperties(null_mut(), bad.as_ptr(), 0, 64, null_mut(), e);
    assert_eq!(refused(of_nothing), CL_INVALID_CONTEXT);
    let empty = |e| clCreateBufferWithProperties(setup.context, null(), 0, 0, null_mut(), e);
    assert_eq!(refused(empty), CL_INVALID_BUFFER_SIZE);
}

/// `clCreateSubBuffer` of a region.
fn sub(buffer: cl_mem, flags: cl_mem_flags, origin: usize, size: usize, error: *mut cl_int) -> cl_mem {
    let region = cl_buffer_region { origin, size };
    clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast(), error)
}

#[test]
fn sub_buffers() {
    let setup = Setup::new();
    let mut host = vec![0u8; 4 * ALIGN];
    let ptr: *mut c_void = host.as_mut_ptr().cast();
    let flags = CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY;
    let whole = made(|e| clCreateBuffer(setup.context, flags, 4 * ALIGN, ptr, e));
    let part = made(|e| sub(whole, 0, ALIGN, 10, e));
    assert_eq!(info::<usize>(|s, v, r| clGetMemObjectInfo(part, CL_MEM_SIZE, s, v, r)), 10);
    assert_eq!(info::<usize>(|s, v, r| clGetMemObjectInfo(part, CL_MEM_OFFSET, s, v, r)), ALIGN);
    assert_eq!(info::<cl_mem>(|s, v, r| clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, s, v, r)), whole);
    assert_eq!(info::<cl_mem_flags>(|s, v, r| clGetMemObjectInfo(part, CL_MEM_FLAGS, s, v, r)), flags, "inherited");
    let at = info::<*mut c_void>(|s, v, r| clGetMemObjectInfo(part, CL_MEM_HOST_PTR, s, v, r));
    assert_eq!(at.addr(), ptr.addr() + ALIGN);

    assert_eq!(refused(|e| sub(null_mut(), 0, 0, 1, e)), CL_INVALID_MEM_OBJECT);
    assert_eq!(refused(|e| sub(part, 0, 0, 1, e)), CL_INVALID_MEM_OBJECT);
    for storage in [CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR, 1 << 40] {
        assert_eq!(refused(|e| sub(whole, storage, 0, 1, e)), CL_INVALID_VALUE);
    }
    let region = cl_buffer_region { origin: 0, size: 1 };
    assert_eq!(refused(|e| clCreateSubBuffer(whole, 0, 0xdead, (&raw const region).cast(), e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, null(), e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| sub(whole, 0, 0, 0, e)), CL_INVALID_BUFFER_SIZE);
    for (origin, size) in [(4 * ALIGN, 1), (0, 4 * ALIGN + 1), (ALIGN, usize::MAX), (usize::MAX - 127, ALIGN)] {
        assert_eq!(refused(|e| sub(whole, 0, origin, size, e)), CL_INVALID_VALUE);
    }
    assert_eq!(refused(|e| sub(whole, 0, 4, 4, e)), CL_MISALIGNED_SUB_BUFFER_OFFSET);

    // The part keeps the whole alive.
    assert_eq!(clReleaseMemObject(whole), CL_SUCCESS);
    assert_eq!(setup.contents(part), [0; 10]);
    assert_eq!(clReleaseMemObject(part), CL_SUCCESS);
}

#[test]
fn sub_buffer_access_is_within_the_buffers() {
    let setup = Setup::new();
    let (rw, ro, wo) = (CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY);
    let (host_ro, host_wo, none) = (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS);
    for (of, bad, good) in [
        (rw, &[][..], &[0, rw, ro, wo, none][..]),
        (wo, &[rw, ro], &[0, wo]),
        (ro, &[rw, wo], &[0, ro]),
        (host_wo, &[host_ro], &[0, host_wo, none]),
        (host_ro, &[host_wo], &[0, host_ro, none]),
        (none, &[host_ro, host_wo], &[0, none]),
    ] {
        let whole = setup.buffer(of, 4 * ALIGN);
        for &flags in bad {
            assert_eq!(refused(|e| sub(whole, flags, 0, 4, e)), CL_INVALID_VALUE, "{flags:#x} of {of:#x}");
        }
        for &flags in good {
            let part = made(|e| sub(whole, flags, 0, 4, e));
            assert_eq!(clReleaseMemObject(part), CL_SUCCESS);
        }
        assert_eq!(clReleaseMemObject(whole), CL_SUCCESS);
    }
}

#[test]
fn queries_and_references() {
    let setup = Setup::new();
    let buffer = setup.buffer(0, 24);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_TYPE, s, v, r)), CL_MEM_OBJECT_BUFFER);
    assert_eq!(info::<usize>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_SIZE, s, v, r)), 24);
    assert_eq!(info::<usize>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_OFFSET, s, v, r)), 0);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, s, v, r)), 0);
    assert_eq!(info::<cl_context>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, s, v, r)), setup.context);
    assert_eq!(info::<cl_bool>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, s, v, r)), CL_FALSE);
    let parent = info::<cl_mem>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, s, v, r));
    assert!(parent.is_null());
    assert_eq!(clGetMemObjectInfo(buffer, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    assert_eq!(clRetainMemObject(buffer), CL_SUCCESS);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, s, v, r)), 2);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

extern "C" fn record(_: *mut c_void, call: *mut c_void) {
    // SAFETY: `call` is the pair that the case passed.
    let (list, number) = unsafe { &*call.cast::<(&Mutex<Vec<u32>>, u32)>() };
    list.lock().push(*number);
}

/// Destructor callbacks come in reverse order, once no command uses the buffer.
#[test]
fn destructor_callbacks() {
    let list = Mutex::new(Vec::new());
    let calls: Vec<(&Mutex<Vec<u32>>, u32)> = (1..=3).map(|number| (&list, number)).collect();
    let setup = Setup::new();
    let buffer = setup.buffer(0, 16);
    for call in &calls {
        let data = std::ptr::from_ref(call).cast_mut().cast();
        assert_eq!(clSetMemObjectDestructorCallback(buffer, Some(record), data), CL_SUCCESS);
    }
    assert_eq!(clSetMemObjectDestructorCallback(buffer, None, null_mut()), CL_INVALID_VALUE);
    assert_eq!(clSetMemObjectDestructorCallback(null_mut(), Some(record), null_mut()), CL_INVALID_MEM_OBJECT);
    let user = setup.user_event();
    let fill = [1u8];
    let pattern = fill.as_ptr().cast();
    assert_eq!(clEnqueueFillBuffer(setup.queue, buffer, pattern, 1, 0, 16, 1, &user, SKIP), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert!(list.lock().is_empty(), "a command uses the buffer");
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    // The command lets go of the buffer soon after its end.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while list.lock().len() < 3 && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(*list.lock(), [3, 2, 1]);
}
