//! Calls with invalid arguments: they must return an error code and never terminate the process.
//!
//! The loader handles NULL handles itself. These tests reach the driver: handles of another type, and released handles.

use opencl3::error_codes::{
    CL_INVALID_ARG_INDEX, CL_INVALID_ARG_SIZE, CL_INVALID_ARG_VALUE, CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT, CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_KERNEL, CL_INVALID_KERNEL_ARGS,
    CL_INVALID_MEM_OBJECT, CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_WORK_DIMENSION, CL_INVALID_WORK_GROUP_SIZE,
    CL_INVALID_WORK_ITEM_SIZE,
};
use opencl3::memory::ClMem as _;
use opencl3::types::cl_event;

use clift_tests::session::session;

/// Every kind of object handed to a call that wants another kind.
#[test]
fn handles_of_another_kind() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    let queue = session.queue();
    let buffer = session.ints(4);
    let (program, kernel) = session.kernel("kernel void t(void) {}", "", "t");
    let (queue, context, program, kernel, memory) =
        (queue.get(), session.context.get(), program.get(), kernel.get(), buffer.get());
    assert_eq!(cl3::command_queue::finish(context), Err(CL_INVALID_COMMAND_QUEUE));
    assert_eq!(cl3::command_queue::flush(memory), Err(CL_INVALID_COMMAND_QUEUE));
    assert_eq!(cl3::event::create_user_event(queue).map(drop), Err(CL_INVALID_CONTEXT));
    assert_eq!(cl3::event::wait_for_events(&[kernel]), Err(CL_INVALID_EVENT));
    assert_eq!(cl3::kernel::create_kernel(kernel, c"t").map(drop), Err(CL_INVALID_PROGRAM));
    assert_eq!(cl3::program::create_program_with_source(program, &["x"]).map(drop), Err(CL_INVALID_CONTEXT));
    // SAFETY: objects of the wrong type with a valid header: the calls must detect that.
    unsafe {
        assert_eq!(cl3::memory::retain_mem_object(program), Err(CL_INVALID_MEM_OBJECT));
        assert_eq!(cl3::kernel::retain_kernel(memory), Err(CL_INVALID_KERNEL));
        assert_eq!(cl3::program::release_program(kernel), Err(CL_INVALID_PROGRAM));
        assert_eq!(cl3::event::release_event(queue), Err(CL_INVALID_EVENT));
        assert_eq!(cl3::context::release_context(memory), Err(CL_INVALID_CONTEXT));
        assert_eq!(
            cl3::command_queue::enqueue_task(memory, kernel, 0, std::ptr::null()).map(drop),
            Err(CL_INVALID_COMMAND_QUEUE)
        );
        assert_eq!(
            cl3::command_queue::enqueue_task(queue, program, 0, std::ptr::null()).map(drop),
            Err(CL_INVALID_KERNEL)
        );
    }
}

#[test]
fn kernel_arguments() {
    let session = session();
    let (_program, kernel) =
        session.kernel("kernel void t(global int *a, int4 b, local float *c) { *a = b.x; *c = 1; }", "", "t");
    let value = [0_u8; 64];
    let set = |index, size, pointer: *const u8| {
        // SAFETY: readable memory of 64 bytes, or null.
        unsafe { cl3::kernel::set_kernel_arg(kernel.get(), index, size, pointer.cast()) }
    };
    let null = std::ptr::null();
    assert_eq!(set(3, 4, value.as_ptr()), Err(CL_INVALID_ARG_INDEX));
    assert_eq!(set(1, 4, value.as_ptr()), Err(CL_INVALID_ARG_SIZE));
    assert_eq!(set(1, 16, null), Err(CL_INVALID_ARG_VALUE));
    assert_eq!(set(0, 4, value.as_ptr()), Err(CL_INVALID_ARG_SIZE));
    assert_eq!(set(2, 16, value.as_ptr()), Err(CL_INVALID_ARG_VALUE));
    let size = 1_usize;
    // SAFETY: not all arguments are set: the call must refuse.
    let launched = unsafe {
        cl3::command_queue::enqueue_nd_range_kernel(
            session.queue().get(),
            kernel.get(),
            1,
            std::ptr::null(),
            &raw const size,
            std::ptr::null(),
            0,
            std::ptr::null(),
        )
    };
    assert_eq!(launched.map(drop), Err(CL_INVALID_KERNEL_ARGS));
    assert_eq!(set(0, 8, null), Ok(()));
    assert_eq!(set(1, 16, value.as_ptr()), Ok(()));
    assert_eq!(set(2, 16, null), Ok(()));
}

#[test]
fn ranges() {
    let session = session();
    let (_program, kernel) = session.kernel("kernel void t(void) {}", "-cl-std=CL1.2", "t");
    let queue = session.queue();
    let launch = |dimensions, offset: Option<&[usize]>, global: &[usize], local: Option<&[usize]>| {
        let pointer = |slice: Option<&[usize]>| slice.map_or(std::ptr::null(), <[usize]>::as_ptr);
        // SAFETY: the arrays have as many entries as dimensions, where the call reads them.
        unsafe {
            cl3::command_queue::enqueue_nd_range_kernel(
                queue.get(),
                kernel.get(),
                dimensions,
                pointer(offset),
                global.as_ptr(),
                pointer(local),
                0,
                std::ptr::null(),
            )
            .and_then(|event| cl3::event::release_event(event))
        }
    };
    assert_eq!(launch(0, None, &[1], None), Err(CL_INVALID_WORK_DIMENSION));
    assert_eq!(launch(4, None, &[1, 1, 1, 1], None), Err(CL_INVALID_WORK_DIMENSION));
    let huge = 1_usize << 40;
    let too_large = launch(1, None, &[huge], Some(&[huge]));
    assert!(matches!(too_large, Err(CL_INVALID_WORK_GROUP_SIZE | CL_INVALID_WORK_ITEM_SIZE)), "{too_large:?}");
    if session.driver.is_clift {
        assert_eq!(launch(1, None, &[10], Some(&[0])), Err(CL_INVALID_WORK_GROUP_SIZE));
        let uneven = launch(1, None, &[10], Some(&[3]));
        assert_eq!(uneven, Err(CL_INVALID_WORK_GROUP_SIZE), "OpenCL C 1.2 has uniform groups only");
        assert_eq!(launch(1, Some(&[usize::MAX]), &[2], None), Err(CL_INVALID_GLOBAL_OFFSET));
        assert_eq!(launch(1, None, &[0], None), Ok(()), "a range without work-items is not an error since OpenCL 2.1");
    }
    queue.finish().expect("finish");
}

#[test]
fn wait_lists() {
    let session = session();
    let queue = session.queue();
    let marker = |count, list: *const cl_event| {
        // SAFETY: the call must refuse a list that does not fit its count.
        unsafe { cl3::command_queue::enqueue_marker_with_wait_list(queue.get(), count, list) }.map(drop)
    };
    let event = cl3::event::create_user_event(session.context.get()).expect("a user event");
    assert_eq!(marker(1, std::ptr::null()), Err(CL_INVALID_EVENT_WAIT_LIST));
    assert_eq!(marker(0, &raw const event), Err(CL_INVALID_EVENT_WAIT_LIST));
    let null: cl_event = std::ptr::null_mut();
    assert_eq!(marker(1, &raw const null), Err(CL_INVALID_EVENT_WAIT_LIST));
    assert_eq!(cl3::event::wait_for_events(&[]), Err(CL_INVALID_VALUE));
    cl3::event::set_user_event_status(event, 0).expect("a status");
    // SAFETY: the one reference of this test.
    unsafe { cl3::event::release_event(event) }.expect("a release");
}
