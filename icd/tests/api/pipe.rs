//! Pipes: creation, queries, and commands that refuse them.

use std::ptr::{null, null_mut};

use super::cl::*;

const MAX_PACKET: cl_uint = clift_include::pipe::MAX_PACKET_BYTES;

fn pipe(setup: &Setup, flags: cl_mem_flags, packet: cl_uint, count: cl_uint) -> cl_mem {
    made(|e| clCreatePipe(setup.context, flags, packet, count, null(), e))
}

#[test]
fn creation() {
    let setup = Setup::new();
    let refuse = |flags, packet, count, properties: *const isize| {
        refused(|e| clCreatePipe(setup.context, flags, packet, count, properties, e))
    };
    for flags in [0, CL_MEM_READ_WRITE, CL_MEM_HOST_NO_ACCESS, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS] {
        assert_eq!(clReleaseMemObject(pipe(&setup, flags, 1, 1)), CL_SUCCESS);
    }
    for flags in [CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_COPY_HOST_PTR, CL_MEM_HOST_READ_ONLY, 1 << 40] {
        assert_eq!(refuse(flags, 4, 4, null()), CL_INVALID_VALUE);
    }
    assert_eq!(refuse(0, 4, 4, [0].as_ptr()), CL_INVALID_VALUE);
    for (packet, count) in [(0, 4), (4, 0), (MAX_PACKET + 1, 1), (cl_uint::MAX, 1)] {
        assert_eq!(refuse(0, packet, count, null()), CL_INVALID_PIPE_SIZE);
    }
    assert_eq!(refuse(0, MAX_PACKET, cl_uint::MAX, null()), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_eq!(refused(|e| clCreatePipe(null_mut(), 0, 4, 4, null(), e)), CL_INVALID_CONTEXT);
}

#[test]
fn queries() {
    let setup = Setup::new();
    let pipe = pipe(&setup, 0, 12, 100);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, s, v, r)), 12);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, s, v, r)), 100);
    let mut size = 1;
    assert_eq!(clGetPipeInfo(pipe, CL_PIPE_PROPERTIES, 0, null_mut(), &mut size), CL_SUCCESS);
    assert_eq!(size, 0);
    assert_eq!(clGetPipeInfo(pipe, CL_MEM_TYPE, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    let mut short = 0u8;
    let too_small = clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, 1, (&raw mut short).cast(), null_mut());
    assert_eq!(too_small, CL_INVALID_VALUE);

    assert_eq!(info::<cl_uint>(|s, v, r| clGetMemObjectInfo(pipe, CL_MEM_TYPE, s, v, r)), CL_MEM_OBJECT_PIPE);
    let flags = info::<cl_mem_flags>(|s, v, r| clGetMemObjectInfo(pipe, CL_MEM_FLAGS, s, v, r));
    assert_eq!(flags, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS);
    assert!(info::<usize>(|s, v, r| clGetMemObjectInfo(pipe, CL_MEM_SIZE, s, v, r)) >= 1200);

    let buffer = setup.buffer(0, 16);
    let not_a_pipe = clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, 0, null_mut(), null_mut());
    assert_eq!(not_a_pipe, CL_INVALID_MEM_OBJECT);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(pipe), CL_SUCCESS);
}

#[test]
fn commands_on_buffers_refuse_pipes() {
    let setup = Setup::new();
    let (pipe, buffer) = (pipe(&setup, 0, 4, 16), setup.buffer(0, 64));
    let queue = setup.queue;
    let mut host = [0u8; 64];
    let at = host.as_mut_ptr().cast();
    assert_eq!(clEnqueueReadBuffer(queue, pipe, CL_TRUE, 0, 4, at, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueWriteBuffer(queue, pipe, CL_TRUE, 0, 4, at, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueCopyBuffer(queue, pipe, buffer, 0, 0, 4, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueCopyBuffer(queue, buffer, pipe, 0, 0, 4, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueFillBuffer(queue, pipe, at, 1, 0, 4, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    let map = refused(|e| clEnqueueMapBuffer(queue, pipe, CL_TRUE, CL_MAP_READ, 0, 4, 0, NONE, SKIP, e));
    assert_eq!(map, CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueUnmapMemObject(queue, pipe, at, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
    let region = cl_buffer_region { origin: 0, size: 4 };
    let part = refused(|e| clCreateSubBuffer(pipe, 0, CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast(), e));
    assert_eq!(part, CL_INVALID_MEM_OBJECT);
    assert_eq!(clEnqueueMigrateMemObjects(queue, 1, &pipe, 0, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(queue), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(pipe), CL_SUCCESS);
}
