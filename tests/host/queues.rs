//! Queues: order, out-of-order execution, markers and barriers, tasks, native kernels.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem as _};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_event, cl_int};

use clift_tests::commands::fill;
use clift_tests::session::{Session, session};

fn buffer(session: &Session, len: usize) -> Buffer<cl_int> {
    // SAFETY: no host memory is involved.
    unsafe { Buffer::create(&session.context, CL_MEM_READ_WRITE, len, std::ptr::null_mut()) }.expect("a buffer")
}

fn read(queue: &CommandQueue, buffer: &Buffer<cl_int>, len: usize, after: &[cl_event]) -> Vec<cl_int> {
    let mut out = vec![0; len];
    // SAFETY: a blocking read into memory of the right size.
    unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut out, after) }.expect("a read");
    out
}

/// Launches `kernel` over `items` work-items with its arguments as they are set.
fn launch(queue: &CommandQueue, kernel: &Kernel, items: usize, after: &[cl_event]) -> Event {
    let list = if after.is_empty() { std::ptr::null() } else { after.as_ptr() };
    // SAFETY: the arguments were set by the caller.
    let event = unsafe {
        cl3::command_queue::enqueue_nd_range_kernel(
            queue.get(),
            kernel.get(),
            1,
            std::ptr::null(),
            &raw const items,
            std::ptr::null(),
            after.len() as u32,
            list,
        )
    };
    Event::new(event.expect("a launch"))
}

const STEP: &str = "kernel void t(global int *a, int x) { size_t i = get_global_id(0); a[i] = a[i] * 3 + x; }";

#[test]
fn in_order_queue_keeps_the_order() {
    let session = session();
    let (_program, kernel) = session.kernel(STEP, "", "t");
    let (queue, buffer) = (session.queue(), buffer(session, 64));
    let mut expected = 0_i32;
    fill(&queue, &buffer, &[0], 0, 256, &[]).expect("a fill");
    for x in 0..200 {
        // SAFETY: the arguments are those the kernel declares; an enqueued launch keeps the values it was given.
        unsafe { kernel.set_arg(0, &buffer).and_then(|()| kernel.set_arg(1, &x)) }.expect("arguments");
        launch(&queue, &kernel, 64, &[]);
        expected = expected.wrapping_mul(3).wrapping_add(x);
    }
    assert!(read(&queue, &buffer, 64, &[]).iter().all(|value| *value == expected));
}

#[test]
fn out_of_order_queue_follows_wait_lists() {
    let session = session();
    let (_program, kernel) = session.kernel(STEP, "", "t");
    let queue = session.out_of_order_queue();
    let buffers = [0, 1, 2].map(|_| buffer(session, 128));
    // Three chains, interleaved; each launch waits for the one before it in its chain.
    let mut last = Vec::new();
    for buffer in &buffers {
        last.push(fill(&queue, buffer, &[1], 0, 512, &[]).expect("a fill"));
    }
    for x in 0..30_i32 {
        for (chain, buffer) in buffers.iter().enumerate() {
            let x = x + chain as i32 * 100;
            // SAFETY: as above.
            unsafe { kernel.set_arg(0, buffer).and_then(|()| kernel.set_arg(1, &x)) }.expect("arguments");
            last[chain] = launch(&queue, &kernel, 128, &[last[chain].get()]);
        }
    }
    for (chain, buffer) in buffers.iter().enumerate() {
        let expected = (0..30).fold(1_i32, |a, x| a.wrapping_mul(3).wrapping_add(x + chain as i32 * 100));
        assert!(
            read(&queue, buffer, 128, &[last[chain].get()]).iter().all(|value| *value == expected),
            "chain {chain}"
        );
    }
}

/// A later command does not wait for an earlier one that it does not depend on.
#[test]
fn out_of_order_queue_overtakes() {
    let session = session();
    let queue = session.out_of_order_queue();
    let (held, free) = (buffer(session, 16), buffer(session, 16));
    let gate = cl3::event::create_user_event(session.context.get()).expect("a user event");
    let first = fill(&queue, &held, &[7], 0, 64, &[gate]).expect("a fill");
    let second = fill(&queue, &free, &[8], 0, 64, &[]).expect("a fill");
    second.wait().expect("the command without dependency");
    assert!(first.command_execution_status().expect("a status").0 > 0, "the gate is still closed");
    cl3::event::set_user_event_status(gate, 0).expect("opening the gate");
    first.wait().expect("the held command");
    // SAFETY: the one reference of this test.
    unsafe { cl3::event::release_event(gate) }.expect("a release");
    assert_eq!(read(&queue, &held, 16, &[]), [7; 16]);
}

#[test]
fn barrier_and_marker() {
    let session = session();
    let queue = session.out_of_order_queue();
    let buffer = buffer(session, 4);
    let gate = cl3::event::create_user_event(session.context.get()).expect("a user event");
    // SAFETY: patterns are copied; the wait list holds a live event.
    unsafe {
        let held = fill(&queue, &buffer, &[1], 0, 16, &[gate]).expect("a fill");
        let marker = queue.enqueue_marker_with_wait_list(&[held.get()]).expect("a marker");
        let barrier = queue.enqueue_barrier_with_wait_list(&[]).expect("a barrier");
        let after = fill(&queue, &buffer, &[2], 0, 8, &[]).expect("a fill");
        queue.flush().expect("a flush");
        for event in [&marker, &barrier, &after] {
            assert!(event.command_execution_status().expect("a status").0 > 0, "overtook a barrier");
        }
        cl3::event::set_user_event_status(gate, 0).expect("opening the gate");
        queue.finish().expect("finish");
        for event in [&held, &marker, &barrier, &after] {
            assert_eq!(event.command_execution_status().expect("a status").0, 0);
        }
        cl3::event::release_event(gate).expect("a release");
    }
    assert_eq!(read(&queue, &buffer, 4, &[]), [2, 2, 1, 1]);
}

#[test]
fn queues_depend_on_each_other() {
    let session = session();
    let (_program, kernel) = session.kernel(STEP, "", "t");
    let (one, two) = (session.queue(), session.queue());
    let buffer = buffer(session, 32);
    let mut last = fill(&one, &buffer, &[0], 0, 128, &[]).expect("a fill");
    let mut expected = 0_i32;
    for x in 0..40 {
        // SAFETY: as above.
        unsafe { kernel.set_arg(0, &buffer).and_then(|()| kernel.set_arg(1, &x)) }.expect("arguments");
        let queue = if x % 2 == 0 { &two } else { &one };
        last = launch(queue, &kernel, 32, &[last.get()]);
        expected = expected.wrapping_mul(3).wrapping_add(x);
        queue.flush().expect("a flush");
    }
    assert!(read(&one, &buffer, 32, &[last.get()]).iter().all(|value| *value == expected));
}

#[test]
fn native_kernel() {
    #[repr(C)]
    struct Arguments {
        memory: *mut cl_int,
        add: cl_int,
        calls: *const AtomicI32,
    }
    extern "C" fn native(arguments: *mut c_void) {
        // SAFETY: the driver passes a copy of the arguments below, with the buffer's address filled in.
        unsafe {
            let arguments = &*arguments.cast::<Arguments>();
            for i in 0..8 {
                *arguments.memory.add(i) += arguments.add + i as cl_int;
            }
            (*arguments.calls).fetch_add(1, Ordering::SeqCst);
        }
    }
    let session = session();
    if session.device_u32(cl3::device::CL_DEVICE_EXECUTION_CAPABILITIES) & 2 == 0 {
        assert!(!session.driver.is_clift, "a CPU runs native kernels");
        return;
    }
    let (queue, buffer) = (session.queue(), buffer(session, 8));
    let calls = AtomicI32::new(0);
    let mut arguments = Arguments { memory: std::ptr::null_mut(), add: 100, calls: &raw const calls };
    // SAFETY: the list names one buffer and the place of its address in the arguments, which the call copies.
    unsafe {
        fill(&queue, &buffer, &[1], 0, 32, &[]).expect("a fill");
        let memory = buffer.get();
        let place: *const c_void = (&raw const arguments.memory).cast();
        let event = cl3::command_queue::enqueue_native_kernel(
            queue.get(),
            Some(native),
            (&raw mut arguments).cast(),
            size_of::<Arguments>(),
            1,
            &raw const memory,
            &raw const place,
            0,
            std::ptr::null(),
        )
        .expect("a native kernel");
        // The call has copied them.
        (&raw mut arguments.add).write_volatile(5000);
        Event::new(event).wait().expect("its end");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(read(&queue, &buffer, 8, &[]), [101, 102, 103, 104, 105, 106, 107, 108]);
}

#[test]
fn task() {
    let session = session();
    let source = "kernel void t(global int *a) { a[0] = (int)get_global_size(0) * 10 + (int)get_local_size(0); }";
    let (_program, kernel) = session.kernel(source, "", "t");
    let (queue, buffer) = (session.queue(), buffer(session, 1));
    // SAFETY: the argument is the one the kernel declares.
    unsafe {
        kernel.set_arg(0, &buffer).expect("an argument");
        cl3::command_queue::enqueue_task(queue.get(), kernel.get(), 0, std::ptr::null())
            .and_then(|event| cl3::event::release_event(event))
            .expect("a task");
    }
    assert_eq!(read(&queue, &buffer, 1, &[]), [11]);
}

/// Enqueues from several threads into one queue; each thread has its own kernel object.
#[test]
fn many_threads_one_queue() {
    let session = session();
    let queue = session.queue();
    let program = session.build(STEP, "").expect("a build");
    std::thread::scope(|scope| {
        for thread in 0..4_i32 {
            let (queue, program) = (&queue, &program);
            scope.spawn(move || {
                let kernel = Kernel::create(program, "t").expect("the kernel");
                let buffer = buffer(session, 100);
                let mut expected = thread;
                fill(queue, &buffer, &[thread], 0, 400, &[]).expect("a fill");
                for x in 0..50 {
                    // SAFETY: as above; the kernel object is this thread's own.
                    unsafe { kernel.set_arg(0, &buffer).and_then(|()| kernel.set_arg(1, &x)) }.expect("arguments");
                    launch(queue, &kernel, 100, &[]);
                    expected = expected.wrapping_mul(3).wrapping_add(x);
                }
                assert!(read(queue, &buffer, 100, &[]).iter().all(|value| *value == expected));
            });
        }
    });
}

/// Objects that the application has released stay alive as long as commands need them.
#[test]
fn released_objects_stay_alive() {
    let session = session();
    let queue = session.queue();
    let out = buffer(session, 1000);
    let gate = cl3::event::create_user_event(session.context.get()).expect("a user event");
    {
        let (_program, kernel) = session.kernel(
            "kernel void t(global const int *in, global int *out) { size_t i = get_global_id(0); out[i] = in[i] + 1; }",
            "",
            "t",
        );
        let input = buffer(session, 1000);
        // SAFETY: as above.
        unsafe {
            fill(&queue, &input, &[41], 0, 4000, &[gate]).expect("a fill");
            kernel.set_arg(0, &input).and_then(|()| kernel.set_arg(1, &out)).expect("arguments");
        }
        launch(&queue, &kernel, 1000, &[]);
    }
    cl3::event::set_user_event_status(gate, 0).expect("opening the gate");
    // SAFETY: the one reference of this test.
    unsafe { cl3::event::release_event(gate) }.expect("a release");
    assert_eq!(read(&queue, &out, 1000, &[]), [42; 1000]);
}

#[test]
fn non_blocking_read_and_write() {
    let session = session();
    let (queue, buffer) = (session.queue(), buffer(session, 256));
    let data: Vec<cl_int> = (0..256).collect();
    let mut back = vec![0; 256];
    let mut buffer = buffer;
    // SAFETY: both host arrays outlive the wait.
    unsafe {
        queue.enqueue_write_buffer(&mut buffer, CL_NON_BLOCKING, 0, &data, &[]).expect("a write");
        queue.enqueue_read_buffer(&buffer, CL_NON_BLOCKING, 0, &mut back, &[]).expect("a read");
        queue.finish().expect("finish");
    }
    assert_eq!(back, data);
}
