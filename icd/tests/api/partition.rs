//! Sub-devices. A machine with one processor has none; then only errors are tested.

use std::ptr::{null, null_mut};

use super::cl::*;

type Property = isize;

fn units(d: cl_device_id) -> usize {
    info::<cl_uint>(|s, v, r| clGetDeviceInfo(d, CL_DEVICE_MAX_COMPUTE_UNITS, s, v, r)) as usize
}

/// The elements of a query's answer.
fn list<T: Copy>(d: cl_device_id, name: cl_uint) -> Vec<T> {
    let bytes = info_bytes(&|s, v, r| clGetDeviceInfo(d, name, s, v, r));
    // SAFETY: each chunk has the size of an element, a number or a pointer.
    bytes.chunks_exact(size_of::<T>()).map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }).collect()
}

/// The sub-devices of a partitioning, or its error.
fn divide(d: cl_device_id, properties: &[Property]) -> Result<Vec<cl_device_id>, cl_int> {
    let mut count = 0;
    match clCreateSubDevices(d, properties.as_ptr(), 0, null_mut(), &mut count) {
        CL_SUCCESS => {}
        error => return Err(error),
    }
    let mut parts = vec![null_mut(); count as usize];
    if count > 1 {
        let few = clCreateSubDevices(d, properties.as_ptr(), count - 1, parts.as_mut_ptr(), null_mut());
        assert_eq!(few, CL_INVALID_VALUE);
    }
    assert_eq!(clCreateSubDevices(d, properties.as_ptr(), count, parts.as_mut_ptr(), null_mut()), CL_SUCCESS);
    Ok(parts)
}

fn release(parts: &[cl_device_id]) {
    for part in parts {
        assert_eq!(clReleaseDevice(*part), CL_SUCCESS);
    }
}

#[test]
fn refused() {
    let d = device();
    let all = units(d) as Property;
    assert_eq!(
        clCreateSubDevices(null_mut(), [CL_DEVICE_PARTITION_EQUALLY, 1, 0].as_ptr(), 0, null_mut(), &mut 0),
        CL_INVALID_DEVICE
    );
    assert_eq!(clCreateSubDevices(d, null(), 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    for properties in [
        &[0][..],
        &[1, 1, 0],
        &[CL_DEVICE_PARTITION_EQUALLY, 0],
        &[CL_DEVICE_PARTITION_EQUALLY, -1, 0],
        &[CL_DEVICE_PARTITION_EQUALLY, 1, 1, 0],
        &[CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 1 << 10, 0],
        &[CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 3, 0],
    ] {
        assert_eq!(divide(d, properties), Err(CL_INVALID_VALUE), "{properties:?}");
    }
    assert_eq!(divide(d, &[CL_DEVICE_PARTITION_EQUALLY, all + 1, 0]), Err(CL_INVALID_DEVICE_PARTITION_COUNT));
    if all == 1 {
        assert_eq!(divide(d, &[CL_DEVICE_PARTITION_EQUALLY, 1, 0]), Err(CL_DEVICE_PARTITION_FAILED));
        return;
    }
    assert_eq!(divide(d, &[CL_DEVICE_PARTITION_EQUALLY, all, 0]), Err(CL_DEVICE_PARTITION_FAILED));
    let many = [&[CL_DEVICE_PARTITION_BY_COUNTS][..], &vec![1; all as usize + 1], &[0, 0]].concat();
    for properties in
        [&many[..], &[CL_DEVICE_PARTITION_BY_COUNTS, all, 1, 0, 0], &[CL_DEVICE_PARTITION_BY_COUNTS, -1, 0, 0]]
    {
        assert_eq!(divide(d, properties), Err(CL_INVALID_DEVICE_PARTITION_COUNT), "{properties:?}");
    }
}

#[test]
fn parts_and_their_queries() {
    let d = device();
    assert!(list::<Property>(d, CL_DEVICE_PARTITION_TYPE).is_empty());
    assert_eq!(list::<cl_uint>(d, CL_DEVICE_PARTITION_MAX_SUB_DEVICES), [units(d) as cl_uint]);
    let all = units(d);
    if all == 1 {
        assert_eq!(list::<Property>(d, CL_DEVICE_PARTITION_PROPERTIES), [0]);
        return;
    }
    for given in [
        &[CL_DEVICE_PARTITION_EQUALLY, 1, 0][..],
        &[CL_DEVICE_PARTITION_BY_COUNTS, all as Property, 0, 0],
        &[CL_DEVICE_PARTITION_BY_COUNTS, 1, all as Property - 1, 0, 0],
        &[CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0],
    ] {
        let parts = divide(d, given).unwrap();
        let sum: usize = parts.iter().map(|part| units(*part)).sum();
        assert!(sum == all || given == [CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0]);
        for &part in &parts {
            assert_eq!(list::<cl_device_id>(part, CL_DEVICE_PARENT_DEVICE), [d]);
            // Up to the first zero, which ends both lists of counts.
            let end = given.iter().position(|value| *value == 0).unwrap();
            assert_eq!(list::<Property>(part, CL_DEVICE_PARTITION_TYPE), given[..=end]);
            assert_eq!(list::<cl_uint>(part, CL_DEVICE_REFERENCE_COUNT), [1]);
            if units(part) == 1 {
                assert_eq!(list::<Property>(part, CL_DEVICE_PARTITION_PROPERTIES), [0]);
                assert_eq!(divide(part, &[CL_DEVICE_PARTITION_EQUALLY, 1, 0]), Err(CL_DEVICE_PARTITION_FAILED));
            }
        }
        release(&parts);
        assert_eq!(clReleaseDevice(parts[0]), CL_INVALID_DEVICE);
    }
}

#[test]
fn by_affinity() {
    let d = device();
    let domains = list::<cl_bitfield>(d, CL_DEVICE_PARTITION_AFFINITY_DOMAIN)[0];
    let kind = CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN;
    assert_eq!(list::<Property>(d, CL_DEVICE_PARTITION_PROPERTIES).contains(&kind), domains != 0);
    for bit in (0..6).map(|place| 1 << place) {
        let divided = divide(d, &[kind, bit, 0]);
        if domains & bit as cl_bitfield == 0 {
            assert_eq!(divided, Err(CL_DEVICE_PARTITION_FAILED));
            continue;
        }
        let parts = divided.unwrap();
        assert!(parts.len() > 1);
        assert_eq!(parts.iter().map(|part| units(*part)).sum::<usize>(), units(d));
        let ty = list::<Property>(parts[0], CL_DEVICE_PARTITION_TYPE);
        assert_eq!((ty[0], ty[2], ty.len()), (kind, 0, 3));
        let next = CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE as Property;
        assert!(ty[1] == bit || (bit == next && ty[1] != next && domains & ty[1] as cl_bitfield != 0));
        release(&parts);
    }
}

/// A context of all parts; each has a queue, which works after the device was released.
#[test]
fn queues_of_parts() {
    let d = device();
    let Ok(parts) = divide(d, &[CL_DEVICE_PARTITION_EQUALLY, 1, 0]) else { return };
    let context = made(|e| clCreateContext(null(), parts.len() as cl_uint, parts.as_ptr(), None, null_mut(), e));
    let mut error = 1;
    assert!(clCreateCommandQueue(context, d, 0, &mut error).is_null());
    assert_eq!(error, CL_INVALID_DEVICE);
    let queues: Vec<_> = parts.iter().map(|part| made(|e| clCreateCommandQueue(context, *part, 0, e))).collect();
    release(&parts);
    let buffer = made(|e| clCreateBuffer(context, 0, 64, null_mut(), e));
    let mut host = [0u8; 64];
    let mut event: cl_event = null_mut();
    for (queue, byte) in queues.iter().zip(1u8..) {
        let pattern = [byte];
        let wait = if event.is_null() { (0, NONE) } else { (1, &raw const event) };
        let mut next = null_mut();
        let p = pattern.as_ptr().cast();
        assert_eq!(clEnqueueFillBuffer(*queue, buffer, p, 1, 0, 64, wait.0, wait.1, &mut next), CL_SUCCESS);
        if !event.is_null() {
            assert_eq!(clReleaseEvent(event), CL_SUCCESS);
        }
        event = next;
    }
    assert_eq!(ended(event), CL_COMPLETE);
    let ptr = host.as_mut_ptr().cast();
    assert_eq!(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, 64, ptr, 0, NONE, SKIP), CL_SUCCESS);
    assert_eq!(host, [queues.len() as u8; 64]);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    for queue in queues {
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    assert_eq!(clReleaseContext(context), CL_SUCCESS);
}

/// Queries about one of the devices of a context: NULL means the only one there is.
#[test]
fn null_is_a_device_if_there_is_one() {
    let Ok(parts) = divide(device(), &[CL_DEVICE_PARTITION_EQUALLY, 1, 0]) else { return };
    let source = "kernel void k(global int *p) { *p = 1; }";
    for (devices, code) in [(&parts[..1], CL_SUCCESS), (&parts[..2], CL_INVALID_DEVICE)] {
        let count = devices.len() as cl_uint;
        let context = made(|e| clCreateContext(null(), count, devices.as_ptr(), None, null_mut(), e));
        let text = source.as_ptr().cast();
        let program = made(|e| clCreateProgramWithSource(context, 1, &text, &source.len(), e));
        assert_eq!(clBuildProgram(program, 0, null(), null(), None, null_mut()), CL_SUCCESS);
        let kernel = made(|e| clCreateKernel(program, c"k".as_ptr(), e));
        let query = |d| clGetKernelWorkGroupInfo(kernel, d, CL_KERNEL_WORK_GROUP_SIZE, 0, null_mut(), null_mut());
        assert_eq!(query(null_mut()), code);
        assert_eq!(query(devices[0]), CL_SUCCESS);
        assert_eq!(query(device()), CL_INVALID_DEVICE);
        // Builds name their device.
        let log = |d| clGetProgramBuildInfo(program, d, CL_PROGRAM_BUILD_LOG, 0, null_mut(), null_mut());
        assert_eq!((log(null_mut()), log(devices[0])), (CL_INVALID_DEVICE, CL_SUCCESS));
        // So does a list of them.
        let list = [devices[0], null_mut()];
        assert_eq!(clBuildProgram(program, 2, list.as_ptr(), null(), None, null_mut()), CL_INVALID_DEVICE);
        assert_eq!(clReleaseKernel(kernel), CL_SUCCESS);
        assert_eq!(clReleaseProgram(program), CL_SUCCESS);
        assert_eq!(clReleaseContext(context), CL_SUCCESS);
    }
    release(&parts);
}
