//! Command queues.

use std::ptr::{null, null_mut};

use super::cl::*;

const ORDER: cl_bitfield = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
const PROFILING: cl_bitfield = CL_QUEUE_PROFILING_ENABLE;

#[test]
fn create() {
    let setup = Setup::new();
    let d = device();
    for properties in [0, ORDER, PROFILING, ORDER | PROFILING] {
        let queue = made(|e| clCreateCommandQueue(setup.context, d, properties, e));
        assert_eq!(
            info::<cl_bitfield>(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, s, v, r)),
            properties
        );
        assert_eq!(info_bytes(&|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, s, v, r)).len(), 0);
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    assert_eq!(refused(|e| clCreateCommandQueue(null_mut(), d, 0, e)), CL_INVALID_CONTEXT);
    assert_eq!(refused(|e| clCreateCommandQueue(setup.context, null_mut(), 0, e)), CL_INVALID_DEVICE);
    assert_eq!(refused(|e| clCreateCommandQueue(setup.context, d, 1 << 10, e)), CL_INVALID_VALUE);
}

#[test]
fn create_with_properties() {
    let setup = Setup::new();
    let d = device();
    let with = |list: &[cl_bitfield], e| clCreateCommandQueueWithProperties(setup.context, d, list.as_ptr(), e);
    let bits = cl_bitfield::from(CL_QUEUE_PROPERTIES);
    let size = cl_bitfield::from(CL_QUEUE_SIZE);
    let (priority, throttle) = (CL_QUEUE_PRIORITY_KHR, CL_QUEUE_THROTTLE_KHR);
    for list in [
        &[0][..],
        &[bits, ORDER | PROFILING, 0],
        &[bits, 0, 0],
        &[priority, 1, 0],
        &[throttle, 4, priority, 2, bits, 0, 0],
    ] {
        let queue = made(|e| with(list, e));
        let given = info_bytes(&|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, s, v, r));
        assert_eq!(given, list.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    let queue = made(|e| clCreateCommandQueueWithProperties(setup.context, d, null(), e));
    assert_eq!(info_bytes(&|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, s, v, r)).len(), 0);
    assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);

    assert_eq!(refused(|e| clCreateCommandQueueWithProperties(null_mut(), d, null(), e)), CL_INVALID_CONTEXT);
    assert_eq!(
        refused(|e| clCreateCommandQueueWithProperties(setup.context, null_mut(), null(), e)),
        CL_INVALID_DEVICE
    );
    for list in [
        &[0xdead, 0, 0][..],
        &[1 << 40 | bits, 0, 0],
        &[bits, 1 << 10, 0],
        &[bits, 0, bits, 0, 0],
        &[size, 1024, 0],
        // A default queue that is not on the device, and one on the device that is not out of order.
        &[bits, CL_QUEUE_ON_DEVICE_DEFAULT, 0],
        &[bits, CL_QUEUE_ON_DEVICE, 0],
    ] {
        assert_eq!(refused(|e| with(list, e)), CL_INVALID_VALUE, "{list:x?}");
    }
    // Queues on the device are out of order, may be the default one, and have no hints.
    for more in [0, CL_QUEUE_ON_DEVICE_DEFAULT] {
        let on_device = CL_QUEUE_ON_DEVICE | ORDER | more;
        let queue = made(|e| with(&[bits, on_device, size, 1024, 0], e));
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
        let list = [bits, on_device, priority, 1, 0];
        assert_eq!(refused(|e| with(&list, e)), CL_INVALID_QUEUE_PROPERTIES);
    }
}

#[test]
fn queries() {
    let setup = Setup::new();
    let queue = setup.queue;
    assert_eq!(info::<cl_context>(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, s, v, r)), setup.context);
    assert_eq!(info::<cl_device_id>(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, s, v, r)), device());
    assert_eq!(clRetainCommandQueue(queue), CL_SUCCESS);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, s, v, r)), 2);
    assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    let default: cl_command_queue = info(|s, v, r| clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE_DEFAULT, s, v, r));
    assert!(default.is_null());
    assert_eq!(clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, 0, null_mut(), null_mut()), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(clGetCommandQueueInfo(queue, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
}

#[test]
fn removed_and_device_queue_functions() {
    let setup = Setup::new();
    assert_eq!(clSetCommandQueueProperty(setup.queue, PROFILING, CL_TRUE, null_mut()), CL_INVALID_OPERATION);
    assert_eq!(clSetCommandQueueProperty(null_mut(), PROFILING, CL_TRUE, null_mut()), CL_INVALID_COMMAND_QUEUE);
    // A host queue.
    assert_eq!(clSetDefaultDeviceCommandQueue(setup.context, device(), setup.queue), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(clSetDefaultDeviceCommandQueue(null_mut(), device(), setup.queue), CL_INVALID_CONTEXT);
    assert_eq!(clSetDefaultDeviceCommandQueue(setup.context, null_mut(), setup.queue), CL_INVALID_DEVICE);
}

/// Commands that were enqueued end although their queue and its context are let go at once.
#[test]
fn release_with_commands_pending() {
    let setup = Setup::new();
    let user = setup.user_event();
    let buffer = setup.bytes(&[1; 8]);
    let mut event = null_mut();
    let mut target = [0u8; 8];
    let ptr = target.as_mut_ptr().cast();
    assert_eq!(clEnqueueReadBuffer(setup.queue, buffer, CL_FALSE, 0, 8, ptr, 1, &user, &mut event), CL_SUCCESS);
    assert_eq!(clFlush(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    drop(setup);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(ended(event), CL_COMPLETE);
    assert_eq!(target, [1; 8]);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
}
