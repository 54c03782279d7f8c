//! Markers, barriers, flush and finish, and the order that they make.

use std::ptr::{null, null_mut};

use super::cl::*;

fn status(event: cl_event) -> cl_int {
    info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r))
}

#[test]
fn deprecated_forms() {
    let setup = Setup::new();
    let q = setup.queue;
    let mut event = null_mut();
    assert_eq!(clEnqueueMarker(q, &mut event), CL_SUCCESS);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r)), CL_COMMAND_MARKER);
    assert_eq!(clEnqueueWaitForEvents(q, 1, &event), CL_SUCCESS);
    assert_eq!(clEnqueueBarrier(q), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(clFlush(q), CL_SUCCESS);

    assert_eq!(clEnqueueMarker(q, null_mut()), CL_INVALID_VALUE);
    assert_eq!(clEnqueueWaitForEvents(q, 0, &event), CL_INVALID_VALUE);
    assert_eq!(clEnqueueWaitForEvents(q, 1, null()), CL_INVALID_VALUE);
    assert_eq!(clEnqueueWaitForEvents(q, 1, &null_mut()), CL_INVALID_EVENT);
    let other = Setup::new();
    assert_eq!(clEnqueueWaitForEvents(other.queue, 1, &event), CL_INVALID_CONTEXT);
    assert_eq!(ended(event), CL_COMPLETE);
    for bad in [null_mut(), setup.context] {
        let mut event = null_mut();
        assert_eq!(clEnqueueMarker(bad, &mut event), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(clEnqueueWaitForEvents(bad, 1, &event), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(clEnqueueBarrier(bad), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(clFinish(bad), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(clFlush(bad), CL_INVALID_COMMAND_QUEUE);
    }
}

/// Out of order, a command overtakes one that waits, a barrier holds later ones back, a marker holds back nothing.
#[test]
fn out_of_order() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let q = setup.queue;
    let buffer = setup.buffer(0, 4);
    let user = setup.user_event();
    let pattern = [1u8];
    let fill = |n, list: *const cl_event| {
        let mut event = null_mut();
        let status = clEnqueueFillBuffer(q, buffer, pattern.as_ptr().cast(), 1, 0, 4, n, list, &mut event);
        assert_eq!(status, CL_SUCCESS);
        event
    };
    let waits = fill(1, &user);
    let mut marker = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(q, 0, NONE, &mut marker), CL_SUCCESS);
    assert_eq!(ended(fill(0, NONE)), CL_COMPLETE);
    assert!(status(waits) > CL_COMPLETE && status(marker) > CL_COMPLETE);
    let mut barrier = null_mut();
    assert_eq!(clEnqueueBarrierWithWaitList(q, 0, NONE, &mut barrier), CL_SUCCESS);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetEventInfo(barrier, CL_EVENT_COMMAND_TYPE, s, v, r)), CL_COMMAND_BARRIER);
    let behind = fill(0, NONE);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(status(barrier) > CL_COMPLETE && status(behind) > CL_COMPLETE);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    for event in [behind, barrier, marker, waits] {
        assert_eq!(ended(event), CL_COMPLETE);
    }
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}
