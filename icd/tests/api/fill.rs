//! Filling.

use std::ptr::{null, null_mut};

use super::cl::*;

#[test]
fn fill() {
    let setup = Setup::new();
    let buffer = setup.bytes(&[0; 512]);
    let pattern: Vec<u8> = (1..=128).collect();
    let ptr = pattern.as_ptr();
    let fill = |m, pattern: *const u8, pattern_size, offset, size| {
        clEnqueueFillBuffer(setup.queue, m, pattern.cast(), pattern_size, offset, size, 0, NONE, SKIP)
    };
    for size in [1, 2, 4, 8, 16, 32, 64, 128] {
        assert_eq!(fill(buffer, ptr, size, size, 256), CL_SUCCESS);
        let bytes = setup.contents(buffer);
        assert!(bytes[size..size + 256].chunks(size).all(|chunk| chunk == &pattern[..size]), "{size}");
        assert_eq!(fill(buffer, [0u8].as_ptr(), 1, 0, 512), CL_SUCCESS);
    }
    assert_eq!(fill(buffer, ptr, 4, 512, 0), CL_SUCCESS);
    assert_eq!(fill(null_mut(), ptr, 4, 0, 4), CL_INVALID_MEM_OBJECT);
    assert_eq!(fill(buffer, null(), 4, 0, 4), CL_INVALID_VALUE);
    for size in [0, 3, 12, 129, 256, usize::MAX] {
        assert_eq!(fill(buffer, ptr, size, 0, 0), CL_INVALID_VALUE);
    }
    for (offset, size) in [(2, 4), (4, 6), (512, 4), (508, 8), (usize::MAX - 3, 4), (4, usize::MAX - 3)] {
        assert_eq!(fill(buffer, ptr, 4, offset, size), CL_INVALID_VALUE);
    }
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}
