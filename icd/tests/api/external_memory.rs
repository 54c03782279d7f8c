//! Buffers and images of memory that file descriptors stand for, and handing it over.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

/// A new memory file with `len` bytes, each with the number of its position.
fn memory(len: usize) -> libc::c_int {
    // SAFETY: a C string; the new file is mapped as long as it is written.
    unsafe {
        let file = libc::memfd_create(c"clift".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0);
        assert_eq!(libc::ftruncate(file, len as i64), 0);
        let bytes: Vec<u8> = (0..len).map(|index| index as u8).collect();
        assert_eq!(libc::pwrite(file, bytes.as_ptr().cast(), len, 0), len as isize);
        file
    }
}

/// What a file of memory holds.
fn contents(file: libc::c_int, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: room for as many bytes.
    assert_eq!(unsafe { libc::pread(file, bytes.as_mut_ptr().cast(), len, 0) }, len as isize);
    bytes
}

const OPAQUE: cl_mem_properties = CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR as cl_mem_properties;
const DMA_BUF: cl_mem_properties = CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR as cl_mem_properties;
const DEVICES: cl_mem_properties = CL_MEM_DEVICE_HANDLE_LIST_KHR;

fn create(setup: &Setup, list: &[cl_mem_properties], flags: cl_mem_flags, size: usize) -> Result<cl_mem, cl_int> {
    let mut error = 1;
    let buffer = clCreateBufferWithProperties(setup.context, list.as_ptr(), flags, size, null_mut(), &mut error);
    assert_eq!(buffer.is_null(), error != CL_SUCCESS);
    if error == CL_SUCCESS { Ok(buffer) } else { Err(error) }
}

#[test]
fn memory_is_shared() {
    let setup = Setup::new();
    for kind in [OPAQUE, DMA_BUF] {
        for devices in [false, true] {
            let file = memory(300);
            // SAFETY: an open file.
            let given = unsafe { libc::dup(file) } as cl_mem_properties;
            let mut list = vec![kind, given];
            if devices {
                list.extend([DEVICES, device() as cl_mem_properties, CL_MEM_DEVICE_HANDLE_LIST_END_KHR]);
            }
            list.push(0);
            let buffer = create(&setup, &list, 0, 256).unwrap();
            let properties = info_bytes(&|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_PROPERTIES, s, v, r));
            assert_eq!(properties, list.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
            let mut event = null_mut();
            let q = setup.queue;
            assert_eq!(clEnqueueAcquireExternalMemObjectsKHR(q, 1, &buffer, 0, NONE, &mut event), CL_SUCCESS);
            let ty: cl_uint = info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r));
            assert_eq!(ty, CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR);
            assert_eq!(ended(event), CL_COMPLETE);
            assert_eq!(setup.contents(buffer), (0..=255).collect::<Vec<u8>>());
            let pattern = [7u8; 4];
            let filled = clEnqueueFillBuffer(q, buffer, pattern.as_ptr().cast(), 4, 0, 16, 0, NONE, SKIP);
            assert_eq!(filled, CL_SUCCESS);
            assert_eq!(clEnqueueReleaseExternalMemObjectsKHR(q, 1, &buffer, 0, NONE, &mut event), CL_SUCCESS);
            let ty: cl_uint = info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r));
            assert_eq!(ty, CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR);
            assert_eq!(ended(event), CL_COMPLETE);
            assert_eq!(contents(file, 17)[..], [&[7; 16][..], &[16]].concat());
            assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
            // SAFETY: ours. The other number was the driver's, which has closed it.
            unsafe {
                assert_eq!(libc::close(file), 0);
                assert_eq!(libc::fcntl(given as libc::c_int, libc::F_GETFD), -1);
            }
        }
    }
}

#[test]
fn images() {
    let setup = Setup::new();
    let q = setup.queue;
    let file = memory(64);
    let format = cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_UNSIGNED_INT8 };
    let desc = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: 10,
        image_height: 4,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 16,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let list = |name, file| [name, file as cl_mem_properties, 0];
    let create = |list: &[cl_mem_properties], flags, desc: &cl_image_desc, host: *mut c_void| {
        let mut error = 1;
        let image = clCreateImageWithProperties(setup.context, list.as_ptr(), flags, &format, desc, host, &mut error);
        if error == CL_SUCCESS { Ok(image) } else { Err(error) }
    };
    let mut host = [0u8; 64];
    let place: *mut c_void = host.as_mut_ptr().cast();
    let good = list(OPAQUE, file);
    assert_eq!(create(&good, CL_MEM_COPY_HOST_PTR, &desc, place), Err(CL_INVALID_VALUE));
    assert_eq!(create(&good, 0, &desc, place), Err(CL_INVALID_HOST_PTR));
    let bad = |desc: cl_image_desc| create(&good, 0, &desc, null_mut());
    assert_eq!(bad(cl_image_desc { num_mip_levels: 2, ..desc }), Err(CL_INVALID_IMAGE_DESCRIPTOR));
    assert_eq!(bad(cl_image_desc { image_row_pitch: 9, ..desc }), Err(CL_INVALID_IMAGE_DESCRIPTOR));
    assert_eq!(bad(cl_image_desc { image_height: 5, ..desc }), Err(CL_INVALID_PROPERTY), "too small");
    let addressed = list(CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, 1);
    assert_eq!(create(&addressed, 0, &desc, null_mut()), Err(CL_INVALID_PROPERTY));
    let mut bytes = 0usize;
    let mut asked = |list: &[cl_mem_properties]| {
        let (name, place) = (CL_IMAGE_REQUIREMENTS_SIZE_EXT, (&raw mut bytes).cast());
        clGetImageRequirementsInfoEXT(setup.context, list.as_ptr(), 0, &format, &desc, name, 8, place, null_mut())
    };
    assert_eq!([asked(&addressed), asked(&good)], [CL_INVALID_PROPERTY, CL_SUCCESS]);
    assert_eq!(bytes, 64);
    // SAFETY: an open file.
    let given = unsafe { libc::dup(file) };
    let image = create(&list(OPAQUE, given), 0, &desc, null_mut()).unwrap();
    assert_eq!(clEnqueueAcquireExternalMemObjectsKHR(q, 1, &image, 0, NONE, SKIP), CL_SUCCESS);
    let colour = [200u32, 0, 0, 0];
    let (origin, region) = ([3usize, 2, 0], [2usize, 1, 1]);
    let (o, r) = (origin.as_ptr(), region.as_ptr());
    assert_eq!(clEnqueueFillImage(q, image, colour.as_ptr().cast(), o, r, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clEnqueueReleaseExternalMemObjectsKHR(q, 1, &image, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(contents(file, 64)[34..38], [34, 200, 200, 37]);
    assert_eq!(clReleaseMemObject(image), CL_SUCCESS);
    // SAFETY: ours.
    assert_eq!(unsafe { libc::close(file) }, 0);
}

#[test]
fn properties() {
    let setup = Setup::new();
    let other = Setup::new();
    let file = memory(64) as cl_mem_properties;
    let device = device() as cl_mem_properties;
    for (list, error) in [
        (&[OPAQUE, file, OPAQUE, file, 0][..], CL_INVALID_PROPERTY),
        (&[OPAQUE, file, DMA_BUF, file, 0], CL_INVALID_PROPERTY),
        (&[OPAQUE, 1 << 40, 0], CL_INVALID_PROPERTY),
        (&[OPAQUE, 1 << 30, 0], CL_INVALID_PROPERTY),
        (&[CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KHR.into(), file, 0], CL_INVALID_PROPERTY),
        (&[DEVICES, device, 0, 0], CL_INVALID_PROPERTY),
        (&[OPAQUE, file, DEVICES, device, 0, DEVICES, device, 0, 0], CL_INVALID_PROPERTY),
        (&[OPAQUE, file, DEVICES, other.context as cl_mem_properties, 0, 0], CL_INVALID_DEVICE),
    ] {
        assert_eq!(create(&setup, list, 0, 64), Err(error), "{list:?}");
    }
    let list = [OPAQUE, file, 0];
    assert_eq!(create(&setup, &list, 0, 0), Err(CL_INVALID_BUFFER_SIZE));
    assert_eq!(create(&setup, &list, 0, 65), Err(CL_INVALID_PROPERTY));
    for flags in [CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR] {
        assert_eq!(create(&setup, &list, flags, 64), Err(CL_INVALID_VALUE));
    }
    let mut host = [0u8; 64];
    let host: *mut c_void = host.as_mut_ptr().cast();
    let with_host = refused(|e| clCreateBufferWithProperties(setup.context, list.as_ptr(), 0, 64, host, e));
    assert_eq!(with_host, CL_INVALID_HOST_PTR);
    // After all these errors the descriptor is still the application's, and good.
    let buffer = create(&setup, &list, CL_MEM_IMMUTABLE_EXT, 64).unwrap();
    assert_eq!(setup.contents(buffer), (0..64).collect::<Vec<u8>>());
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

#[test]
fn rules_of_acquire_and_release() {
    let (setup, other) = (Setup::new(), Setup::new());
    let plain = setup.buffer(0, 64);
    let list = [OPAQUE, memory(64) as cl_mem_properties, 0];
    let buffer = create(&setup, &list, 0, 64).unwrap();
    for call in [clEnqueueAcquireExternalMemObjectsKHR, clEnqueueReleaseExternalMemObjectsKHR] {
        let q = setup.queue;
        assert_eq!(call(null_mut(), 1, &buffer, 0, NONE, SKIP), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(call(q, 0, &buffer, 0, NONE, SKIP), CL_INVALID_VALUE);
        assert_eq!(call(q, 1, null(), 0, NONE, SKIP), CL_INVALID_VALUE);
        assert_eq!(call(q, 1, &plain, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
        assert_eq!(call(q, 1, &setup.context, 0, NONE, SKIP), CL_INVALID_MEM_OBJECT);
        assert_eq!(call(other.queue, 1, &buffer, 0, NONE, SKIP), CL_INVALID_CONTEXT);
        assert_eq!(call(q, 1, &buffer, 1, NONE, SKIP), CL_INVALID_EVENT_WAIT_LIST);
        let failed = setup.user_event();
        assert_eq!(clSetUserEventStatus(failed, -1), CL_SUCCESS);
        let error = call(q, 1, &buffer, 1, &failed, SKIP);
        assert_eq!(error, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        assert_eq!(clReleaseEvent(failed), CL_SUCCESS);
        assert_eq!(call(q, 0, null(), 0, NONE, SKIP), CL_SUCCESS);
    }
    for m in [plain, buffer] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

#[test]
fn handle_types_are_reported() {
    let d = device();
    let expected = [CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR];
    let expected: Vec<u8> = expected.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let of_device = |name| info_bytes(&|s, v, r| clGetDeviceInfo(d, name, s, v, r));
    assert_eq!(of_device(CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR), expected);
    let linear = CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR;
    assert_eq!(of_device(linear), expected);
    let name = CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR;
    assert_eq!(info_bytes(&|s, v, r| clGetPlatformInfo(platform(), name, s, v, r)), expected);
}
