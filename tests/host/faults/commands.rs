//! Faults in all kinds of commands, and what follows from them: dependants, callbacks, other queues.

use std::ffi::c_void;
use std::sync::mpsc::channel;
use std::time::Duration;

use opencl3::types::{cl_event, cl_int};

use clift_tests::session::session;

use super::{ITEMS, Rig, isolated, launch, launch_after, queue_of, read, set, status, write_to};

/// An address that is not mapped.
fn nowhere() -> *mut c_void {
    std::ptr::without_provenance_mut(4096)
}

isolated! {
    task => || {
        let rig = Rig::new();
        // SAFETY: the arguments are set.
        let event = unsafe { cl3::command_queue::enqueue_task(rig.queue, write_to(&rig, 64), 0, std::ptr::null()) };
        let text = rig.failure(event.expect("a task"));
        assert!(text.contains("work-item (0, 0, 0)"), "{text}");
        rig.works();
    };
    sub_device => || {
        let rig = Rig::new();
        // CL_DEVICE_PARTITION_EQUALLY, 1
        let parts = cl3::device::create_sub_devices(session().device_id(), &[0x1086, 1, 0]).expect("sub-devices");
        let context =
            cl3::context::create_context(&parts[..1], std::ptr::null(), Some(super::on_error), std::ptr::null_mut()).expect("a context");
        // SAFETY: the device belongs to the context.
        let queue = unsafe { cl3::command_queue::create_command_queue(context, parts[0], 0) }.expect("a queue");
        let program = cl3::program::create_program_with_source(context, &[super::WRITE]).expect("a program");
        cl3::program::build_program(program, &parts[..1], c"", None, std::ptr::null_mut()).expect("it builds");
        let kernel = cl3::kernel::create_kernel(program, c"t").expect("the kernel");
        super::set_null(kernel, 0);
        set(kernel, 1, &64u64);
        let event = launch(queue, kernel, (ITEMS, ITEMS));
        assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14));
        assert!(rig.messages()[0].contains("write to address 0x40"));
        rig.works();
    };
    dependants => || {
        let rig = Rig::new();
        let (first, second) = (queue_of(rig.context, 0), queue_of(rig.context, 0));
        let buffer = rig.buffer(64);
        cl3::command_queue::finish(rig.queue).expect("it ends");
        let mark = rig.kernel("kernel void t(global int *a, int at) { a[at] = 1; }");
        set(mark, 0, &buffer);
        let failed = launch(first, write_to(&rig, 0), (ITEMS, 0));
        set(mark, 1, &0i32);
        let dependant = launch_after(second, mark, (1, 1), &[failed]);
        set(mark, 1, &1i32);
        // Later in the same queues, without a wait list: these run.
        let later = [launch(first, mark, (1, 1))];
        set(mark, 1, &2i32);
        launch(second, mark, (1, 1));
        assert_eq!(cl3::command_queue::finish(first), Ok(()));
        assert_eq!(cl3::command_queue::finish(second), Ok(()));
        assert_eq!((status(failed), status(dependant), status(later[0])), (-5, -14, 0));
        assert_eq!(cl3::event::wait_for_events(&[later[0], dependant]), Err(-14));
        assert_eq!(read(rig.queue, buffer, 3), [0, 1, 1]);
        rig.works();
    };
    callbacks_of_events => || {
        extern "C" fn called(_: cl_event, status: cl_int, sender: *mut c_void) {
            // SAFETY: the box made below, once.
            let sender = unsafe { Box::from_raw(sender.cast::<std::sync::mpsc::Sender<cl_int>>()) };
            sender.send(status).expect("the test listens");
        }
        let rig = Rig::new();
        let event = launch(rig.queue, write_to(&rig, 0), (ITEMS, 0));
        let (sender, receiver) = channel();
        let data = Box::into_raw(Box::new(sender)).cast();
        cl3::event::set_event_callback(event, 0, called, data).expect("a callback");
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(-5));
        rig.failure(event);
        rig.works();
    };
    out_of_order_queue => || {
        let rig = Rig::new();
        let queue = queue_of(rig.context, 1);
        let bad = write_to(&rig, 0);
        let good = rig.kernel("kernel void t(global int *a, int at) { a[at] = 1; }");
        let buffer = rig.buffer(4 * 100);
        cl3::command_queue::finish(rig.queue).expect("it ends");
        set(good, 0, &buffer);
        for i in 0..100i32 {
            set(good, 1, &i);
            launch(queue, good, (1, 1));
            launch(queue, bad, (ITEMS, 0));
        }
        assert_eq!(cl3::command_queue::finish(queue), Ok(()));
        assert!(read(rig.queue, buffer, 100).iter().all(|value| *value == 1));
        rig.works();
    };
    blocking_read_into_nowhere => || {
        let rig = Rig::new();
        let buffer = rig.buffer(1 << 20);
        for bytes in [4, 100, 1 << 20] {
            // SAFETY: deliberately not: the driver has to survive it.
            let result = unsafe {
                cl3::command_queue::enqueue_read_buffer(rig.queue, buffer, 1, 0, bytes, nowhere(), 0, std::ptr::null())
            };
            assert_eq!(result, Err(-5));
            let messages = rig.messages();
            // Which byte is copied first depends on the processor.
            let address = messages[0].split_once("write to address 0x").and_then(|(_, rest)| rest.split_once(','));
            let address = address.and_then(|(digits, _)| usize::from_str_radix(digits, 16).ok());
            let start = nowhere() as usize;
            let is_inside = address.is_some_and(|address| (start..start + bytes).contains(&address));
            assert!(is_inside, "{bytes} bytes: {messages:?}");
        }
        rig.works();
    };
    write_from_nowhere => || {
        let rig = Rig::new();
        let buffer = rig.buffer(4096);
        // SAFETY: as above.
        let event = unsafe {
            cl3::command_queue::enqueue_write_buffer(rig.queue, buffer, 0, 0, 4096, nowhere(), 0, std::ptr::null())
        };
        let text = rig.failure(event.expect("a write"));
        assert!(text.contains("read from address"), "{text}");
        rig.works();
    };
    rectangle_to_nowhere => || {
        let rig = Rig::new();
        let buffer = rig.buffer(4096);
        let (origin, region) = ([0usize; 3], [16usize, 16, 4]);
        // SAFETY: as above.
        let result = unsafe {
            let origin = origin.as_ptr();
            cl3::command_queue::enqueue_read_buffer_rect(
                rig.queue, buffer, 1, origin, origin, region.as_ptr(), 32, 0, 64, 0, nowhere(), 0, std::ptr::null(),
            )
        };
        assert_eq!(result, Err(-5));
        rig.works();
    };
    shared_memory_copies => || {
        let rig = Rig::new();
        let mut own = [0u8; 64];
        // SAFETY: as above.
        unsafe {
            let to = own.as_mut_ptr().cast();
            let copy = |to, from| {
                cl3::command_queue::enqueue_svm_mem_cpy(rig.queue, 0, to, from, 64, 0, std::ptr::null()).expect("a copy")
            };
            rig.failure(copy(to, nowhere()));
            rig.failure(copy(nowhere(), to));
            let fill = cl3::command_queue::enqueue_svm_mem_fill(rig.queue, nowhere(), to, 4, 64, 0, std::ptr::null());
            rig.failure(fill.expect("a fill"));
        }
        rig.works();
    };
    buffer_from_nowhere => || {
        let rig = Rig::new();
        // CL_MEM_COPY_HOST_PTR
        // SAFETY: as above.
        let made = unsafe { cl3::memory::create_buffer(rig.context, 1 | 32, 4096, nowhere()) };
        assert!(made.is_err());
        rig.works();
    };
    command_buffer => || {
        let rig = Rig::new();
        if !session().has_extension("cl_khr_command_buffer") {
            return;
        }
        let kernel = write_to(&rig, 0);
        let buffer = record(&rig, kernel);
        for _ in 0..3 {
            let event = enqueue_recorded(buffer);
            assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14));
            assert!(status(event) < 0);
            assert!(rig.messages()[0].contains("kernel `t`"));
        }
        set(kernel, 1, &0u64);
        rig.works();
    };
    many_threads => || {
        let rig = Rig::new();
        let context = rig.context as usize;
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(move || {
                    let rig = Rig { context: context as _, queue: queue_of(context as _, 0) };
                    let bad = write_to(&rig, 0);
                    for _ in 0..50 {
                        let event = launch(rig.queue, bad, (ITEMS, 0));
                        assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14));
                        rig.works();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("it survives");
        }
    };
    released_before_the_fault => || {
        let rig = Rig::new();
        let gate = cl3::event::create_user_event(rig.context).expect("a user event");
        let context = cl3::context::create_context(
            &[session().device_id()], std::ptr::null(), Some(super::on_error), std::ptr::null_mut(),
        ).expect("a context");
        let other = Rig { context, queue: queue_of(context, 0) };
        let own_gate = cl3::event::create_user_event(context).expect("a user event");
        let kernel = write_to(&other, 0);
        let event = launch_after(other.queue, kernel, (ITEMS, 0), &[own_gate]);
        // SAFETY: they are not used any more.
        unsafe {
            cl3::kernel::release_kernel(kernel).expect("a release");
            cl3::command_queue::release_command_queue(other.queue).expect("a release");
            cl3::context::release_context(context).expect("a release");
        }
        cl3::event::set_user_event_status(own_gate, 0).expect("a status");
        assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14));
        cl3::event::set_user_event_status(gate, 0).expect("a status");
        rig.works();
    };
}

type Find = unsafe extern "C" fn(*mut c_void, *const std::ffi::c_char) -> *mut c_void;
type CreateBuffer = unsafe extern "C" fn(u32, *const *mut c_void, *const u64, *mut cl_int) -> *mut c_void;
type RecordKernel = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const u64,
    *mut c_void,
    u32,
    *const usize,
    *const usize,
    *const usize,
    u32,
    *const u32,
    *mut u32,
    *mut *mut c_void,
) -> cl_int;
type Finalize = unsafe extern "C" fn(*mut c_void) -> cl_int;
type Enqueue = unsafe extern "C" fn(u32, *mut *mut c_void, *mut c_void, u32, *const cl_event, *mut cl_event) -> cl_int;

/// A function of an extension.
///
/// # Safety
/// `F` is its type.
unsafe fn extension<F>(name: &std::ffi::CStr) -> F {
    // SAFETY: the caller vouches for the type, which is one pointer wide.
    unsafe {
        let find: Find = clift_tests::raw::entry(c"clGetExtensionFunctionAddressForPlatform");
        let function = find(session().platform(), name.as_ptr());
        assert!(!function.is_null());
        std::mem::transmute_copy(&function)
    }
}

/// A command buffer with one launch.
fn record(rig: &Rig, kernel: *mut c_void) -> *mut c_void {
    // SAFETY: the types are those of the extension; the arguments are set.
    unsafe {
        let (create, add, finalize): (CreateBuffer, RecordKernel, Finalize) = (
            extension(c"clCreateCommandBufferKHR"),
            extension(c"clCommandNDRangeKernelKHR"),
            extension(c"clFinalizeCommandBufferKHR"),
        );
        let mut error = 0;
        let buffer = create(1, &raw const rig.queue, std::ptr::null(), &raw mut error);
        assert_eq!(error, 0);
        let (none, items) = (std::ptr::null_mut::<c_void>(), ITEMS);
        let added = add(
            buffer,
            none,
            std::ptr::null(),
            kernel,
            1,
            std::ptr::null(),
            &raw const items,
            std::ptr::null(),
            0,
            std::ptr::null(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
        assert_eq!((added, finalize(buffer)), (0, 0));
        buffer
    }
}

fn enqueue_recorded(buffer: *mut c_void) -> cl_event {
    let mut event: cl_event = std::ptr::null_mut();
    // SAFETY: as above.
    let enqueued = unsafe {
        let enqueue: Enqueue = extension(c"clEnqueueCommandBufferKHR");
        enqueue(0, std::ptr::null_mut(), buffer, 0, std::ptr::null(), &raw mut event)
    };
    assert_eq!(enqueued, 0);
    event
}
