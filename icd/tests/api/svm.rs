//! Shared virtual memory: allocating, freeing, and the commands on it. What all commands share is in `waits`.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cl::*;

fn svm(setup: &Setup, size: usize) -> *mut c_void {
    let pointer = clSVMAlloc(setup.context, CL_MEM_READ_WRITE, size, 0);
    assert!(!pointer.is_null());
    pointer
}

/// The bytes at an address.
fn bytes(pointer: *const c_void, len: usize) -> Vec<u8> {
    // SAFETY: the cases ask for memory that they have allocated, when no command writes to it.
    unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) }.to_vec()
}

#[test]
fn device() {
    let caps: cl_bitfield = info(|s, v, r| clGetDeviceInfo(super::cl::device(), CL_DEVICE_SVM_CAPABILITIES, s, v, r));
    assert_eq!(caps, 0b1111);
}

#[test]
fn alloc() {
    let setup = Setup::new();
    let fine = CL_MEM_SVM_FINE_GRAIN_BUFFER;
    for flags in [0, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | fine, fine | CL_MEM_SVM_ATOMICS] {
        for align in [0, 1, 8, 128, 256, 4096, 65536, 2 << 20] {
            let pointer = clSVMAlloc(setup.context, flags, 100, align);
            assert!(!pointer.is_null() && pointer.addr().is_multiple_of(align.max(1) as usize));
            clSVMFree(setup.context, pointer);
        }
    }
    let max: cl_ulong = info(|s, v, r| clGetDeviceInfo(super::cl::device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, s, v, r));
    for (flags, size, align) in [
        (CL_MEM_SVM_ATOMICS, 100, 0),
        (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 100, 0),
        (CL_MEM_USE_HOST_PTR, 100, 0),
        (CL_MEM_READ_ONLY | CL_MEM_IMMUTABLE_EXT, 100, 0),
        (1 << 40, 100, 0),
        (0, 0, 0),
        (0, max as usize + 1, 0),
        (0, 100, 3),
        (0, 100, 4 << 20),
        (0, 100, 1 << 31),
        (0, 100, u32::MAX),
    ] {
        assert!(clSVMAlloc(setup.context, flags, size, align).is_null(), "{flags:#x} {size} {align}");
    }
    assert!(clSVMAlloc(null_mut(), 0, 100, 0).is_null());
    assert!(clSVMAlloc(setup.queue, 0, 100, 0).is_null());
    clSVMFree(setup.context, null_mut());
    clSVMFree(null_mut(), null_mut());
}

#[test]
fn copy() {
    let setup = Setup::new();
    let q = setup.queue;
    let (a, b) = (svm(&setup, 64), svm(&setup, 64));
    let pattern = [1u8, 2, 3, 4];
    assert_eq!(clEnqueueSVMMemFill(q, a, pattern.as_ptr().cast(), 4, 64, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, b, a, 64, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(bytes(b, 64), pattern.repeat(16));
    // Memory of no allocation is as good.
    let mut own = [0u8; 64];
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, own.as_mut_ptr().cast(), a, 64, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(own.to_vec(), pattern.repeat(16));
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, b, a, 0, 0, NONE, SKIP), CL_SUCCESS);

    // No bytes may be at NULL.
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, null_mut(), a, 0, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, b, null(), 0, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, null_mut(), a, 64, 0, NONE, SKIP), CL_INVALID_VALUE);
    assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, b, null(), 64, 0, NONE, SKIP), CL_INVALID_VALUE);
    for (to, from) in [(0, 0), (0, 31), (31, 0)] {
        let (to, from) = (a.wrapping_byte_add(to), a.wrapping_byte_add(from));
        assert_eq!(clEnqueueSVMMemcpy(q, CL_TRUE, to, from, 32, 0, NONE, SKIP), CL_MEM_COPY_OVERLAP);
    }
    for pointer in [a, b] {
        clSVMFree(setup.context, pointer);
    }
}

#[test]
fn fill() {
    let setup = Setup::new();
    let a = svm(&setup, 256);
    let pattern = [7u8; 256];
    let p = pattern.as_ptr().cast();
    let fill = |to, p, pattern_size, size| clEnqueueSVMMemFill(setup.queue, to, p, pattern_size, size, 0, NONE, SKIP);
    for size in [1, 2, 4, 8, 16, 32, 64, 128] {
        assert_eq!(fill(a, p, size, 256), CL_SUCCESS);
    }
    assert_eq!(fill(null_mut(), p, 4, 0), CL_SUCCESS);
    assert_eq!(fill(null_mut(), p, 4, 64), CL_INVALID_VALUE);
    assert_eq!(fill(a.wrapping_byte_add(2), p, 4, 64), CL_INVALID_VALUE);
    assert_eq!(fill(a, null(), 4, 64), CL_INVALID_VALUE);
    for size in [0, 3, 256] {
        assert_eq!(fill(a, p, size, 256), CL_INVALID_VALUE);
    }
    assert_eq!(fill(a, p, 4, 6), CL_INVALID_VALUE);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    clSVMFree(setup.context, a);
}

#[test]
fn map() {
    let setup = Setup::new();
    let q = setup.queue;
    let a = svm(&setup, 64);
    let map = |flags, ptr, size| clEnqueueSVMMap(q, CL_TRUE, flags, ptr, size, 0, NONE, SKIP);
    for flags in [CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION] {
        assert_eq!(map(flags, a, 64), CL_SUCCESS);
        assert_eq!(clEnqueueSVMUnmap(q, a, 0, NONE, SKIP), CL_SUCCESS);
    }
    assert_eq!(map(CL_MAP_READ, null_mut(), 64), CL_INVALID_VALUE);
    assert_eq!(map(CL_MAP_READ, a, 0), CL_INVALID_VALUE);
    assert_eq!(map(8, a, 64), CL_INVALID_VALUE);
    assert_eq!(map(CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, a, 64), CL_INVALID_VALUE);
    assert_eq!(clEnqueueSVMUnmap(q, null_mut(), 0, NONE, SKIP), CL_INVALID_VALUE);
    assert_eq!(clFinish(q), CL_SUCCESS);
    clSVMFree(setup.context, a);
}

#[test]
fn migrate() {
    let setup = Setup::new();
    let pointers = [svm(&setup, 64), svm(&setup, 64)];
    let p = pointers.as_ptr();
    let migrate = |n, p, sizes, flags| clEnqueueSVMMigrateMem(setup.queue, n, p, sizes, flags, 0, NONE, SKIP);
    assert_eq!(migrate(2, p, null(), 0), CL_SUCCESS);
    assert_eq!(migrate(2, p, [0, 64].as_ptr(), CL_MIGRATE_MEM_OBJECT_HOST), CL_SUCCESS);
    let some = [null_mut(), pointers[1]];
    assert_eq!(migrate(2, some.as_ptr(), null(), 0), CL_SUCCESS);
    assert_eq!(migrate(2, some.as_ptr(), [1, 0].as_ptr(), 0), CL_INVALID_VALUE);
    assert_eq!(migrate(0, p, null(), 0), CL_INVALID_VALUE);
    assert_eq!(migrate(2, null(), null(), 0), CL_INVALID_VALUE);
    assert_eq!(migrate(2, p, null(), 4), CL_INVALID_VALUE);
    assert_eq!(migrate(2, p, [0, 65].as_ptr(), 0), CL_INVALID_VALUE);
    let inside = [pointers[0].wrapping_byte_add(32)];
    assert_eq!(migrate(1, inside.as_ptr(), [32].as_ptr(), 0), CL_SUCCESS);
    assert_eq!(migrate(1, inside.as_ptr(), [33].as_ptr(), 0), CL_INVALID_VALUE);
    // Memory of no allocation is as good.
    let own = [0u8; 64];
    let place = [own.as_ptr().cast_mut().cast::<c_void>()];
    assert_eq!(migrate(1, place.as_ptr(), [64].as_ptr(), 0), CL_SUCCESS);
    assert_eq!(migrate(1, place.as_ptr(), null(), 0), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    for pointer in pointers {
        clSVMFree(setup.context, pointer);
    }
}

static FREED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn freed(queue: cl_command_queue, count: cl_uint, pointers: *mut *mut c_void, context: *mut c_void) {
    let found: cl_context = info(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, s, v, r));
    assert_eq!(found, context);
    for index in 0..count as usize {
        // SAFETY: as many pointers as the count says.
        clSVMFree(context, unsafe { pointers.add(index).read() });
    }
    FREED.fetch_add(count as usize, Ordering::SeqCst);
}

#[test]
fn free_by_command() {
    let setup = Setup::new();
    let free = |n, p, function, user, event| clEnqueueSVMFree(setup.queue, n, p, function, user, 0, NONE, event);
    let none = null_mut();
    assert_eq!(free(1, null(), None, none, SKIP), CL_INVALID_VALUE);
    let pointers = [svm(&setup, 64), svm(&setup, 64)];
    assert_eq!(free(0, pointers.as_ptr(), None, none, SKIP), CL_INVALID_VALUE);
    assert_eq!(free(2, pointers.as_ptr(), None, none, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);

    let pointers = [svm(&setup, 64), svm(&setup, 64)];
    let mut event = null_mut();
    assert_eq!(free(2, pointers.as_ptr(), Some(freed), setup.context, &mut event), CL_SUCCESS);
    assert_eq!(ended(event), CL_COMPLETE);
    assert_eq!(FREED.load(Ordering::SeqCst), 2);

    // A released queue lives until its commands have ended, so its handle is valid in the function.
    let (queue, gate) = (made(|e| clCreateCommandQueue(setup.context, super::cl::device(), 0, e)), setup.user_event());
    let pointer = svm(&setup, 64);
    assert_eq!(clEnqueueSVMFree(queue, 1, &pointer, Some(freed), setup.context, 1, &gate, SKIP), CL_SUCCESS);
    assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    while FREED.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    assert_eq!(clReleaseEvent(gate), CL_SUCCESS);
}

/// Buffers over shared memory.
#[test]
fn buffers() {
    let setup = Setup::new();
    let a = svm(&setup, 64);
    let create = |flags, size, host| move |e: *mut cl_int| clCreateBuffer(setup_context(), flags, size, host, e);
    fn setup_context() -> cl_context {
        CONTEXT.load(Ordering::SeqCst) as cl_context
    }
    static CONTEXT: AtomicUsize = AtomicUsize::new(0);
    CONTEXT.store(setup.context.expose_provenance(), Ordering::SeqCst);
    for flags in [CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR] {
        assert_eq!(refused(create(flags, 65, a)), CL_INVALID_BUFFER_SIZE);
        let buffer = made(create(flags, 64, a));
        let uses: cl_bool = info(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, s, v, r));
        assert_eq!(uses, cl_bool::from(flags == CL_MEM_USE_HOST_PTR));
        assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    }
    clSVMFree(setup.context, a);
}
