//! Calls from many threads and from callbacks, and very many commands: what an application may do that a single case does
//! not.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::cl::*;

/// A handle that threads share.
#[derive(Clone, Copy)]
struct Shared(*mut c_void);

// SAFETY: OpenCL objects may be used from all threads.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

#[test]
fn many_threads() {
    const THREADS: u8 = 4;
    const ROUNDS: usize = 200;
    const PART: usize = 128;
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let buffer = setup.bytes(&[0; PART * THREADS as usize]);
    let (context, queue, mem) = (Shared(setup.context), Shared(setup.queue), Shared(buffer));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let (context, queue, mem) = (context.get(), queue.get(), mem.get());
                let own = made(|e| clCreateCommandQueue(context, device(), 0, e));
                let region = cl_buffer_region { origin: PART * usize::from(thread), size: PART };
                let info = (&raw const region).cast();
                for round in 0..ROUNDS {
                    assert_eq!(clRetainMemObject(mem), CL_SUCCESS);
                    let part = made(|e| clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, info, e));
                    let value = [thread.wrapping_add(round as u8)];
                    let (mut filled, mut back) = (null_mut(), [0u8; PART]);
                    let pattern = value.as_ptr().cast();
                    assert_eq!(clEnqueueFillBuffer(queue, part, pattern, 1, 0, PART, 0, NONE, &mut filled), CL_SUCCESS);
                    let target = back.as_mut_ptr().cast();
                    let status = clEnqueueReadBuffer(own, part, CL_TRUE, 0, PART, target, 1, &filled, SKIP);
                    assert_eq!(status, CL_SUCCESS);
                    assert_eq!(back, [value[0]; PART]);
                    assert_eq!(ended(filled), CL_COMPLETE);
                    assert_eq!(clReleaseMemObject(part), CL_SUCCESS);
                    assert_eq!(clReleaseMemObject(mem), CL_SUCCESS);
                }
                assert_eq!(clReleaseCommandQueue(own), CL_SUCCESS);
            });
        }
    });
    assert_eq!(info::<cl_uint>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, s, v, r)), 1);
    let last = (ROUNDS - 1) as u8;
    let expected: Vec<u8> = (0..THREADS).flat_map(|thread| [thread.wrapping_add(last); PART]).collect();
    assert_eq!(setup.contents(buffer), expected);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}

/// A chain of commands longer than any stack, held back and then let go, succeeding or failing, its events released before.
#[test]
fn long_chains() {
    const LENGTH: usize = 50_000;
    for (order, ending) in [
        (0, CL_COMPLETE),
        (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_COMPLETE),
        (0, -1),
        (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, -1),
    ] {
        let setup = Setup::with(order);
        let user = setup.user_event();
        let mut last = user;
        for _ in 0..LENGTH {
            let mut event = null_mut();
            assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 1, &last, &mut event), CL_SUCCESS);
            if last != user {
                assert_eq!(clReleaseEvent(last), CL_SUCCESS);
            }
            last = event;
        }
        assert_eq!(clSetUserEventStatus(user, ending), CL_SUCCESS);
        let failed = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        assert_eq!(ended(last), if ending < 0 { failed } else { CL_COMPLETE });
        assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    }
}

/// What a chain of callbacks works on.
struct Chain {
    queue: cl_command_queue,
    left: AtomicU32,
}

extern "C" fn enqueue_the_next(event: cl_event, status: cl_int, chain: *mut c_void) {
    // SAFETY: the chain lives until its last callback.
    let Chain { queue, left } = unsafe { &*chain.cast::<Chain>() };
    assert_eq!((status, clReleaseEvent(event)), (CL_COMPLETE, CL_SUCCESS));
    if left.load(Ordering::Acquire) > 1 {
        let mut next = null_mut();
        assert_eq!(clEnqueueMarkerWithWaitList(*queue, 0, NONE, &mut next), CL_SUCCESS);
        assert_eq!(clSetEventCallback(next, CL_COMPLETE, Some(enqueue_the_next), chain), CL_SUCCESS);
        assert_eq!(clFlush(*queue), CL_SUCCESS);
    }
    left.fetch_sub(1, Ordering::AcqRel);
}

/// Callbacks may enqueue, register callbacks and release.
#[test]
fn calls_from_callbacks() {
    let setup = Setup::new();
    let chain = Chain { queue: setup.queue, left: AtomicU32::new(100) };
    let mut first = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 0, NONE, &mut first), CL_SUCCESS);
    let data = (&raw const chain).cast_mut().cast();
    assert_eq!(clSetEventCallback(first, CL_COMPLETE, Some(enqueue_the_next), data), CL_SUCCESS);
    let deadline = Instant::now() + Duration::from_secs(20);
    while chain.left.load(Ordering::Acquire) != 0 {
        assert!(Instant::now() < deadline, "the chain broke");
        std::thread::yield_now();
    }
}
