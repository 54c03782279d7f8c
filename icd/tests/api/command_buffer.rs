//! Command buffers of copies and fills: creation, recording, enqueuing, queries. Those with kernels are tested with a compiler.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

type Buffer = *mut c_void;
type List = *const cl_bitfield;

/// No properties.
const NO_LIST: List = null();

fn recording(setup: &Setup) -> Buffer {
    made(|e| clCreateCommandBufferKHR(1, &setup.queue, NO_LIST, e))
}

fn state(buffer: Buffer) -> cl_uint {
    info(|s, v, r| clGetCommandBufferInfoKHR(buffer, CL_COMMAND_BUFFER_STATE_KHR, s, v, r))
}

fn enqueue(buffer: Buffer, event: *mut cl_event) -> cl_int {
    clEnqueueCommandBufferKHR(0, null(), buffer, 0, NONE, event)
}

#[test]
fn create_and_ask() {
    let setup = Setup::new();
    let flags = CL_COMMAND_BUFFER_FLAGS_KHR;
    for list in [&[0][..], &[flags, 7, 0], &[CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR, 1, flags, 2, 0]] {
        let buffer = made(|e| clCreateCommandBufferKHR(1, &setup.queue, list.as_ptr(), e));
        let ask = |name| move |s, v, r| clGetCommandBufferInfoKHR(buffer, name, s, v, r);
        let properties = info_bytes(&ask(CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR));
        assert_eq!(properties, list.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
        assert_eq!(info::<cl_uint>(ask(CL_COMMAND_BUFFER_NUM_QUEUES_KHR)), 1);
        assert_eq!(info::<cl_command_queue>(ask(CL_COMMAND_BUFFER_QUEUES_KHR)), setup.queue);
        assert_eq!(info::<cl_context>(ask(CL_COMMAND_BUFFER_CONTEXT_KHR)), setup.context);
        assert_eq!(clRetainCommandBufferKHR(buffer), CL_SUCCESS);
        assert_eq!(info::<cl_uint>(ask(CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR)), 2);
        assert_eq!(ask(0)(0, null_mut(), null_mut()), CL_INVALID_VALUE);
        assert_eq!(state(buffer), CL_COMMAND_BUFFER_STATE_RECORDING_KHR);
        assert_eq!(enqueue(buffer, SKIP), CL_INVALID_OPERATION);
        assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
        assert_eq!(state(buffer), CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR);
        assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_INVALID_OPERATION);
        for _ in 0..2 {
            assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
        }
        assert_eq!(clReleaseCommandBufferKHR(buffer), CL_INVALID_COMMAND_BUFFER_KHR);
    }
    let two = [setup.queue; 2];
    let create = |n, queues: *const cl_command_queue, list: &[cl_bitfield]| {
        refused(|e| clCreateCommandBufferKHR(n, queues, list.as_ptr(), e))
    };
    assert_eq!(create(0, two.as_ptr(), &[0]), CL_INVALID_VALUE);
    assert_eq!(create(1, null(), &[0]), CL_INVALID_VALUE);
    assert_eq!(create(1, &setup.context, &[0]), CL_INVALID_COMMAND_QUEUE);
    for (list, error) in [
        (&[1, 1, 0][..], CL_INVALID_VALUE),
        (&[flags, 8, 0], CL_INVALID_VALUE),
        (&[flags, 1, flags, 1, 0], CL_INVALID_VALUE),
    ] {
        assert_eq!(create(1, two.as_ptr(), list), error, "{list:?}");
    }
}

/// A barrier need not wait for what an earlier barrier has waited for: with a dependency for each pair, this would take minutes.
#[test]
fn many_barriers() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let buffer = recording(&setup);
    for _ in 0..30_000 {
        let none = null_mut();
        let barrier = clCommandBarrierWithWaitListKHR(buffer, none, NO_LIST, 0, null(), null_mut(), null_mut());
        assert_eq!(barrier, CL_SUCCESS);
    }
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    assert_eq!(enqueue(buffer, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
}

/// The execution of a command buffer starts with its first command, not after its last one.
#[test]
fn profiling() {
    const BYTES: usize = 64 << 20;
    let setup = Setup::new();
    let memory = setup.buffer(CL_MEM_READ_WRITE, BYTES);
    let buffer = recording(&setup);
    let byte = [7u8];
    for _ in 0..2 {
        let (pattern, none) = (byte.as_ptr().cast_mut().cast(), null_mut());
        let record = clCommandFillBufferKHR(
            buffer,
            null_mut(),
            NO_LIST,
            memory,
            pattern,
            1,
            0,
            BYTES,
            0,
            null(),
            none,
            null_mut(),
        );
        assert_eq!(record, CL_SUCCESS);
    }
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    let mut event = null_mut();
    assert_eq!(enqueue(buffer, &mut event), CL_SUCCESS);
    assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
    let time = |name| info::<cl_ulong>(|s, v, r| clGetEventProfilingInfo(event, name, s, v, r));
    let names = [CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START];
    let (times, end) = (names.map(time), time(CL_PROFILING_COMMAND_END));
    // No machine fills as much in less time.
    assert!(times.is_sorted() && end - times[2] > 100_000, "{times:?} to {end}");
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(memory), CL_SUCCESS);
}

/// A recording function by name, with all arguments but the buffer, queue, properties, sync points and handle.
type Recording<'a> = (
    &'a str,
    Box<dyn Fn(Buffer, cl_command_queue, List, cl_uint, *const cl_uint, *mut cl_uint, *mut *mut c_void) -> cl_int + 'a>,
);

/// An image of RGBA bytes, 4 elements wide and 2 high.
fn image(setup: &Setup) -> cl_mem {
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNSIGNED_INT8 };
    // SAFETY: zero and NULL are valid for all fields.
    let mut desc: cl_image_desc = unsafe { std::mem::zeroed() };
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = 4;
    desc.image_height = 2;
    made(|e| clCreateImage(setup.context, 0, &format, &desc, null_mut(), e))
}

fn commands<'a>([a, b, i, j]: [cl_mem; 4], host: *mut c_void) -> Vec<Recording<'a>> {
    static ZERO: [usize; 3] = [0; 3];
    static REGION: [usize; 3] = [4, 2, 1];
    let (o, g) = (ZERO.as_ptr(), REGION.as_ptr());
    let half = host.wrapping_byte_add(32);
    vec![
        ("barrier", Box::new(clCommandBarrierWithWaitListKHR)),
        ("copy", Box::new(move |c, q, p, n, l, s, h| clCommandCopyBufferKHR(c, q, p, a, b, 0, 0, 64, n, l, s, h))),
        (
            "copy rect",
            Box::new(move |c, q, p, n, l, s, h| {
                clCommandCopyBufferRectKHR(c, q, p, a, b, o, o, g, 0, 0, 0, 0, n, l, s, h)
            }),
        ),
        ("fill", Box::new(move |c, q, p, n, l, s, h| clCommandFillBufferKHR(c, q, p, a, host, 4, 0, 64, n, l, s, h))),
        ("image copy", Box::new(move |c, q, p, n, l, s, h| clCommandCopyImageKHR(c, q, p, i, j, o, o, g, n, l, s, h))),
        (
            "image to buffer",
            Box::new(move |c, q, p, n, l, s, h| clCommandCopyImageToBufferKHR(c, q, p, i, a, o, g, 0, n, l, s, h)),
        ),
        (
            "buffer to image",
            Box::new(move |c, q, p, n, l, s, h| clCommandCopyBufferToImageKHR(c, q, p, a, i, 0, o, g, n, l, s, h)),
        ),
        ("image fill", Box::new(move |c, q, p, n, l, s, h| clCommandFillImageKHR(c, q, p, i, host, o, g, n, l, s, h))),
        ("svm copy", Box::new(move |c, q, p, n, l, s, h| clCommandSVMMemcpyKHR(c, q, p, half, host, 32, n, l, s, h))),
        (
            "svm fill",
            Box::new(move |c, q, p, n, l, s, h| clCommandSVMMemFillKHR(c, q, p, half, host, 4, 32, n, l, s, h)),
        ),
    ]
}

#[test]
fn rules_of_recording() {
    let setup = Setup::new();
    let objects = [setup.buffer(0, 64), setup.buffer(0, 64), image(&setup), image(&setup)];
    let mut host = [0u128; 4];
    let buffer = recording(&setup);
    let (other, foreign) = (Setup::new(), queue_of(&setup, 0));
    let (mut handle, mut point) = (null_mut(), 0);
    let mut recorded = 0;
    for (name, command) in commands(objects, host.as_mut_ptr().cast()) {
        let call = |c, q, p, n, l| command(c, q, p, n, l, null_mut(), null_mut());
        assert_eq!(call(null_mut(), null_mut(), NO_LIST, 0, null()), CL_INVALID_COMMAND_BUFFER_KHR, "{name}");
        assert_eq!(call(buffer, setup.context, NO_LIST, 0, null()), CL_INVALID_COMMAND_QUEUE, "{name}");
        assert_eq!(call(buffer, foreign, NO_LIST, 0, null()), CL_INVALID_COMMAND_QUEUE, "{name}");
        assert_eq!(call(buffer, other.queue, NO_LIST, 0, null()), CL_INVALID_CONTEXT, "{name}");
        assert_eq!(call(buffer, null_mut(), [1, 1, 0].as_ptr(), 0, null()), CL_INVALID_VALUE, "{name}");
        for (n, l) in [(1, &[][..]), (0, &[1]), (1, &[0]), (1, &[recorded + 1])] {
            let l = if l.is_empty() { null() } else { l.as_ptr() };
            let error = call(buffer, null_mut(), NO_LIST, n, l);
            assert_eq!(error, CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, "{name}");
        }
        let with_handle = command(buffer, null_mut(), NO_LIST, 0, null(), null_mut(), &mut handle);
        assert_eq!(with_handle, CL_INVALID_VALUE, "{name}");
        assert_eq!(command(buffer, setup.queue, [0].as_ptr(), 0, null(), &mut point, null_mut()), CL_SUCCESS, "{name}");
        recorded += 1;
        assert_eq!(point, recorded, "{name}");
        let after = command(buffer, null_mut(), NO_LIST, 1, &point, &mut point, null_mut());
        assert_eq!(after, CL_SUCCESS, "{name}");
        recorded += 1;
    }
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    for (name, command) in commands(objects, host.as_mut_ptr().cast()) {
        let late = command(buffer, null_mut(), NO_LIST, 0, null(), null_mut(), null_mut());
        assert_eq!(late, CL_INVALID_OPERATION, "{name}");
    }
    assert_eq!(enqueue(buffer, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
    assert_eq!(clReleaseCommandQueue(foreign), CL_SUCCESS);
    for m in objects {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

#[test]
fn rules_of_enqueuing() {
    let (setup, other) = (Setup::new(), Setup::new());
    let buffer = recording(&setup);
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    let enqueue = |n, queues: *const cl_command_queue| clEnqueueCommandBufferKHR(n, queues, buffer, 0, NONE, SKIP);
    assert_eq!(enqueue(1, null()), CL_INVALID_VALUE);
    assert_eq!(enqueue(0, &setup.queue), CL_INVALID_VALUE);
    assert_eq!(enqueue(2, [setup.queue; 2].as_ptr()), CL_INVALID_VALUE);
    assert_eq!(enqueue(1, &setup.context), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(enqueue(1, &other.queue), CL_INVALID_CONTEXT);
    assert_eq!(clEnqueueCommandBufferKHR(0, null(), null_mut(), 0, NONE, SKIP), CL_INVALID_COMMAND_BUFFER_KHR);
    assert_eq!(clEnqueueCommandBufferKHR(0, null(), buffer, 1, NONE, SKIP), CL_INVALID_EVENT_WAIT_LIST);
    let foreign = other.user_event();
    assert_eq!(clEnqueueCommandBufferKHR(0, null(), buffer, 1, &foreign, SKIP), CL_INVALID_CONTEXT);
    assert_eq!(clReleaseEvent(foreign), CL_SUCCESS);
    // Nothing recorded: the event still ends, after what it waits for.
    let user = setup.user_event();
    let mut event = null_mut();
    assert_eq!(clEnqueueCommandBufferKHR(1, &setup.queue, buffer, 1, &user, &mut event), CL_SUCCESS);
    let ty: cl_uint = info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r));
    assert_eq!(ty, CL_COMMAND_COMMAND_BUFFER_KHR);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(ended(event), CL_COMPLETE);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
}

/// A colour, through two images and back to memory; and the rules of the commands on images.
#[test]
fn images() {
    let setup = Setup::new();
    let (i, j, out) = (image(&setup), image(&setup), setup.buffer(0, 64));
    let (origin, region, outside) = ([0usize; 3], [4usize, 2, 1], [4usize, 3, 1]);
    let (o, g, past) = (origin.as_ptr(), region.as_ptr(), outside.as_ptr());
    let colour = [1u32, 2, 3, 4];
    let c = colour.as_ptr().cast();
    let (q, l, s, h) = (null_mut(), null(), null_mut(), null_mut());
    let buffer = recording(&setup);
    assert_eq!(clCommandFillImageKHR(buffer, q, NO_LIST, out, c, o, g, 0, l, s, h), CL_INVALID_MEM_OBJECT);
    assert_eq!(clCommandFillImageKHR(buffer, q, NO_LIST, i, null(), o, g, 0, l, s, h), CL_INVALID_VALUE);
    assert_eq!(clCommandCopyImageKHR(buffer, q, NO_LIST, i, j, o, o, past, 0, l, s, h), CL_INVALID_VALUE);
    assert_eq!(clCommandCopyImageToBufferKHR(buffer, q, NO_LIST, i, out, o, g, 36, 0, l, s, h), CL_INVALID_VALUE);
    assert_eq!(clCommandCopyBufferToImageKHR(buffer, q, NO_LIST, i, j, 0, o, g, 0, l, s, h), CL_INVALID_MEM_OBJECT);
    assert_eq!(clCommandFillImageKHR(buffer, q, NO_LIST, i, c, o, g, 0, l, s, h), CL_SUCCESS);
    assert_eq!(clCommandCopyImageKHR(buffer, q, NO_LIST, i, j, o, o, g, 0, l, s, h), CL_SUCCESS);
    assert_eq!(clCommandCopyImageToBufferKHR(buffer, q, NO_LIST, j, out, o, g, 32, 0, l, s, h), CL_SUCCESS);
    assert_eq!(clCommandCopyBufferToImageKHR(buffer, q, NO_LIST, out, i, 0, o, g, 0, l, s, h), CL_SUCCESS);
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    // The recorded commands keep the images.
    for m in [i, j] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
    for _ in 0..2 {
        assert_eq!(enqueue(buffer, SKIP), CL_SUCCESS);
        let contents = setup.contents(out);
        assert_eq!(contents[32..], [1, 2, 3, 4].repeat(8));
    }
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(out), CL_SUCCESS);
}

/// A chain of copies by sync points, executed again and again, on in-order and out-of-order queues; and one whose wait list
/// fails.
#[test]
fn execution() {
    const STEPS: usize = 20;
    for properties in [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let setup = Setup::with(properties);
        let chain = setup.buffer(0, 4 * (STEPS + 1));
        let buffer = recording(&setup);
        let mut point = 0;
        for step in 0..STEPS {
            let (from, to) = (4 * step, 4 * step + 4);
            let (n, list) = if step == 0 { (0, null()) } else { (1, &raw const point) };
            let mut next = 0;
            let skip = null_mut();
            let copied = clCommandCopyBufferKHR(
                buffer,
                skip,
                NO_LIST,
                chain,
                chain,
                from,
                to,
                4,
                n,
                list,
                &mut next,
                skip.cast(),
            );
            assert_eq!(copied, CL_SUCCESS);
            point = next;
        }
        assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
        for round in 1..5u8 {
            let pattern = [round; 4];
            let p = pattern.as_ptr().cast();
            let (mut filled, mut event) = (null_mut(), null_mut());
            assert_eq!(clEnqueueFillBuffer(setup.queue, chain, p, 4, 0, 4, 0, NONE, &mut filled), CL_SUCCESS);
            assert_eq!(clEnqueueCommandBufferKHR(0, null(), buffer, 1, &filled, &mut event), CL_SUCCESS);
            assert_eq!(ended(event), CL_COMPLETE);
            assert_eq!(clReleaseEvent(filled), CL_SUCCESS);
            assert_eq!(setup.contents(chain), vec![round; 4 * (STEPS + 1)]);
        }
        let user = setup.user_event();
        let mut event = null_mut();
        assert_eq!(clEnqueueCommandBufferKHR(0, null(), buffer, 1, &user, &mut event), CL_SUCCESS);
        assert_eq!(clSetUserEventStatus(user, -5), CL_SUCCESS);
        assert_eq!(ended(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        assert_eq!(clReleaseEvent(user), CL_SUCCESS);
        // The recorded commands keep the memory object.
        assert_eq!(clReleaseMemObject(chain), CL_SUCCESS);
        assert_eq!(enqueue(buffer, SKIP), CL_SUCCESS);
        assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
        assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    }
}

#[test]
fn capabilities_for_several_queues() {
    let platform = info::<cl_platform_id>(|s, v, r| clGetDeviceInfo(device(), CL_DEVICE_PLATFORM, s, v, r));
    let ask = |s, v, r| clGetPlatformInfo(platform, CL_PLATFORM_COMMAND_BUFFER_CAPABILITIES_KHR, s, v, r);
    assert_eq!(info::<cl_bitfield>(ask), 0b111);
    let ask = |name| move |s, v, r| clGetDeviceInfo(device(), name, s, v, r);
    let capabilities = info::<cl_bitfield>(ask(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR));
    assert!(capabilities & CL_COMMAND_BUFFER_CAPABILITY_MULTIPLE_QUEUE_KHR != 0);
    assert_eq!(info::<cl_uint>(ask(CL_DEVICE_COMMAND_BUFFER_NUM_SYNC_DEVICES_KHR)), 1);
    assert_eq!(info::<cl_device_id>(ask(CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR)), device());
}

/// Another queue of the same context.
fn queue_of(setup: &Setup, properties: cl_bitfield) -> cl_command_queue {
    made(|e| clCreateCommandQueue(setup.context, device(), properties, e))
}

/// A number that goes around three queues, each step after the one before by a sync point, and what the queues do by themselves.
#[test]
fn several_queues() {
    const STEPS: usize = 30;
    let out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    for properties in [[0; 3], [out_of_order; 3], [0, out_of_order, CL_QUEUE_PROFILING_ENABLE]] {
        let setup = Setup::new();
        let queues = properties.map(|properties| queue_of(&setup, properties));
        let chain = setup.buffer(0, 4 * (STEPS + 1));
        let buffer = made(|e| clCreateCommandBufferKHR(3, queues.as_ptr(), NO_LIST, e));
        let ask = |name| move |s, v, r| clGetCommandBufferInfoKHR(buffer, name, s, v, r);
        assert_eq!(info::<cl_uint>(ask(CL_COMMAND_BUFFER_NUM_QUEUES_KHR)), 3);
        let listed = info_bytes(&ask(CL_COMMAND_BUFFER_QUEUES_KHR));
        assert_eq!(listed, queues.iter().flat_map(|queue| queue.addr().to_ne_bytes()).collect::<Vec<u8>>());
        let copy = |queue, from, n, list: *const cl_uint, point: *mut cl_uint| {
            let to = from + 4;
            clCommandCopyBufferKHR(buffer, queue, NO_LIST, chain, chain, from, to, 4, n, list, point, null_mut())
        };
        assert_eq!(copy(null_mut(), 0, 0, null(), null_mut()), CL_INVALID_COMMAND_QUEUE, "which one?");
        let mut point = 0;
        for step in 0..STEPS {
            let mut next = 0;
            let n = cl_uint::from(step != 0);
            let list = if step == 0 { null() } else { &raw const point };
            assert_eq!(copy(queues[step % 3], 4 * step, n, list, &mut next), CL_SUCCESS);
            point = next;
        }
        assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
        let enqueue = |n, queues: *const cl_command_queue| clEnqueueCommandBufferKHR(n, queues, buffer, 0, NONE, SKIP);
        assert_eq!(enqueue(1, queues.as_ptr()), CL_INVALID_VALUE);
        assert_eq!(enqueue(3, [queues[0], queues[1], setup.context].as_ptr()), CL_INVALID_COMMAND_QUEUE);
        let others = [queue_of(&setup, 0), queues[1], queues[2]];
        let profiled = properties.contains(&CL_QUEUE_PROFILING_ENABLE);
        for round in 1..5u8 {
            let pattern = [round; 4];
            let p = pattern.as_ptr().cast();
            let (mut filled, mut event) = (null_mut(), null_mut());
            assert_eq!(clEnqueueFillBuffer(setup.queue, chain, p, 4, 0, 4, 0, NONE, &mut filled), CL_SUCCESS);
            assert_eq!(clFlush(setup.queue), CL_SUCCESS);
            let (n, used) = if round % 2 == 0 { (3, others.as_ptr()) } else { (0, null()) };
            assert_eq!(clEnqueueCommandBufferKHR(n, used, buffer, 1, &filled, &mut event), CL_SUCCESS);
            let ask = |name| move |s, v, r| clGetEventInfo(event, name, s, v, r);
            assert!(info::<cl_command_queue>(ask(CL_EVENT_COMMAND_QUEUE)).is_null(), "there are several");
            assert_eq!(info::<cl_context>(ask(CL_EVENT_CONTEXT)), setup.context);
            assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
            let mut time: cl_ulong = 0;
            let place = (&raw mut time).cast();
            let got = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, place, null_mut());
            assert_eq!(got, if profiled { CL_SUCCESS } else { CL_PROFILING_INFO_NOT_AVAILABLE });
            assert_eq!(clReleaseEvent(event), CL_SUCCESS);
            assert_eq!(clReleaseEvent(filled), CL_SUCCESS);
            assert_eq!(setup.contents(chain), vec![round; 4 * (STEPS + 1)]);
        }
        assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
        for queue in queues.into_iter().chain([others[0]]) {
            assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
        }
        assert_eq!(clReleaseMemObject(chain), CL_SUCCESS);
    }
}

/// Commands of an in-order queue follow each other without sync points, and a barrier holds for all queues.
#[test]
fn order_within_several_queues() {
    const BYTES: usize = 1 << 20;
    let setup = Setup::new();
    let queues = [0, 0].map(|properties| queue_of(&setup, properties));
    let memory = setup.buffer(0, 3 * BYTES);
    let buffer = made(|e| clCreateCommandBufferKHR(2, queues.as_ptr(), NO_LIST, e));
    let (l, s, h) = (null(), null_mut(), null_mut());
    let fill = |queue, byte: &u8, at| {
        let pattern = (&raw const *byte).cast_mut().cast();
        assert_eq!(
            clCommandFillBufferKHR(buffer, queue, NO_LIST, memory, pattern, 1, at, BYTES, 0, l, s, h),
            CL_SUCCESS
        );
    };
    let copy = |queue, from, to| {
        let copied = clCommandCopyBufferKHR(buffer, queue, NO_LIST, memory, memory, from, to, BYTES, 0, l, s, h);
        assert_eq!(copied, CL_SUCCESS);
    };
    fill(queues[0], &1, 0);
    fill(queues[0], &2, 0);
    assert_eq!(clCommandBarrierWithWaitListKHR(buffer, queues[0], NO_LIST, 0, l, s, h), CL_SUCCESS);
    copy(queues[1], 0, BYTES);
    copy(queues[1], BYTES, 2 * BYTES);
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    let mut event = null_mut();
    assert_eq!(enqueue(buffer, &mut event), CL_SUCCESS);
    assert_eq!(ended(event), CL_COMPLETE);
    assert!(setup.contents(memory).iter().all(|byte| *byte == 2));
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
    for queue in queues {
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    assert_eq!(clReleaseMemObject(memory), CL_SUCCESS);
}

#[test]
fn remapping() {
    let (setup, other) = (Setup::new(), Setup::new());
    let queues = [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE].map(|properties| queue_of(&setup, properties));
    let memory = setup.buffer(0, 8);
    let flags = [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0];
    let buffer = made(|e| clCreateCommandBufferKHR(2, queues.as_ptr(), flags.as_ptr(), e));
    let (byte, h) = (9u8, null_mut());
    let pattern = (&raw const byte).cast_mut().cast();
    let mut point = 0;
    let filled = clCommandFillBufferKHR(buffer, queues[0], NO_LIST, memory, pattern, 1, 0, 4, 0, null(), &mut point, h);
    assert_eq!(filled, CL_SUCCESS);
    let copied = clCommandCopyBufferKHR(buffer, queues[1], NO_LIST, memory, memory, 0, 4, 4, 1, &point, null_mut(), h);
    assert_eq!(copied, CL_SUCCESS);
    let remap = |automatic, n, queues: &[cl_command_queue], handles, list, out, e: *mut cl_int| {
        let queues = if queues.is_empty() { null() } else { queues.as_ptr() };
        clRemapCommandBufferKHR(buffer, automatic, n, queues, handles, list, out, e)
    };
    let mut out = null_mut();
    let (list, none) = ([buffer], null_mut());
    for (automatic, n, given, handles, list, out, error) in [
        (CL_FALSE, 0, &queues[..], 0, null(), none, CL_INVALID_VALUE),
        (CL_FALSE, 2, &[], 0, null(), none, CL_INVALID_VALUE),
        (CL_FALSE, 1, &queues[..1], 0, null(), none, CL_INVALID_VALUE),
        (CL_FALSE, 2, &queues, 1, null(), &raw mut out, CL_INVALID_VALUE),
        (CL_FALSE, 2, &queues, 1, list.as_ptr(), none, CL_INVALID_VALUE),
        (CL_FALSE, 2, &queues, 0, list.as_ptr(), &raw mut out, CL_INVALID_VALUE),
        (CL_FALSE, 2, &queues, 1, list.as_ptr(), &raw mut out, CL_INVALID_VALUE),
        (CL_FALSE, 2, &[queues[0], setup.context], 0, null(), none, CL_INVALID_COMMAND_QUEUE),
        (CL_FALSE, 2, &[queues[0], other.queue], 0, null(), none, CL_INVALID_CONTEXT),
        (CL_TRUE, 1, &[other.queue], 0, null(), none, CL_INVALID_CONTEXT),
    ] {
        assert_eq!(refused(|e| remap(automatic, n, given, handles, list, out, e)), error);
    }
    // The state is that of the original: a copy while recording can be continued.
    let early = made(|e| remap(CL_FALSE, 2, &[queues[1], queues[0]], 0, null(), none, e));
    assert_eq!(state(early), CL_COMMAND_BUFFER_STATE_RECORDING_KHR);
    let more = clCommandFillBufferKHR(early, queues[0], NO_LIST, memory, pattern, 1, 0, 4, 1, &point, null_mut(), h);
    assert_eq!(more, CL_SUCCESS);
    assert_eq!(clFinalizeCommandBufferKHR(early), CL_SUCCESS);
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    let late = made(|e| remap(CL_TRUE, 1, &[setup.queue], 0, null(), none, e));
    assert_eq!(state(late), CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR);
    let ask = |name| move |s, v, r| clGetCommandBufferInfoKHR(late, name, s, v, r);
    assert_eq!(info::<cl_command_queue>(ask(CL_COMMAND_BUFFER_QUEUES_KHR)), setup.queue);
    let properties = info_bytes(&ask(CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR));
    assert_eq!(properties, flags.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
    // The copies live on without it.
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
    for copy in [early, late] {
        let zero = 0u8;
        let p = (&raw const zero).cast();
        assert_eq!(clEnqueueFillBuffer(setup.queue, memory, p, 1, 0, 8, 0, NONE, SKIP), CL_SUCCESS);
        assert_eq!(clFinish(setup.queue), CL_SUCCESS);
        let mut event = null_mut();
        assert_eq!(enqueue(copy, &mut event), CL_SUCCESS);
        assert_eq!(ended(event), CL_COMPLETE);
        assert_eq!(setup.contents(memory), [9; 8]);
        assert_eq!(clReleaseCommandBufferKHR(copy), CL_SUCCESS);
    }
    for queue in queues {
        assert_eq!(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    assert_eq!(clReleaseMemObject(memory), CL_SUCCESS);
}

#[test]
fn updates_of_immutable_command_buffers() {
    let setup = Setup::new();
    let buffer = recording(&setup);
    assert_eq!(clUpdateMutableCommandsKHR(buffer, 0, null(), null()), CL_INVALID_OPERATION);
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    assert_eq!(clUpdateMutableCommandsKHR(buffer, 0, null(), null()), CL_INVALID_OPERATION);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);

    let flags = [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0];
    let buffer = made(|e| clCreateCommandBufferKHR(1, &setup.queue, flags.as_ptr(), e));
    assert_eq!(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
    let update =
        |n, types: *const cl_uint, configs: *const *const c_void| clUpdateMutableCommandsKHR(buffer, n, types, configs);
    let (types, null_config) = ([0, 1], [null(), null()]);
    assert_eq!(update(0, null(), null()), CL_SUCCESS);
    assert_eq!(update(1, null(), null_config.as_ptr()), CL_INVALID_VALUE);
    assert_eq!(update(1, types.as_ptr(), null()), CL_INVALID_VALUE);
    assert_eq!(update(0, types.as_ptr(), null_config.as_ptr()), CL_INVALID_VALUE);
    assert_eq!(update(1, types.as_ptr(), null_config.as_ptr()), CL_INVALID_VALUE);
    assert_eq!(update(1, &types[1], null_config.as_ptr()), CL_INVALID_VALUE);
    // SAFETY: zero and NULL are valid for all fields.
    let config: cl_mutable_dispatch_config_khr = unsafe { std::mem::zeroed() };
    let configs = [(&raw const config).cast()];
    assert_eq!(update(1, types.as_ptr(), configs.as_ptr()), CL_INVALID_MUTABLE_COMMAND_KHR);
    assert_eq!(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
}
