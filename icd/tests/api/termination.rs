//! `clTerminateContextKHR`: commands that have not started; what remains possible. (Running kernels:
//! `tests/host/faults/termination.rs`.)

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cl::*;

const TERMINATE: isize = CL_CONTEXT_TERMINATE_KHR as isize;

fn context(value: isize) -> cl_context {
    made(|e| clCreateContext([TERMINATE, value, 0].as_ptr(), 1, &device(), None, null_mut(), e))
}

fn status(event: cl_event) -> cl_int {
    info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r))
}

#[test]
fn the_property_permits_it() {
    let bad = [TERMINATE, 2, 0];
    assert_eq!(refused(|e| clCreateContext(bad.as_ptr(), 1, &device(), None, null_mut(), e)), CL_INVALID_PROPERTY);
    let fixed = context(0);
    assert_eq!(clTerminateContextKHR(fixed), CL_INVALID_OPERATION);
    assert_eq!(clReleaseContext(fixed), CL_SUCCESS);
    let usual = Setup::new();
    assert_eq!(clTerminateContextKHR(usual.context), CL_INVALID_OPERATION);
    assert_eq!(clTerminateContextKHR(null_mut()), CL_INVALID_CONTEXT);
    let c = context(1);
    assert_eq!(clTerminateContextKHR(c), CL_SUCCESS);
    assert_eq!(clTerminateContextKHR(c), CL_CONTEXT_TERMINATED_KHR);
    assert_eq!(clReleaseContext(c), CL_SUCCESS);
    for name in [CL_DEVICE_TERMINATE_CAPABILITY_KHR, CL_DEVICE_TERMINATE_CAPABILITY_KHR_1X] {
        let capability = info::<cl_bitfield>(|s, v, r| clGetDeviceInfo(device(), name, s, v, r));
        assert_eq!(capability, 1, "CL_DEVICE_TERMINATE_CAPABILITY_CONTEXT_KHR");
    }
}

/// Commands end at once, though what they wait for does not; nothing new can be created or enqueued; all can be asked and
/// released.
#[test]
fn waiting_commands_end() {
    for properties in [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let c = context(1);
        let q = made(|e| clCreateCommandQueue(c, device(), properties, e));
        let b = made(|e| clCreateBuffer(c, 0, 64, null_mut(), e));
        let gate = made(|e| clCreateUserEvent(c, e));
        let mut events = [null_mut(); 3];
        let one = 1_u32.to_ne_bytes();
        let fill = |wait: &[cl_event], event: &mut cl_event| {
            clEnqueueFillBuffer(q, b, one.as_ptr().cast(), 4, 0, 64, wait.len() as cl_uint, wait.as_ptr(), event)
        };
        assert_eq!(fill(&[gate], &mut events[0]), CL_SUCCESS);
        assert_eq!(fill(&[events[0]], &mut events[1]), CL_SUCCESS);
        // A barrier, before which an out-of-order queue has forgotten its commands.
        assert_eq!(clEnqueueBarrierWithWaitList(q, 0, NONE, &mut events[2]), CL_SUCCESS);
        assert!(events.iter().all(|event| status(*event) > 0));
        static CALLED: AtomicU32 = AtomicU32::new(0);
        extern "C" fn called(_: cl_event, status: cl_int, _: *mut c_void) {
            assert_eq!(status, CL_CONTEXT_TERMINATED_KHR);
            CALLED.fetch_add(1, Ordering::SeqCst);
        }
        let before = CALLED.load(Ordering::SeqCst);
        assert_eq!(clSetEventCallback(events[1], CL_COMPLETE, Some(called), null_mut()), CL_SUCCESS);

        assert_eq!(clTerminateContextKHR(c), CL_SUCCESS);
        assert!(events.iter().all(|event| status(*event) == CL_CONTEXT_TERMINATED_KHR));
        assert_eq!(clWaitForEvents(3, events.as_ptr()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        while CALLED.load(Ordering::SeqCst) == before {
            std::thread::yield_now();
        }
        assert_eq!(clFinish(q), CL_SUCCESS);

        assert_eq!(fill(&[], &mut null_mut()), CL_CONTEXT_TERMINATED_KHR);
        assert_eq!(refused(|e| clCreateBuffer(c, 0, 64, null_mut(), e)), CL_CONTEXT_TERMINATED_KHR);
        assert_eq!(refused(|e| clCreateCommandQueue(c, device(), 0, e)), CL_CONTEXT_TERMINATED_KHR);
        assert_eq!(refused(|e| clCreateUserEvent(c, e)), CL_CONTEXT_TERMINATED_KHR);
        assert_eq!(info::<cl_uint>(|s, v, r| clGetContextInfo(c, CL_CONTEXT_REFERENCE_COUNT, s, v, r)), 1);
        assert_eq!(info::<usize>(|s, v, r| clGetMemObjectInfo(b, CL_MEM_SIZE, s, v, r)), 64);
        // The status of user events can be set, and makes nothing run.
        assert_eq!(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
        assert!(events.iter().all(|event| status(*event) == CL_CONTEXT_TERMINATED_KHR));

        for event in events.into_iter().chain([gate]) {
            assert_eq!(clReleaseEvent(event), CL_SUCCESS);
        }
        assert_eq!(clReleaseMemObject(b), CL_SUCCESS);
        assert_eq!(clReleaseCommandQueue(q), CL_SUCCESS);
        assert_eq!(clReleaseContext(c), CL_SUCCESS);
    }
}

/// The function given to `clCreateContext` is called.
#[test]
fn the_context_reports_it() {
    static CALLED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn called(_: *const c_char, _: *const c_void, _: usize, _: *mut c_void) {
        CALLED.fetch_add(1, Ordering::SeqCst);
    }
    let properties = [TERMINATE, 1, 0];
    let c = made(|e| clCreateContext(properties.as_ptr(), 1, &device(), Some(called), null_mut(), e));
    assert_eq!(clTerminateContextKHR(c), CL_SUCCESS);
    while CALLED.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(clReleaseContext(c), CL_SUCCESS);
}
