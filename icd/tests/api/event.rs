//! Events: user events, waiting, callbacks, profiling.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::cl::*;

#[test]
fn user_events() {
    let setup = Setup::new();
    let event = setup.user_event();
    let status = || info::<cl_int>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r));
    assert_eq!(status(), CL_SUBMITTED);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r)), CL_COMMAND_USER);
    assert_eq!(info::<cl_context>(|s, v, r| clGetEventInfo(event, CL_EVENT_CONTEXT, s, v, r)), setup.context);
    let queue = info::<cl_command_queue>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, s, v, r));
    assert!(queue.is_null());
    assert_eq!(clRetainEvent(event), CL_SUCCESS);
    assert_eq!(info::<cl_uint>(|s, v, r| clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, s, v, r)), 2);
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    assert_eq!(clGetEventInfo(event, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);

    for bad in [CL_SUBMITTED, CL_RUNNING, CL_QUEUED, 100] {
        assert_eq!(clSetUserEventStatus(event, bad), CL_INVALID_VALUE);
    }
    assert_eq!(clSetUserEventStatus(event, -77), CL_SUCCESS);
    assert_eq!(status(), -77);
    assert_eq!(clSetUserEventStatus(event, CL_COMPLETE), CL_INVALID_OPERATION);
    assert_eq!(ended(event), -77);

    assert_eq!(refused(|e| clCreateUserEvent(null_mut(), e)), CL_INVALID_CONTEXT);
    assert_eq!(clSetUserEventStatus(null_mut(), CL_COMPLETE), CL_INVALID_EVENT);
    let mut command = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 0, NONE, &mut command), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(command, CL_COMPLETE), CL_INVALID_EVENT);
    assert_eq!(ended(command), CL_COMPLETE);
}

#[test]
fn waiting() {
    let (setup, other) = (Setup::new(), Setup::new());
    let (good, foreign) = (setup.user_event(), other.user_event());
    assert_eq!(clSetUserEventStatus(good, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(clWaitForEvents(2, [good, good].as_ptr()), CL_SUCCESS);
    assert_eq!(clWaitForEvents(0, &good), CL_INVALID_VALUE);
    assert_eq!(clWaitForEvents(1, null()), CL_INVALID_VALUE);
    assert_eq!(clWaitForEvents(2, [good, null_mut()].as_ptr()), CL_INVALID_EVENT);
    assert_eq!(clWaitForEvents(2, [good, foreign].as_ptr()), CL_INVALID_CONTEXT);
    let bad = setup.user_event();
    assert_eq!(clSetUserEventStatus(bad, -1), CL_SUCCESS);
    let both = [bad, good];
    assert_eq!(clWaitForEvents(2, both.as_ptr()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    for event in [good, bad, foreign] {
        assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    }
}

/// An error passes along a chain of commands, each with -14, and an unrelated queue does not feel it.
#[test]
fn errors_propagate() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let user = setup.user_event();
    let mut chain = vec![user];
    for _ in 0..4 {
        let mut event = null_mut();
        let status = clEnqueueMarkerWithWaitList(setup.queue, 1, chain.last().unwrap(), &mut event);
        assert_eq!(status, CL_SUCCESS);
        chain.push(event);
    }
    assert_eq!(clSetUserEventStatus(user, -3), CL_SUCCESS);
    assert_eq!(ended(chain.remove(0)), -3);
    for event in chain {
        assert_eq!(ended(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
}

type Call = (usize, cl_int);

extern "C" fn tell(event: cl_event, status: cl_int, sender: *mut c_void) {
    // SAFETY: the sender that the case passed, which is never freed: `send` may still be at work when its call has been received.
    unsafe { &*sender.cast::<Sender<Call>>() }.send((event.addr(), status)).unwrap();
}

fn next(receiver: &Receiver<Call>) -> Call {
    receiver.recv_timeout(Duration::from_secs(20)).expect("no callback came")
}

#[test]
fn callbacks() {
    let setup = Setup::new();
    let (sender, receiver) = channel::<Call>();
    let data: *mut c_void = std::ptr::from_mut(Box::leak(Box::new(sender))).cast();
    let user = setup.user_event();
    let mut command = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 1, &user, &mut command), CL_SUCCESS);
    for status in [CL_COMPLETE, CL_RUNNING, CL_SUBMITTED] {
        assert_eq!(clSetEventCallback(command, status, Some(tell), data), CL_SUCCESS);
    }
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    let mut calls = [next(&receiver), next(&receiver), next(&receiver)];
    calls.sort_unstable();
    assert_eq!(calls, [CL_COMPLETE, CL_RUNNING, CL_SUBMITTED].map(|status| (command.addr(), status)));
    // A callback that is registered too late is called, too.
    assert_eq!(clSetEventCallback(command, CL_COMPLETE, Some(tell), data), CL_SUCCESS);
    assert_eq!(next(&receiver), (command.addr(), CL_COMPLETE));

    for bad in [CL_QUEUED, -1, 4] {
        assert_eq!(clSetEventCallback(command, bad, Some(tell), data), CL_INVALID_VALUE);
    }
    assert_eq!(clSetEventCallback(command, CL_COMPLETE, None, data), CL_INVALID_VALUE);
    assert_eq!(clSetEventCallback(null_mut(), CL_COMPLETE, Some(tell), data), CL_INVALID_EVENT);
    assert_eq!(ended(command), CL_COMPLETE);
    assert_eq!(ended(user), CL_COMPLETE);

    // A callback gets the code of a failure, and is called even for an event that has been released.
    let user = setup.user_event();
    let mut command = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 1, &user, &mut command), CL_SUCCESS);
    assert_eq!(clSetEventCallback(command, CL_COMPLETE, Some(tell), data), CL_SUCCESS);
    assert_eq!(clReleaseEvent(command), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(user, -9), CL_SUCCESS);
    assert_eq!(next(&receiver), (command.addr(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST));
    assert_eq!(ended(user), -9);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
}

/// Callbacks of a user event that has been set come before its end, although the application releases it at once.
#[test]
fn callbacks_of_released_user_events() {
    let setup = Setup::new();
    let (sender, receiver) = channel::<Call>();
    let data: *mut c_void = std::ptr::from_mut(Box::leak(Box::new(sender))).cast();
    for _ in 0..200 {
        let [early, late] = [setup.user_event(), setup.user_event()];
        assert_eq!(clSetEventCallback(early, CL_SUBMITTED, Some(tell), data), CL_SUCCESS);
        for status in [CL_COMPLETE, CL_RUNNING] {
            assert_eq!(clSetEventCallback(late, status, Some(tell), data), CL_SUCCESS);
        }
        assert_eq!(clSetUserEventStatus(late, -5), CL_SUCCESS);
        for event in [early, late] {
            assert_eq!(clReleaseEvent(event), CL_SUCCESS);
        }
        assert_eq!(next(&receiver), (early.addr(), CL_SUBMITTED));
        assert_eq!([next(&receiver), next(&receiver)], [(late.addr(), -5); 2]);
    }
}

#[test]
fn profiling() {
    const NAMES: [cl_uint; 5] = [
        CL_PROFILING_COMMAND_QUEUED,
        CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START,
        CL_PROFILING_COMMAND_END,
        CL_PROFILING_COMMAND_COMPLETE,
    ];
    let refuses = |event: cl_event, code| {
        for name in NAMES {
            let mut time = 0u64;
            assert_eq!(clGetEventProfilingInfo(event, name, 8, (&raw mut time).cast(), null_mut()), code);
        }
    };
    let setup = Setup::new();
    let user = setup.user_event();
    refuses(user, CL_PROFILING_INFO_NOT_AVAILABLE);
    let mut event = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 1, &user, &mut event), CL_SUCCESS);
    refuses(event, CL_PROFILING_INFO_NOT_AVAILABLE);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
    let times = NAMES.map(|name| info::<cl_ulong>(|s, v, r| clGetEventProfilingInfo(event, name, s, v, r)));
    assert!(times[0] != 0 && times.is_sorted(), "{times:?}");
    assert_eq!(clGetEventProfilingInfo(event, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
    assert_eq!(ended(event), CL_COMPLETE);
    refuses(user, CL_PROFILING_INFO_NOT_AVAILABLE);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    refuses(null_mut(), CL_INVALID_EVENT);

    // A command that failed has none.
    let failed = setup.user_event();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 1, &failed, &mut event), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(failed, -1), CL_SUCCESS);
    assert_eq!(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    refuses(event, CL_PROFILING_INFO_NOT_AVAILABLE);
    for event in [event, failed] {
        assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    }

    // Nor has one of a queue without profiling.
    let plain = Setup::with(0);
    assert_eq!(clEnqueueMarkerWithWaitList(plain.queue, 0, NONE, &mut event), CL_SUCCESS);
    assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
    refuses(event, CL_PROFILING_INFO_NOT_AVAILABLE);
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
}
