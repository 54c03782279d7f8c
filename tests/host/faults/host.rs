//! What a host process may be like, and what it may expect: small stacks, forks at any time, nothing left behind.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Number of threads of the process.
pub(super) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the process's threads").count()
}

extern "C" fn called(_: cl_event, _: cl_int, flag: *mut c_void) {
    // SAFETY: a static of the test.
    unsafe { &*flag.cast::<AtomicBool>() }.store(true, Ordering::SeqCst);
}

/// Runs a kernel on a context and queues that are released again.
pub(super) fn everything_once(device: *mut c_void) {
    static CALLED: AtomicBool = AtomicBool::new(false);
    CALLED.store(false, Ordering::SeqCst);
    let none = std::ptr::null_mut();
    let context = cl3::context::create_context(&[device], std::ptr::null(), None, none).expect("a context");
    // SAFETY: the objects are valid; the kernel gets the argument it declares.
    unsafe {
        let queue = cl3::command_queue::create_command_queue(context, device, 0).expect("a queue");
        // No event may be left: it would keep the queue.
        let buffer = cl3::memory::create_buffer(context, 1, 4 * ITEMS, none).expect("a buffer");
        let program = cl3::program::create_program_with_source(
            context,
            &["kernel void t(global int *a) { a[get_global_id(0)] = 7; }"],
        )
        .expect("a program");
        cl3::program::build_program(program, &[device], c"", None, none).expect("it builds");
        let kernel = cl3::kernel::create_kernel(program, c"t").expect("the kernel");
        set(kernel, 0, &buffer);
        let event = launch(queue, kernel, (ITEMS, 0));
        let flag = (&raw const CALLED).cast_mut().cast();
        cl3::event::set_event_callback(event, 0, called, flag).expect("a callback");
        let mut values = [0i32; ITEMS];
        let target = values.as_mut_ptr().cast();
        let read = cl3::command_queue::enqueue_read_buffer(queue, buffer, 1, 0, 4 * ITEMS, target, 0, std::ptr::null());
        assert_eq!(values, [7; ITEMS]);
        while !CALLED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        for event in [event, read.expect("a read")] {
            cl3::event::release_event(event).expect("a release");
        }
        cl3::kernel::release_kernel(kernel).expect("a release");
        cl3::program::release_program(program).expect("a release");
        cl3::memory::release_mem_object(buffer).expect("a release");
        cl3::command_queue::release_command_queue(queue).expect("a release");
        cl3::context::release_context(context).expect("a release");
    }
}

/// Waits until the process has no more threads than this; the test ends with an error if that does not happen.
pub(super) fn until_threads_are(count: usize) {
    while threads() > count {
        std::thread::sleep(Duration::from_millis(5));
    }
}

isolated! {
    /// After the last queue, all threads of the driver leave, and come back when they are needed.
    no_threads_are_left => || {
        let device = session().device_id();
        let before = threads();
        for _ in 0..3 {
            everything_once(device);
            until_threads_are(before);
        }
    };
    /// So do those of sub-devices.
    no_threads_of_sub_devices_are_left with ("CLIFT_THREADS", "2") => || {
        let device = session().device_id();
        let before = threads();
        for _ in 0..3 {
            // CL_DEVICE_PARTITION_EQUALLY
            let parts = cl3::device::create_sub_devices(device, &[0x1086, 1, 0]).expect("sub-devices");
            for part in &parts {
                everything_once(*part);
            }
            until_threads_are(before);
            for part in parts {
                // SAFETY: a sub-device that is not used any more.
                unsafe { cl3::device::release_device(part) }.expect("a release");
            }
        }
    };
    /// Builds and kernels do not run on the stack of the calling thread.
    small_stacks => || {
        // Deep enough in the front end and in the compiler to need more than the thread has.
        let depth = 100;
        let source = format!(
            "kernel void t(global int *a) {{ int x = {}1{}; a[get_global_id(0)] = x; }}",
            "(a[0] + ".repeat(depth),
            ")".repeat(depth)
        );
        let rig = Rig::new();
        let (context, queue) = (rig.context as usize, rig.queue as usize);
        let thread = std::thread::Builder::new().stack_size(48 << 10).spawn(move || {
            let rig = Rig {
                context: std::ptr::with_exposed_provenance_mut(context),
                queue: std::ptr::with_exposed_provenance_mut(queue),
            };
            let kernel = rig.kernel(&source);
            let buffer = rig.buffer(4 * ITEMS);
            set(kernel, 0, &buffer);
            launch(rig.queue, kernel, (ITEMS, 1));
            cl3::command_queue::finish(rig.queue).expect("it ends");
        });
        thread.expect("a thread").join().expect("the thread ends");
        rig.works();
    };
    /// Forks while other threads create and release objects: handles are valid in the child.
    forks_at_any_time => || {
        static DONE: AtomicBool = AtomicBool::new(false);
        let rig = Rig::new();
        let context = rig.context as usize;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let context: cl_context = std::ptr::with_exposed_provenance_mut(context);
                    while !DONE.load(Ordering::SeqCst) {
                        // SAFETY: valid objects; no host memory is involved.
                        unsafe {
                            let buffer =
                                cl3::memory::create_buffer(context, 1, 64, std::ptr::null_mut()).expect("a buffer");
                            cl3::memory::release_mem_object(buffer).expect("a release");
                        }
                    }
                });
            }
            for _ in 0..100 {
                // SAFETY: the child uses the driver, which supports it, and ends without destructors, or by the alarm.
                unsafe {
                    let pid = libc::fork();
                    if pid == 0 {
                        libc::alarm(60);
                        let context: cl_context = std::ptr::with_exposed_provenance_mut(context);
                        let made = cl3::memory::create_buffer(context, 1, 64, std::ptr::null_mut());
                        let released = made.and_then(|buffer| cl3::memory::release_mem_object(buffer));
                        libc::_exit(i32::from(released.is_err()));
                    }
                    let mut status = 0;
                    assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
                    assert_eq!(status, 0, "the child fails or hangs");
                }
            }
            DONE.store(true, Ordering::SeqCst);
        });
        rig.works();
    };
}
