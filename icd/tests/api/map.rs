//! Mapping, unmapping and migration.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

fn map(
    q: cl_command_queue,
    m: cl_mem,
    flags: cl_map_flags,
    offset: usize,
    size: usize,
    error: *mut cl_int,
) -> *mut c_void {
    clEnqueueMapBuffer(q, m, CL_TRUE, flags, offset, size, 0, NONE, SKIP, error)
}

fn unmap(q: cl_command_queue, m: cl_mem, ptr: *mut c_void) -> cl_int {
    clEnqueueUnmapMemObject(q, m, ptr, 0, NONE, SKIP)
}

fn count(m: cl_mem) -> cl_uint {
    info(|s, v, r| clGetMemObjectInfo(m, CL_MEM_MAP_COUNT, s, v, r))
}

#[test]
fn map_and_unmap() {
    let setup = Setup::new();
    let q = setup.queue;
    let buffer = setup.bytes(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let written = made(|e| map(q, buffer, CL_MAP_WRITE, 2, 2, e));
    let read = made(|e| map(q, buffer, CL_MAP_READ, 0, 8, e));
    let again = made(|e| map(q, buffer, CL_MAP_READ, 0, 8, e));
    assert_eq!((count(buffer), read, read.addr() + 2), (3, again, written.addr()));
    // SAFETY: the region that was mapped.
    unsafe { written.cast::<[u8; 2]>().write([9, 8]) };
    assert_eq!(unmap(q, buffer, written), CL_SUCCESS);
    assert_eq!(unmap(q, buffer, written), CL_INVALID_VALUE);
    assert_eq!(unmap(q, buffer, read), CL_SUCCESS);
    assert_eq!(count(buffer), 1);
    assert_eq!(unmap(q, buffer, again), CL_SUCCESS);
    assert_eq!(setup.contents(buffer), [0, 1, 9, 8, 4, 5, 6, 7]);
    for ptr in [read, null_mut(), read.wrapping_byte_add(1)] {
        assert_eq!(unmap(q, buffer, ptr), CL_INVALID_VALUE);
    }
    assert_eq!(unmap(q, null_mut(), read), CL_INVALID_MEM_OBJECT);
    assert_eq!(count(buffer), 0);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

#[test]
fn rules() {
    let setup = Setup::new();
    let q = setup.queue;
    let buffer = setup.buffer(0, 16);
    assert_eq!(refused(|e| map(q, null_mut(), CL_MAP_READ, 0, 1, e)), CL_INVALID_MEM_OBJECT);
    for (offset, size) in [(0, 0), (0, 17), (16, 1), (usize::MAX, 1), (1, usize::MAX)] {
        assert_eq!(refused(|e| map(q, buffer, CL_MAP_READ, offset, size, e)), CL_INVALID_VALUE);
    }
    let invalidate = CL_MAP_WRITE_INVALIDATE_REGION;
    for flags in [1 << 10, CL_MAP_READ | invalidate, CL_MAP_WRITE | invalidate] {
        assert_eq!(refused(|e| map(q, buffer, flags, 0, 16, e)), CL_INVALID_VALUE);
    }
    // Regions mapped for writing may not overlap, those for reading may.
    let first = made(|e| map(q, buffer, CL_MAP_WRITE, 0, 8, e));
    assert_eq!(refused(|e| map(q, buffer, invalidate, 7, 2, e)), CL_INVALID_OPERATION);
    assert_eq!(refused(|e| map(q, buffer, CL_MAP_READ | CL_MAP_WRITE, 0, 1, e)), CL_INVALID_OPERATION);
    let second = made(|e| map(q, buffer, invalidate, 8, 8, e));
    for ptr in [first, second] {
        assert_eq!(unmap(q, buffer, ptr), CL_SUCCESS);
    }
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);

    for (flags, readable, writable) in [
        (CL_MEM_HOST_READ_ONLY, true, false),
        (CL_MEM_HOST_WRITE_ONLY, false, true),
        (CL_MEM_HOST_NO_ACCESS, false, false),
    ] {
        let buffer = setup.buffer(flags, 16);
        for (flags, allowed) in [
            (CL_MAP_READ, readable),
            (CL_MAP_WRITE, writable),
            (invalidate, writable),
            (CL_MAP_READ | CL_MAP_WRITE, readable && writable),
        ] {
            if allowed {
                let ptr = made(|e| map(q, buffer, flags, 0, 16, e));
                assert_eq!(unmap(q, buffer, ptr), CL_SUCCESS);
            } else {
                assert_eq!(refused(|e| map(q, buffer, flags, 0, 16, e)), CL_INVALID_OPERATION);
            }
        }
        assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    }
}

/// The rule on overlaps holds for all objects in the same memory, as long as they exist.
#[test]
fn overlaps_of_associated_objects() {
    let setup = Setup::new();
    let q = setup.queue;
    let buffer = setup.buffer(0, 256);
    let part = |origin| {
        let region = cl_buffer_region { origin, size: 128 };
        let info = (&raw const region).cast();
        made(|e| clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, info, e))
    };
    let (low, high) = (part(0), part(128));
    let written = made(|e| map(q, buffer, CL_MAP_WRITE, 120, 16, e));
    for (object, offset) in [(low, 127), (high, 0), (high, 7)] {
        assert_eq!(refused(|e| map(q, object, CL_MAP_WRITE, offset, 1, e)), CL_INVALID_OPERATION);
        let read = made(|e| map(q, object, CL_MAP_READ, offset, 1, e));
        assert_eq!((count(object), count(buffer)), (1, 1));
        // It is not a mapping of the buffer, although it is in its memory.
        assert_eq!(unmap(q, buffer, read), CL_INVALID_VALUE);
        assert_eq!(unmap(q, object, read), CL_SUCCESS);
    }
    let other = made(|e| map(q, high, CL_MAP_WRITE, 8, 8, e));
    assert_eq!(unmap(q, high, other), CL_SUCCESS);
    assert_eq!(unmap(q, buffer, written), CL_SUCCESS);
    made(|e| map(q, low, CL_MAP_WRITE, 0, 8, e));
    assert_eq!(refused(|e| map(q, buffer, CL_MAP_WRITE, 0, 8, e)), CL_INVALID_OPERATION);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(low), CL_SUCCESS);
    let written = made(|e| map(q, buffer, CL_MAP_WRITE, 0, 8, e));
    assert_eq!(unmap(q, buffer, written), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    for object in [high, buffer] {
        assert_eq!(clReleaseMemObject(object), CL_SUCCESS);
    }
}

/// With `CL_MEM_USE_HOST_PTR`, mapping gives the application's own memory back.
#[test]
fn host_memory_maps_to_itself() {
    let setup = Setup::new();
    let mut host = [3u8; 16];
    let ptr: *mut c_void = host.as_mut_ptr().cast();
    let buffer = made(|e| clCreateBuffer(setup.context, CL_MEM_USE_HOST_PTR, 16, ptr, e));
    let mapped = made(|e| map(setup.queue, buffer, CL_MAP_READ, 4, 4, e));
    assert_eq!(mapped.addr(), ptr.addr() + 4);
    assert_eq!(unmap(setup.queue, buffer, mapped), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

/// A map whose wait list failed has not happened; the mapping of the same region that came before it stays.
#[test]
fn a_failed_map_has_no_effect() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let q = setup.queue;
    let buffer = setup.buffer(0, 16);
    let user = setup.user_event();
    assert_eq!(clSetUserEventStatus(user, -5), CL_SUCCESS);
    let kept = made(|e| map(q, buffer, CL_MAP_READ, 0, 16, e));
    let error = refused(|e| clEnqueueMapBuffer(q, buffer, CL_TRUE, CL_MAP_READ, 0, 16, 1, &user, SKIP, e));
    assert_eq!(error, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    assert_eq!(count(buffer), 1);
    assert_eq!(unmap(q, buffer, kept), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

#[test]
fn migrate() {
    let setup = Setup::new();
    let mems = [setup.buffer(0, 16), setup.buffer(0, 16)];
    let migrate =
        |count, mems: *const cl_mem, flags| clEnqueueMigrateMemObjects(setup.queue, count, mems, flags, 0, NONE, SKIP);
    for flags in 0..4 {
        assert_eq!(migrate(2, mems.as_ptr(), flags), CL_SUCCESS);
    }
    assert_eq!(migrate(0, mems.as_ptr(), 0), CL_INVALID_VALUE);
    assert_eq!(migrate(2, null(), 0), CL_INVALID_VALUE);
    assert_eq!(migrate(2, mems.as_ptr(), 4), CL_INVALID_VALUE);
    assert_eq!(migrate(2, [mems[0], null_mut()].as_ptr(), 0), CL_INVALID_MEM_OBJECT);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    for m in mems {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}
