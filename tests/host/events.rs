//! Events: states, callbacks, user events, propagation of failures, profiling.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opencl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_OPERATION, CL_INVALID_VALUE,
    CL_PROFILING_INFO_NOT_AVAILABLE,
};
use opencl3::event::Event;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::types::{CL_BLOCKING, cl_event, cl_int};

use clift_tests::commands::fill;
use clift_tests::session::{Session, session};

fn buffer(session: &Session) -> Buffer<cl_int> {
    // SAFETY: no host memory is involved.
    unsafe { Buffer::create(&session.context, CL_MEM_READ_WRITE, 64, std::ptr::null_mut()) }.expect("a buffer")
}

fn user_event(session: &Session) -> Event {
    Event::new(cl3::event::create_user_event(session.context.get()).expect("a user event"))
}

fn status(event: &Event) -> cl_int {
    event.command_execution_status().expect("a status").0
}

extern "C" fn send_status(_: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: `watch` passes a sender that it never frees.
    let sender = unsafe { &*data.cast::<Sender<cl_int>>() };
    // A receiver that is gone is a test that is over.
    let _ = sender.send(status);
}

/// The statuses that a callback on `state` is called with.
fn watch(event: &Event, state: cl_int) -> Receiver<cl_int> {
    let (sender, receiver) = channel();
    let data = Box::into_raw(Box::new(sender)).cast();
    cl3::event::set_event_callback(event.get(), state, send_status, data).expect("a callback");
    receiver
}

fn soon(receiver: &Receiver<cl_int>) -> cl_int {
    receiver.recv_timeout(Duration::from_secs(30)).expect("a call of the callback")
}

#[test]
fn callbacks_in_every_state() {
    let session = session();
    let (queue, buffer, gate) = (session.queue(), buffer(session), user_event(session));
    let event = fill(&queue, &buffer, &[1], 0, 256, &[gate.get()]).expect("a fill");
    let (submitted, running, complete) = (watch(&event, 2), watch(&event, 1), watch(&event, 0));
    queue.flush().expect("a flush");
    assert!(complete.try_recv().is_err(), "called before the command was complete");
    cl3::event::set_user_event_status(gate.get(), 0).expect("opening the gate");
    assert_eq!(soon(&complete), 0);
    // A state that was passed is reported with the status then current or the one asked for.
    assert!(soon(&submitted) <= 2);
    assert!(soon(&running) <= 1);
    // Registered afterwards: called at once.
    assert_eq!(soon(&watch(&event, 0)), 0);
    assert_eq!(status(&event), 0);
}

/// A callback may call OpenCL again: here it enqueues into the queue that its command was in.
#[test]
fn callback_enqueues() {
    struct Data {
        queue: usize,
        buffer: usize,
        done: Sender<cl_int>,
    }
    extern "C" fn enqueue(_: cl_event, _: cl_int, data: *mut c_void) {
        // SAFETY: the test never frees the data; its queue and buffer live until the message has come.
        unsafe {
            let data = &*data.cast::<Data>();
            let pattern = 77_i32;
            let result = cl3::command_queue::enqueue_fill_buffer(
                data.queue as _,
                data.buffer as _,
                (&raw const pattern).cast(),
                4,
                0,
                16,
                0,
                std::ptr::null(),
            )
            .and_then(|event| cl3::event::release_event(event))
            .and_then(|()| cl3::command_queue::flush(data.queue as _));
            let _ = data.done.send(result.map_or_else(|code| code, |()| 0));
        }
    }
    use opencl3::memory::ClMem as _;
    let session = session();
    let (queue, buffer) = (session.queue(), buffer(session));
    let (done, receiver) = channel();
    let data = Box::into_raw(Box::new(Data { queue: queue.get() as usize, buffer: buffer.get() as usize, done }));
    let event = fill(&queue, &buffer, &[1], 0, 256, &[]).expect("a fill");
    cl3::event::set_event_callback(event.get(), 0, enqueue, data.cast()).expect("a callback");
    queue.flush().expect("a flush");
    assert_eq!(soon(&receiver), 0);
    let mut out = [0; 5];
    // SAFETY: a blocking read into memory of the right size.
    unsafe { queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]) }.expect("a read");
    assert_eq!(out, [77, 77, 77, 77, 1]);
}

#[test]
fn failed_user_event_spreads() {
    let session = session();
    if !session.driver.is_clift {
        // PoCL never ends such a command.
        return;
    }
    let (queue, buffer, gate) = (session.queue(), buffer(session), user_event(session));
    let mut out = [0_i32; 4];
    // SAFETY: the host array outlives the wait below.
    unsafe {
        let first = fill(&queue, &buffer, &[1], 0, 256, &[gate.get()]).expect("a fill");
        let other = session.queue();
        let second = fill(&other, &buffer, &[2], 0, 256, &[first.get()]).expect("a fill");
        let end = watch(&second, 0);
        cl3::event::set_user_event_status(gate.get(), -5).expect("failing the gate");
        assert!(soon(&end) < 0, "a dependant of a failed event must fail");
        assert!(status(&first) < 0 && status(&second) < 0);
        assert_eq!(cl3::event::wait_for_events(&[second.get()]), Err(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST));
        let blocked = other.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[second.get()]);
        assert_eq!(blocked.map(drop).map_err(|error| error.0), Err(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST));
    }
    assert_eq!(status(&gate), -5);
}

#[test]
fn user_event_rules() {
    let session = session();
    let event = user_event(session);
    assert_eq!(status(&event), 2);
    assert_eq!(cl3::event::set_user_event_status(event.get(), 1), Err(CL_INVALID_VALUE));
    cl3::event::set_user_event_status(event.get(), 0).expect("a status");
    assert_eq!(cl3::event::set_user_event_status(event.get(), 0), Err(CL_INVALID_OPERATION));
    assert_eq!(status(&event), 0);
    cl3::event::wait_for_events(&[event.get()]).expect("no wait");
}

#[test]
fn waiting_across_threads() {
    let session = session();
    let event = user_event(session);
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| cl3::event::wait_for_events(&[event.get()]))).collect();
        std::thread::sleep(Duration::from_millis(20));
        cl3::event::set_user_event_status(event.get(), 0).expect("a status");
        for waiter in waiters {
            assert_eq!(waiter.join().expect("a waiter"), Ok(()));
        }
    });
}

#[test]
fn profiling_times_are_in_order() {
    let session = session();
    let source = "kernel void t(global int *a) { int x = 0; for (int k = 0; k < 100000; ++k) x = x * 5 + k; a[get_global_id(0)] = x; }";
    let program = session.build(source, "").expect("a build");
    let kernel = Kernel::create(&program, "t").expect("the kernel");
    let (queue, buffer) = (session.queue(), buffer(session));
    // SAFETY: the argument is the one the kernel declares.
    let event = unsafe {
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_global_work_size(64)
            .enqueue_nd_range(&queue)
            .expect("a launch")
    };
    event.wait().expect("its end");
    let times = [
        event.profiling_command_queued(),
        event.profiling_command_submit(),
        event.profiling_command_start(),
        event.profiling_command_end(),
    ]
    .map(|time| time.expect("a time"));
    assert!(times.is_sorted() && times[0] > 0 && times[3] > times[2], "{times:?}");
}

#[test]
fn no_profiling_without_the_property() {
    let session = session();
    let gate = user_event(session);
    assert_eq!(gate.profiling_command_end().map_err(|error| error.0), Err(CL_PROFILING_INFO_NOT_AVAILABLE));
    let (queue, buffer) = (session.queue(), buffer(session));
    let event = fill(&queue, &buffer, &[1], 0, 256, &[gate.get()]).expect("a fill");
    assert_eq!(
        event.profiling_command_end().map_err(|error| error.0),
        Err(CL_PROFILING_INFO_NOT_AVAILABLE),
        "not complete yet"
    );
    cl3::event::set_user_event_status(gate.get(), 0).expect("opening the gate");
    event.wait().expect("its end");
    assert!(event.profiling_command_end().expect("a time") > 0);
}

/// A long chain of commands neither deadlocks nor exhausts a stack when it completes at once.
#[test]
fn long_dependency_chain() {
    let session = session();
    let (queue, buffer, gate) = (session.out_of_order_queue(), buffer(session), user_event(session));
    let mut last = gate;
    let first = last.get();
    let mut events = Vec::new();
    for _ in 0..5000 {
        let next = fill(&queue, &buffer, &[3], 0, 4, &[last.get()]).expect("a fill");
        events.push(std::mem::replace(&mut last, next));
    }
    cl3::event::set_user_event_status(first, 0).expect("opening the gate");
    last.wait().expect("the end of the chain");
}
