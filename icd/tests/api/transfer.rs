//! Reading, writing and copying, in one piece and as rectangles. Wait lists, and handles of other contexts, are in `waits`.

use std::ptr::{null, null_mut};

use super::cl::*;

#[test]
fn read_and_write() {
    let setup = Setup::new();
    let (q, buffer) = (setup.queue, setup.bytes(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let mut host = [9u8; 8];
    let ptr = host.as_mut_ptr();
    let read =
        |m, offset, size, ptr: *mut u8| clEnqueueReadBuffer(q, m, CL_TRUE, offset, size, ptr.cast(), 0, NONE, SKIP);
    let write =
        |m, offset, size, ptr: *mut u8| clEnqueueWriteBuffer(q, m, CL_TRUE, offset, size, ptr.cast(), 0, NONE, SKIP);
    assert_eq!(read(buffer, 2, 3, ptr), CL_SUCCESS);
    assert_eq!(host, [2, 3, 4, 9, 9, 9, 9, 9]);
    assert_eq!(write(buffer, 6, 2, ptr), CL_SUCCESS);
    assert_eq!(setup.contents(buffer), [0, 1, 2, 3, 4, 5, 2, 3]);
    assert_eq!(read(buffer, 8, 0, ptr), CL_SUCCESS);
    for (offset, size) in [(0, 9), (8, 1), (9, 0), (usize::MAX, 1), (1, usize::MAX)] {
        assert_eq!(read(buffer, offset, size, ptr), CL_INVALID_VALUE);
        assert_eq!(write(buffer, offset, size, ptr), CL_INVALID_VALUE);
    }
    assert_eq!(read(buffer, 0, 8, null_mut()), CL_INVALID_VALUE);
    assert_eq!(write(buffer, 0, 8, null_mut()), CL_INVALID_VALUE);
    assert_eq!(read(null_mut(), 0, 8, ptr), CL_INVALID_MEM_OBJECT);
    assert_eq!(write(null_mut(), 0, 8, ptr), CL_INVALID_MEM_OBJECT);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

/// What `CL_MEM_HOST_*` forbids, to buffers and to sub-buffers that inherit it.
#[test]
fn host_access() {
    let setup = Setup::new();
    let q = setup.queue;
    let mut host = [0u8; 8];
    let ptr = host.as_mut_ptr();
    let (origin, region) = ([0usize; 3], [4usize, 2, 1]);
    let (o, g) = (origin.as_ptr(), region.as_ptr());
    for (flags, readable, writable) in [
        (0, true, true),
        (CL_MEM_HOST_READ_ONLY, true, false),
        (CL_MEM_HOST_WRITE_ONLY, false, true),
        (CL_MEM_HOST_NO_ACCESS, false, false),
    ] {
        let whole = setup.buffer(flags, 8);
        let region = cl_buffer_region { origin: 0, size: 8 };
        let info = (&raw const region).cast();
        let part = made(|e| clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, info, e));
        for m in [whole, part] {
            let read = if readable { CL_SUCCESS } else { CL_INVALID_OPERATION };
            let write = if writable { CL_SUCCESS } else { CL_INVALID_OPERATION };
            assert_eq!(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 8, ptr.cast(), 0, NONE, SKIP), read);
            assert_eq!(clEnqueueWriteBuffer(q, m, CL_TRUE, 0, 8, ptr.cast(), 0, NONE, SKIP), write);
            let rect = clEnqueueReadBufferRect(q, m, CL_TRUE, o, o, g, 0, 0, 0, 0, ptr.cast(), 0, NONE, SKIP);
            assert_eq!(rect, read);
            let rect = clEnqueueWriteBufferRect(q, m, CL_TRUE, o, o, g, 0, 0, 0, 0, ptr.cast(), 0, NONE, SKIP);
            assert_eq!(rect, write);
        }
        for m in [part, whole] {
            assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
        }
    }
}

#[test]
fn copy() {
    let setup = Setup::new();
    let q = setup.queue;
    let bytes: Vec<u8> = (0..=255).collect();
    let (a, b) = (setup.bytes(&bytes), setup.bytes(&[0; 256]));
    let copy = |src, dst, from, to, size| clEnqueueCopyBuffer(q, src, dst, from, to, size, 0, NONE, SKIP);
    assert_eq!(copy(a, b, 10, 20, 5), CL_SUCCESS);
    assert_eq!(setup.contents(b)[18..27], [0, 0, 10, 11, 12, 13, 14, 0, 0]);
    assert_eq!(copy(a, a, 0, 128, 128), CL_SUCCESS);
    assert_eq!(setup.contents(a)[128..], bytes[..128]);
    assert_eq!(copy(null_mut(), b, 0, 0, 1), CL_INVALID_MEM_OBJECT);
    assert_eq!(copy(a, null_mut(), 0, 0, 1), CL_INVALID_MEM_OBJECT);
    for (from, to, size) in [(256, 0, 1), (0, 256, 1), (1, 0, 256), (0, 1, 256), (usize::MAX, 0, 2), (0, 2, usize::MAX)]
    {
        assert_eq!(copy(a, b, from, to, size), CL_INVALID_VALUE);
    }
    for (from, to, size) in [(0, 0, 1), (0, 5, 6), (5, 0, 6)] {
        assert_eq!(copy(a, a, from, to, size), CL_MEM_COPY_OVERLAP);
    }
    // Parts of one buffer, and a part and its whole.
    let part = |origin| {
        let region = cl_buffer_region { origin, size: 128 };
        made(|e| clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast(), e))
    };
    let (low, low_again, high) = (part(0), part(0), part(128));
    assert_eq!(copy(low, high, 0, 0, 128), CL_SUCCESS);
    assert_eq!(copy(low, low_again, 0, 64, 64), CL_SUCCESS);
    assert_eq!(copy(low, low_again, 0, 63, 64), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy(a, high, 128, 0, 1), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy(a, high, 0, 0, 128), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    for m in [low, low_again, high, a, b] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

/// Two slices of three rows of four bytes, cut out of a buffer of 8-byte rows and 32-byte slices.
#[test]
fn rectangles() {
    let setup = Setup::new();
    let q = setup.queue;
    let bytes: Vec<u8> = (0..96).collect();
    let (a, b) = (setup.bytes(&bytes), setup.bytes(&[0; 96]));
    let (origin, zero, region) = ([1usize, 1, 1], [0usize; 3], [4usize, 3, 2]);
    let expected: Vec<u8> = (0..2)
        .flat_map(|z| (0..3).flat_map(move |y| (0..4).map(move |x| (z + 1) * 32 + (y + 1) * 8 + x + 1)))
        .collect();

    let mut tight = [0u8; 24];
    let ptr = tight.as_mut_ptr();
    let status = clEnqueueReadBufferRect(
        q,
        a,
        CL_TRUE,
        origin.as_ptr(),
        zero.as_ptr(),
        region.as_ptr(),
        8,
        32,
        0,
        0,
        ptr.cast(),
        0,
        NONE,
        SKIP,
    );
    assert_eq!(status, CL_SUCCESS);
    assert_eq!(tight[..], expected);

    let status = clEnqueueWriteBufferRect(
        q,
        b,
        CL_TRUE,
        origin.as_ptr(),
        zero.as_ptr(),
        region.as_ptr(),
        8,
        32,
        0,
        0,
        ptr.cast(),
        0,
        NONE,
        SKIP,
    );
    assert_eq!(status, CL_SUCCESS);
    let written = setup.contents(b);
    for (index, byte) in written.iter().enumerate() {
        let (x, y, z) = (index % 8, index / 8 % 4, index / 32);
        let inside = (1..5).contains(&x) && (1..4).contains(&y) && (1..3).contains(&z);
        assert_eq!(*byte, if inside { index as u8 } else { 0 });
    }

    // Back to the start of b, in rows and slices as tight as can be.
    let status =
        clEnqueueCopyBufferRect(q, a, b, origin.as_ptr(), zero.as_ptr(), region.as_ptr(), 8, 32, 0, 0, 0, NONE, SKIP);
    assert_eq!(status, CL_SUCCESS);
    assert_eq!(setup.contents(b)[..24], expected);
    for m in [a, b] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

#[test]
fn rectangle_rules() {
    let setup = Setup::new();
    let q = setup.queue;
    let (a, b) = (setup.buffer(0, 64), setup.buffer(0, 64));
    let mut host = [0u8; 256];
    let ptr: *mut u8 = host.as_mut_ptr();
    let zero = [0usize; 3];
    // Buffer side, then the other side: the same rules in all three.
    let all = |origin: *const usize, other: *const usize, region: *const usize, pitches: [usize; 4]| {
        let [row, slice, other_row, other_slice] = pitches;
        let read = clEnqueueReadBufferRect(
            q,
            a,
            CL_TRUE,
            origin,
            other,
            region,
            row,
            slice,
            other_row,
            other_slice,
            ptr.cast(),
            0,
            NONE,
            SKIP,
        );
        let write = clEnqueueWriteBufferRect(
            q,
            a,
            CL_TRUE,
            origin,
            other,
            region,
            row,
            slice,
            other_row,
            other_slice,
            ptr.cast(),
            0,
            NONE,
            SKIP,
        );
        let copy =
            clEnqueueCopyBufferRect(q, a, b, origin, other, region, row, slice, other_row, other_slice, 0, NONE, SKIP);
        assert!(read == write && read == copy, "{read} {write} {copy}");
        read
    };
    let with =
        |origin: [usize; 3], region: [usize; 3], pitches| all(origin.as_ptr(), zero.as_ptr(), region.as_ptr(), pitches);
    let region = [4usize, 2, 2];
    assert_eq!(with(zero, region, [8, 16, 4, 16]), CL_SUCCESS);
    assert_eq!(all(null(), zero.as_ptr(), region.as_ptr(), [0; 4]), CL_INVALID_VALUE);
    assert_eq!(all(zero.as_ptr(), null(), region.as_ptr(), [0; 4]), CL_INVALID_VALUE);
    assert_eq!(all(zero.as_ptr(), zero.as_ptr(), null(), [0; 4]), CL_INVALID_VALUE);
    for region in [[0, 2, 2], [4, 0, 2], [4, 2, 0]] {
        assert_eq!(with(zero, region, [0; 4]), CL_INVALID_VALUE);
    }
    for pitches in [[3, 0, 0, 0], [8, 15, 0, 0], [8, 20, 0, 0], [0, 0, 3, 0], [0, 0, 8, 8], [0, 0, 8, 20]] {
        assert_eq!(with(zero, region, pitches), CL_INVALID_VALUE, "{pitches:?}");
    }
    // The last byte of the region is byte 63, then byte 64.
    assert_eq!(with([4, 6, 0], [4, 2, 1], [8, 0, 0, 0]), CL_SUCCESS);
    assert_eq!(with([5, 6, 0], [4, 2, 1], [8, 0, 0, 0]), CL_INVALID_VALUE);
    for big in [[usize::MAX, 0, 0], [0, usize::MAX, 0], [0, 0, usize::MAX]] {
        assert_eq!(with(big, [1, 1, 1], [8, 64, 0, 0]), CL_INVALID_VALUE);
    }
    assert_eq!(with(zero, [usize::MAX, usize::MAX, usize::MAX], [0; 4]), CL_INVALID_VALUE);
    let (o, g) = (zero.as_ptr(), region.as_ptr());
    let status = clEnqueueReadBufferRect(q, a, CL_TRUE, o, o, g, 0, 0, 0, 0, null_mut(), 0, NONE, SKIP);
    assert_eq!(status, CL_INVALID_VALUE);
    let status = clEnqueueWriteBufferRect(q, a, CL_TRUE, o, o, g, 0, 0, 0, 0, null(), 0, NONE, SKIP);
    assert_eq!(status, CL_INVALID_VALUE);
    for (src, dst) in [(null_mut(), b), (a, null_mut())] {
        let status = clEnqueueCopyBufferRect(q, src, dst, o, o, g, 0, 0, 0, 0, 0, NONE, SKIP);
        assert_eq!(status, CL_INVALID_MEM_OBJECT);
    }
    for m in [a, b] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

#[test]
fn rectangle_copies_within_a_buffer() {
    let setup = Setup::new();
    let q = setup.queue;
    let a = setup.buffer(0, 64);
    let copy = |from: [usize; 3], to: [usize; 3], region: [usize; 3], [row, slice, dst_row, dst_slice]: [usize; 4]| {
        let (o, t, g) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
        clEnqueueCopyBufferRect(q, a, a, o, t, g, row, slice, dst_row, dst_slice, 0, NONE, SKIP)
    };
    // Columns beside each other interleave in memory and do not overlap.
    assert_eq!(copy([0, 0, 0], [4, 0, 0], [4, 8, 1], [8, 64, 8, 64]), CL_SUCCESS);
    assert_eq!(copy([0, 0, 0], [3, 0, 0], [4, 8, 1], [8, 64, 8, 64]), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy([0, 0, 0], [0, 4, 0], [8, 4, 1], [8, 64, 8, 64]), CL_SUCCESS);
    assert_eq!(copy([0, 0, 0], [0, 3, 0], [8, 4, 1], [8, 64, 8, 64]), CL_MEM_COPY_OVERLAP);
    assert_eq!(copy([0, 0, 0], [0, 0, 1], [2, 2, 1], [4, 8, 8, 16]), CL_INVALID_VALUE);
    assert_eq!(copy([0, 0, 0], [0, 0, 1], [2, 2, 1], [4, 8, 4, 16]), CL_INVALID_VALUE);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(a), CL_SUCCESS);
}
