//! `clCreateContext`, `clCreateContextFromType` and queries about contexts.

use parking_lot::Mutex;
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use super::cl::*;

extern "C" fn ignore(_: *const c_char, _: *const c_void, _: usize, _: *mut c_void) {}

#[test]
fn create() {
    let (d, p) = (device(), platform());
    let with = |properties: &[isize], e| clCreateContext(properties.as_ptr(), 1, &d, None, null_mut(), e);
    let (platform_name, sync) = (CL_CONTEXT_PLATFORM, CL_CONTEXT_INTEROP_USER_SYNC);

    for properties in
        [&[0][..], &[platform_name, p as isize, 0], &[sync, 1, platform_name, p as isize, 0], &[sync, 0, 0]]
    {
        let context = made(|e| with(properties, e));
        let given = info_bytes(&|s, v, r| clGetContextInfo(context, CL_CONTEXT_PROPERTIES, s, v, r));
        let expected: Vec<u8> = properties.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(given, expected, "the list comes back as it was given");
        assert_eq!(clReleaseContext(context), CL_SUCCESS);
    }
    assert_eq!(refused(|e| with(&[platform_name, 0, 0], e)), CL_INVALID_PLATFORM);
    assert_eq!(refused(|e| with(&[platform_name, d as isize, 0], e)), CL_INVALID_PLATFORM);
    assert_eq!(refused(|e| with(&[sync, 2, 0], e)), CL_INVALID_PROPERTY);
    assert_eq!(refused(|e| with(&[0xdead, 0, 0], e)), CL_INVALID_PROPERTY);
    let twice = [platform_name, p as isize, platform_name, p as isize, 0];
    assert_eq!(refused(|e| with(&twice, e)), CL_INVALID_PROPERTY);
    assert_eq!(refused(|e| clCreateContext(null(), 1, null(), None, null_mut(), e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| clCreateContext(null(), 0, &d, None, null_mut(), e)), CL_INVALID_VALUE);
    let data = (&raw const d).cast_mut().cast();
    assert_eq!(refused(|e| clCreateContext(null(), 1, &d, None, data, e)), CL_INVALID_VALUE);
    assert_eq!(refused(|e| clCreateContext(null(), 1, &null_mut(), None, null_mut(), e)), CL_INVALID_DEVICE);
    assert_eq!(refused(|e| clCreateContext(null(), 1, &p, None, null_mut(), e)), CL_INVALID_DEVICE);
    let second_bad = [d, null_mut()];
    assert_eq!(refused(|e| clCreateContext(null(), 2, second_bad.as_ptr(), None, null_mut(), e)), CL_INVALID_DEVICE);
    // Without a place for the error.
    assert!(clCreateContext(null(), 0, null(), None, null_mut(), null_mut()).is_null());

    let doubled = [d, d];
    let context = made(|e| clCreateContext(null(), 2, doubled.as_ptr(), Some(ignore), data, e));
    assert_eq!(info::<cl_uint>(|s, v, r| clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, s, v, r)), 1);
    assert_eq!(info::<cl_device_id>(|s, v, r| clGetContextInfo(context, CL_CONTEXT_DEVICES, s, v, r)), d);
    assert_eq!(info_bytes(&|s, v, r| clGetContextInfo(context, CL_CONTEXT_PROPERTIES, s, v, r)).len(), 0);
    assert_eq!(clReleaseContext(context), CL_SUCCESS);
}

#[test]
fn create_from_type() {
    let make = |ty, e| clCreateContextFromType(null(), ty, None, null_mut(), e);
    for ty in [CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_DEFAULT, CL_DEVICE_TYPE_ALL, cl_device_type::MAX] {
        let context = made(|e| make(ty, e));
        assert_eq!(clReleaseContext(context), CL_SUCCESS);
    }
    assert_eq!(refused(|e| make(CL_DEVICE_TYPE_GPU, e)), CL_DEVICE_NOT_FOUND);
    assert_eq!(refused(|e| make(0, e)), CL_INVALID_DEVICE_TYPE);
    let ty = CL_DEVICE_TYPE_ALL;
    let bad = [0xdead, 1, 0];
    assert_eq!(refused(|e| clCreateContextFromType(bad.as_ptr(), ty, None, null_mut(), e)), CL_INVALID_PROPERTY);
    let bad = [CL_CONTEXT_PLATFORM, 1, 0];
    assert_eq!(refused(|e| clCreateContextFromType(bad.as_ptr(), ty, None, null_mut(), e)), CL_INVALID_PLATFORM);
    let data = (&raw const bad).cast_mut().cast();
    assert_eq!(refused(|e| clCreateContextFromType(null(), ty, None, data, e)), CL_INVALID_VALUE);
}

#[test]
fn references() {
    let d = device();
    let context = made(|e| clCreateContext(null(), 1, &d, None, null_mut(), e));
    let count = || info::<cl_uint>(|s, v, r| clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, s, v, r));
    assert_eq!(count(), 1);
    assert_eq!(clRetainContext(context), CL_SUCCESS);
    assert_eq!(count(), 2);
    assert_eq!(clGetContextInfo(context, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    assert_eq!(clReleaseContext(context), CL_SUCCESS);
    assert_eq!(clReleaseContext(context), CL_SUCCESS);
}

extern "C" fn record(_: *mut c_void, calls: *mut c_void) {
    // SAFETY: `calls` is the pair that the case passed.
    let (list, number) = unsafe { &*calls.cast::<(&Mutex<Vec<u32>>, u32)>() };
    list.lock().push(*number);
}

/// Destructor callbacks come in reverse order, once everything in the context is gone.
#[test]
fn destructor_callbacks() {
    let list = Mutex::new(Vec::new());
    let calls: Vec<(&Mutex<Vec<u32>>, u32)> = (1..=3).map(|number| (&list, number)).collect();
    let setup = Setup::new();
    for call in &calls {
        let data = std::ptr::from_ref(call).cast_mut().cast();
        assert_eq!(clSetContextDestructorCallback(setup.context, Some(record), data), CL_SUCCESS);
    }
    assert_eq!(clSetContextDestructorCallback(setup.context, None, null_mut()), CL_INVALID_VALUE);
    assert_eq!(clSetContextDestructorCallback(null_mut(), Some(record), null_mut()), CL_INVALID_CONTEXT);
    let buffer = setup.buffer(0, 16);
    drop(setup);
    assert!(list.lock().is_empty(), "the buffer holds its context");
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(*list.lock(), [3, 2, 1]);
}
