//! Eight threads that create, enqueue and release, for a second, or `CLIFT_STRESS_MS` milliseconds. Each has a context of its
//! own and uses that of all others; objects pass from one thread to another, which releases them. In the end none is left.
//!
//! The driver is linked into this program, so that sanitizers see it: `./run soak` runs it with the address sanitizer.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

#[path = "api/cl.rs"]
#[allow(dead_code, reason = "shared with the test `api`")]
mod cl;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clift::ffi::handle::ClObject;
use clift::object::buffer::Mem;
use clift::object::context::Context;
use clift::object::event::Event;
use clift::object::kernel::Kernel;
use clift::object::program::Program;
use clift::object::queue::Queue;

use cl::*;

const THREADS: usize = 8;
/// Elements of a buffer.
const COUNT: usize = 64;
const SOURCE: &str = "kernel void k(global uint *p, uint n) { p[get_global_id(0)] += n; }";

/// An event and a buffer, with references for the thread that takes them.
struct Gift {
    event: usize,
    buffer: usize,
}

static GIFTS: Mutex<Vec<Gift>> = Mutex::new(Vec::new());
static CALLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn called(event: cl_event, status: cl_int, _: *mut c_void) {
    assert_eq!(status, CL_COMPLETE);
    // The callback has a reference of its own.
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    CALLED.fetch_add(1, Ordering::SeqCst);
}

fn program(context: cl_context) -> cl_program {
    let text = SOURCE.as_ptr().cast();
    let program = made(|e| clCreateProgramWithSource(context, 1, &text, &SOURCE.len(), e));
    assert_eq!(clBuildProgram(program, 0, null(), null(), None, null_mut()), CL_SUCCESS);
    program
}

/// One round on objects that are made and released here. Returns the number of callbacks that are to come.
fn round(context: cl_context, program: cl_program, number: u32) -> u64 {
    let properties = if number.is_multiple_of(2) { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
    let queue = made(|e| clCreateCommandQueue(context, device(), properties, e));
    let buffer = made(|e| clCreateBuffer(context, 0, 4 * COUNT, null_mut(), e));
    let kernel = made(|e| clCreateKernel(program, c"k".as_ptr(), e));
    let zero = 0u32;
    let (mut filled, mut launched, mut gate): (cl_event, cl_event, cl_event) = (null_mut(), null_mut(), null_mut());
    let pattern = (&raw const zero).cast();
    if number.is_multiple_of(3) {
        gate = made(|e| clCreateUserEvent(context, e));
    }
    let (waits, list) = if gate.is_null() { (0, null()) } else { (1, &raw const gate) };
    assert_eq!(clEnqueueFillBuffer(queue, buffer, pattern, 4, 0, 4 * COUNT, waits, list, &mut filled), CL_SUCCESS);
    assert_eq!(clSetKernelArg(kernel, 0, size_of::<cl_mem>(), (&raw const buffer).cast()), CL_SUCCESS);
    assert_eq!(clSetKernelArg(kernel, 1, 4, (&raw const number).cast()), CL_SUCCESS);
    let status =
        clEnqueueNDRangeKernel(queue, kernel, 1, null(), &COUNT, null(), 1, &raw const filled, &raw mut launched);
    assert_eq!(status, CL_SUCCESS);
    // The commands hold what they need.
    assert_eq!((clReleaseKernel(kernel), clReleaseEvent(filled)), (CL_SUCCESS, CL_SUCCESS));
    assert_eq!(clRetainEvent(launched), CL_SUCCESS);
    assert_eq!(clSetEventCallback(launched, CL_COMPLETE, Some(called), null_mut()), CL_SUCCESS);
    if !gate.is_null() {
        assert_eq!((clSetUserEventStatus(gate, CL_COMPLETE), clReleaseEvent(gate)), (CL_SUCCESS, CL_SUCCESS));
    }
    if number.is_multiple_of(4) {
        let mut found = [0u32; COUNT];
        let target = found.as_mut_ptr().cast();
        let after = &raw const launched;
        let status = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4 * COUNT, target, 1, after, null_mut());
        assert_eq!((status, found), (CL_SUCCESS, [number; COUNT]));
        assert_eq!((clReleaseEvent(launched), clReleaseMemObject(buffer)), (CL_SUCCESS, CL_SUCCESS));
    } else {
        GIFTS.lock().unwrap().push(Gift { event: launched.expose_provenance(), buffer: buffer.expose_provenance() });
    }
    assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    1
}

/// Takes what another thread has left.
fn take() -> bool {
    let Some(Gift { event, buffer }) = GIFTS.lock().unwrap().pop() else { return false };
    let event: cl_event = std::ptr::with_exposed_provenance_mut(event);
    assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(std::ptr::with_exposed_provenance_mut(buffer)), CL_SUCCESS);
    true
}

fn live() -> [usize; 6] {
    fn of<T: ClObject>() -> usize {
        T::registry().len()
    }
    [of::<Context>(), of::<Queue>(), of::<Mem>(), of::<Event>(), of::<Program>(), of::<Kernel>()]
}

#[test]
fn eight_threads_create_enqueue_and_release() {
    let new_context = || made(|e| clCreateContext(null(), 1, &device(), None, null_mut(), e));
    let shared = new_context();
    // The driver, which is linked into this program, prints no panics.
    drop(std::panic::take_hook());
    let of_all = program(shared);
    let time = std::env::var("CLIFT_STRESS_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let end = Instant::now() + Duration::from_millis(time);
    let (context, program_of_all) = (shared.expose_provenance(), of_all.expose_provenance());
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            std::thread::spawn(move || {
                let (mut rounds, mut number) = (0, thread as u32);
                while Instant::now() < end {
                    let own = new_context();
                    let of_own = program(own);
                    for _ in 0..20 {
                        rounds += round(own, of_own, number);
                        let context = std::ptr::with_exposed_provenance_mut(context);
                        rounds += round(context, std::ptr::with_exposed_provenance_mut(program_of_all), number + 1);
                        number = number.wrapping_add(5);
                        take();
                    }
                    assert_eq!((clReleaseProgram(of_own), clReleaseContext(own)), (CL_SUCCESS, CL_SUCCESS));
                }
                rounds
            })
        })
        .collect();
    let rounds: u64 = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    while take() {}
    assert_eq!((clReleaseProgram(of_all), clReleaseContext(shared)), (CL_SUCCESS, CL_SUCCESS));
    let deadline = Instant::now() + Duration::from_secs(10);
    while (live() != [0; 6] || CALLED.load(Ordering::SeqCst) != rounds) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(live(), [0; 6], "contexts, queues, memory objects, events, programs, kernels are left");
    assert_eq!(CALLED.load(Ordering::SeqCst), rounds, "callbacks");
    println!("{rounds} rounds");
}
