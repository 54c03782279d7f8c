//! `clTerminateContextKHR` stops what runs: endless kernels above all.

use std::ffi::c_char;
use std::time::{Duration, Instant};

use opencl3::types::{cl_context, cl_int, cl_platform_id};

use clift_tests::session::session;

use super::{ITEMS, Rig, isolated, lacks, launch, queue_of, set, status};

/// `CL_CONTEXT_TERMINATE_KHR`.
const TERMINATE: isize = 0x2032;
/// `CL_CONTEXT_TERMINATED_KHR`.
const TERMINATED: cl_int = -1121;

/// Never ends while the flag is 0.
const SPIN: &str = "kernel void t(global volatile int *flag) { while (flag[0] == 0) flag[1] = 1; }";

fn rig() -> Rig {
    Rig::with(&[TERMINATE, 1, 0])
}

fn terminate(context: cl_context) -> cl_int {
    type Lookup =
        unsafe extern "C" fn(cl_platform_id, *const c_char) -> Option<unsafe extern "C" fn(cl_context) -> cl_int>;
    // SAFETY: the functions have these types; the name ends with a zero byte; the context is valid.
    unsafe {
        let lookup: Lookup = clift_tests::raw::entry(c"clGetExtensionFunctionAddressForPlatform");
        let function =
            lookup(session().platform(), c"clTerminateContextKHR".as_ptr()).expect("the extension's function");
        function(context)
    }
}

/// Launches an endless kernel and terminates its context from another thread, once it runs.
fn stops(source: &str, sizes: (usize, usize), waiting: bool) {
    if lacks("cl_khr_terminate_context") {
        return;
    }
    let (other, doomed) = (Rig::new(), rig());
    let kernel = doomed.kernel(source);
    set(kernel, 0, &doomed.buffer(4096));
    cl3::command_queue::finish(doomed.queue).expect("it ends");
    let event = launch(doomed.queue, kernel, sizes);
    let behind = launch(doomed.queue, kernel, sizes);
    cl3::command_queue::flush(doomed.queue).expect("a flush");
    let start = Instant::now();
    let context = doomed.context as usize;
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(terminate(context as cl_context), 0);
        assert_eq!(terminate(context as cl_context), TERMINATED);
    });
    if !waiting {
        // Only the workers run it: this thread does not wait in the driver.
        thread.join().expect("it survives");
        while status(event) > 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "it is not stopped");
            std::thread::sleep(Duration::from_millis(1));
        }
    } else {
        // This thread may run it.
        assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14));
        thread.join().expect("it survives");
    }
    assert_eq!(cl3::event::wait_for_events(&[event, behind]), Err(-14));
    assert_eq!((status(event), status(behind)), (TERMINATED, TERMINATED));
    assert_eq!(cl3::command_queue::finish(doomed.queue), Ok(()));
    let messages = doomed.messages();
    assert!(messages.iter().any(|message| message.contains("terminated")), "{messages:?}");
    other.works();
}

isolated! {
    one_work_item => || stops(SPIN, (1, 1), false);
    all_threads => || stops(SPIN, (4096, 64), false);
    with_barriers => || {
        stops(
            "kernel void t(global volatile int *flag) { while (flag[0] == 0) barrier(CLK_LOCAL_MEM_FENCE); }",
            (256, 64),
            false,
        );
    };
    while_the_application_waits => || stops(SPIN, (4096, 64), true);
    in_cranelift_code with ("CLIFT_BACKEND", "cranelift") => || stops(SPIN, (256, 64), false);
    in_functions_of_the_driver => || {
        stops(
            "kernel void t(global float *p) { float x = p[1]; while (p[0] == 0.0f) { x = lgamma(x + 1.5f); p[2] = x; } }",
            (256, 64),
            false,
        );
    };
    /// Launches of other contexts run to their ends, on the same threads.
    others_are_not_stopped => || {
        if lacks("cl_khr_terminate_context") {
            return;
        }
        let other = Rig::new();
        let kernel = other.kernel(
            "kernel void t(global uint *a) {
                uint x = get_global_id(0);
                for (int i = 0; i < 20000; i++) x = x * 1664525 + 1013904223;
                a[get_global_id(0)] = x;
            }",
        );
        let expected = |id: u32| (0..20000).fold(id, |x, _| x.wrapping_mul(1664525).wrapping_add(1013904223)) as i32;
        let buffer = other.buffer(4 * ITEMS);
        set(kernel, 0, &buffer);
        let queue = queue_of(other.context, 0);
        for _ in 0..20 {
            let doomed = rig();
            let endless = doomed.kernel(SPIN);
            set(endless, 0, &doomed.buffer(64));
            launch(doomed.queue, endless, (64, 1));
            let event = launch(queue, kernel, (ITEMS, 16));
            assert_eq!(terminate(doomed.context), 0);
            assert_eq!(cl3::event::wait_for_events(&[event]), Ok(()));
            let values = super::read(queue, buffer, ITEMS);
            assert!((0..).zip(&values).all(|(id, value)| *value == expected(id)), "{values:?}");
        }
        other.works();
    };
}
