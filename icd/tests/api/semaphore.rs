//! Semaphores: making, asking, and the two commands.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

const TYPE: cl_bitfield = CL_SEMAPHORE_TYPE_KHR as cl_bitfield;
const DEVICES: cl_bitfield = CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR as cl_bitfield;
const BINARY: cl_bitfield = CL_SEMAPHORE_TYPE_BINARY_KHR as cl_bitfield;

fn semaphore(setup: &Setup) -> *mut c_void {
    made(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, [TYPE, BINARY, 0].as_ptr(), e))
}

fn payload(s: *mut c_void) -> cl_ulong {
    info(|size, v, r| clGetSemaphoreInfoKHR(s, CL_SEMAPHORE_PAYLOAD_KHR, size, v, r))
}

fn signal(q: cl_command_queue, s: *mut c_void, event: *mut cl_event) -> cl_int {
    clEnqueueSignalSemaphoresKHR(q, 1, &s, null(), 0, NONE, event)
}

fn wait(q: cl_command_queue, s: *mut c_void, event: *mut cl_event) -> cl_int {
    clEnqueueWaitSemaphoresKHR(q, 1, &s, null(), 0, NONE, event)
}

fn status(event: cl_event) -> cl_int {
    info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r))
}

#[test]
fn create_and_ask() {
    let setup = Setup::new();
    let of = device().expose_provenance() as cl_bitfield;
    for list in [&[TYPE, BINARY, 0][..], &[TYPE, BINARY, DEVICES, of, 0, 0], &[DEVICES, of, 0, TYPE, BINARY, 0]] {
        let s = made(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, list.as_ptr(), e));
        let bytes = info_bytes(&|size, v, r| clGetSemaphoreInfoKHR(s, CL_SEMAPHORE_PROPERTIES_KHR, size, v, r));
        let expected: Vec<u8> = list.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(bytes, expected);
        let ask = |name| move |size, v, r| clGetSemaphoreInfoKHR(s, name, size, v, r);
        assert_eq!(info::<cl_context>(ask(CL_SEMAPHORE_CONTEXT_KHR)), setup.context);
        assert_eq!(info::<cl_uint>(ask(CL_SEMAPHORE_TYPE_KHR)), CL_SEMAPHORE_TYPE_BINARY_KHR);
        assert_eq!(info::<cl_device_id>(ask(CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR)), device());
        assert_eq!(clRetainSemaphoreKHR(s), CL_SUCCESS);
        assert_eq!(info::<cl_uint>(ask(CL_SEMAPHORE_REFERENCE_COUNT_KHR)), 2);
        assert_eq!(ask(CL_SEMAPHORE_EXPORTABLE_KHR)(0, null_mut(), null_mut()), CL_INVALID_VALUE);
        for _ in 0..2 {
            assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
        }
        assert_eq!(clReleaseSemaphoreKHR(s), CL_INVALID_SEMAPHORE_KHR);
    }
    for (list, error) in [
        (&[0][..], CL_INVALID_VALUE),
        (&[DEVICES, of, 0, 0], CL_INVALID_VALUE),
        (&[TYPE, 2, 0], CL_INVALID_PROPERTY),
        (&[1, 2, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, TYPE, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, DEVICES, 0, 0], CL_INVALID_DEVICE),
        (&[TYPE, BINARY, DEVICES, of, of, 0, 0], CL_INVALID_DEVICE),
        (&[TYPE, BINARY, DEVICES, 4096, 0, 0], CL_INVALID_DEVICE),
    ] {
        let found = refused(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, list.as_ptr(), e));
        assert_eq!(found, error, "{list:?}");
    }
    assert_eq!(refused(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, null(), e)), CL_INVALID_VALUE);
    let of_device = |s, v, r| clGetDeviceInfo(device(), CL_DEVICE_SEMAPHORE_TYPES_KHR, s, v, r);
    assert_eq!(info::<cl_uint>(of_device), CL_SEMAPHORE_TYPE_BINARY_KHR);
    let of_platform = |s, v, r| clGetPlatformInfo(platform(), CL_PLATFORM_SEMAPHORE_TYPES_KHR, s, v, r);
    assert_eq!(info::<cl_uint>(of_platform), CL_SEMAPHORE_TYPE_BINARY_KHR);
}

#[test]
fn semaphores_cannot_be_exported() {
    let setup = Setup::new();
    let s = semaphore(&setup);
    let handle =
        |s, d| clGetSemaphoreHandleForTypeKHR(s, d, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 0, null_mut(), null_mut());
    assert_eq!(handle(null_mut(), device()), CL_INVALID_SEMAPHORE_KHR);
    assert_eq!(handle(s, null_mut()), CL_INVALID_DEVICE);
    assert_eq!(handle(s, device()), CL_INVALID_VALUE);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

#[test]
fn arguments() {
    let (setup, other) = (Setup::new(), Setup::new());
    let s = semaphore(&setup);
    let failed = setup.user_event();
    assert_eq!(clSetUserEventStatus(failed, -7), CL_SUCCESS);
    for call in [clEnqueueSignalSemaphoresKHR, clEnqueueWaitSemaphoresKHR] {
        let q = setup.queue;
        assert_eq!(call(null_mut(), 1, &s, null(), 0, NONE, SKIP), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(call(other.queue, 1, &s, null(), 0, NONE, SKIP), CL_INVALID_CONTEXT);
        assert_eq!(call(q, 0, &s, null(), 0, NONE, SKIP), CL_INVALID_VALUE);
        assert_eq!(call(q, 2, [s, q].as_ptr(), null(), 0, NONE, SKIP), CL_INVALID_SEMAPHORE_KHR);
        assert_eq!(call(q, 1, &s, null(), 1, NONE, SKIP), CL_INVALID_EVENT_WAIT_LIST);
        let foreign = other.user_event();
        assert_eq!(call(q, 1, &s, null(), 1, &foreign, SKIP), CL_INVALID_CONTEXT);
        assert_eq!(call(q, 1, &s, null(), 1, &failed, SKIP), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        assert_eq!(clReleaseEvent(foreign), CL_SUCCESS);
    }
    assert_eq!(clReleaseEvent(failed), CL_SUCCESS);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

/// A wait ends with the signal, whichever was enqueued first.
#[test]
fn order() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let q = setup.queue;
    let s = semaphore(&setup);
    assert_eq!(payload(s), 0);
    for signal_first in [true, false, true, true, false] {
        let (mut signaled, mut waited) = (null_mut(), null_mut());
        if signal_first {
            let user = setup.user_event();
            assert_eq!(clEnqueueSignalSemaphoresKHR(q, 1, &s, null(), 1, &user, &mut signaled), CL_SUCCESS);
            assert_eq!(wait(q, s, &mut waited), CL_SUCCESS);
            assert!(status(waited) > 0);
            assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            assert_eq!(clReleaseEvent(user), CL_SUCCESS);
        } else {
            assert_eq!(wait(q, s, &mut waited), CL_SUCCESS);
            assert!(status(waited) > 0);
            assert_eq!(signal(q, s, &mut signaled), CL_SUCCESS);
        }
        assert_eq!(ended(waited), CL_COMPLETE);
        assert_eq!(ended(signaled), CL_COMPLETE);
        assert_eq!(payload(s), 0);
    }
    let mut signaled = null_mut();
    assert_eq!(signal(q, s, &mut signaled), CL_SUCCESS);
    assert_eq!(ended(signaled), CL_COMPLETE);
    assert_eq!(payload(s), 1);
    assert_eq!(wait(q, s, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(payload(s), 0);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

/// A wait ends with its signal even if a callback of the application does not return.
#[test]
fn callbacks_do_not_hold_up_waits() {
    static GATE: std::sync::Barrier = std::sync::Barrier::new(2);
    extern "C" fn block(_: cl_event, _: cl_int, _: *mut c_void) {
        GATE.wait();
        GATE.wait();
    }
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let s = semaphore(&setup);
    let user = setup.user_event();
    assert_eq!(clSetEventCallback(user, CL_COMPLETE, Some(block), null_mut()), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    GATE.wait();
    // The callback has begun, and stays until the wait has ended.
    let mut waited = null_mut();
    assert_eq!(wait(setup.queue, s, &mut waited), CL_SUCCESS);
    assert_eq!(signal(setup.queue, s, SKIP), CL_SUCCESS);
    assert_eq!(ended(waited), CL_COMPLETE);
    GATE.wait();
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}
