//! Launches: geometry, wait lists, limits.

use std::ptr::{null, null_mut};

use opencl_sys::*;

use crate::functions::*;
use crate::support::*;

/// Counts the work-items, and notes the sizes the last one saw.
const COUNT: &str = "\
kernel void k(global uint *p) {
    atomic_inc((volatile global uint *)p);
    if (get_global_id(0) + 1 == get_global_offset(0) + get_global_size(0)) {
        p[1] = get_global_id(0); p[2] = get_local_size(0); p[3] = get_num_groups(0); p[4] = get_work_dim();
        p[5] = get_global_id(1); p[6] = get_global_id(2);
    }
}";

struct Sizes<'a> {
    dims: cl_uint,
    offset: Option<&'a [usize; 3]>,
    global: Option<&'a [usize; 3]>,
    local: Option<&'a [usize; 3]>,
}

fn first(array: Option<&[usize; 3]>) -> *const usize {
    array.map_or(null(), |array| array.as_ptr())
}

fn enqueue(queue: cl_command_queue, kernel: cl_kernel, sizes: &Sizes<'_>) -> cl_int {
    let (offset, global, local) = (first(sizes.offset), first(sizes.global), first(sizes.local));
    // SAFETY: arrays of three sizes, or NULL; no events.
    unsafe { clEnqueueNDRangeKernel(queue, kernel, sizes.dims, offset, global, local, 0, null(), null_mut()) }
}

/// The counting kernel on a fresh buffer.
fn counter(options: &str) -> (cl_kernel, cl_mem) {
    let (kernel, mem) = (kernel_with(COUNT, options), buffer(32));
    assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
    (kernel, mem)
}

#[test]
fn one_to_three_dimensions_with_offset() {
    let queue = queue();
    for (dims, offset, global, local) in [
        (1, [0, 0, 0], [64, 1, 1], Some([16, 1, 1])),
        (1, [5, 0, 0], [60, 1, 1], None),
        (2, [7, 9, 0], [8, 6, 1], Some([4, 3, 1])),
        (3, [1, 2, 3], [4, 5, 6], Some([2, 5, 3])),
        (3, [1, 2, 3], [4, 5, 6], None),
    ] {
        let (kernel, mem) = counter("");
        let sizes = Sizes { dims, offset: Some(&offset), global: Some(&global), local: local.as_ref() };
        assert_code(enqueue(queue, kernel, &sizes), CL_SUCCESS);
        let seen = read(queue, mem, 7);
        let used = |array: [usize; 3], d: usize, other| if d < dims as usize { array[d] } else { other };
        let items: usize = (0..3).map(|d| used(global, d, 1)).product();
        assert_eq!(seen[0] as usize, items);
        assert_eq!(seen[1] as usize, offset[0] + global[0] - 1);
        assert_eq!(seen[4], dims);
        if let Some(local) = local {
            assert_eq!(seen[2] as usize, local[0]);
            assert_eq!(seen[3] as usize, global[0] / local[0]);
        }
        assert!((used(offset, 1, 0)..used(offset, 1, 0) + used(global, 1, 1)).contains(&(seen[5] as usize)));
        assert!((used(offset, 2, 0)..used(offset, 2, 0) + used(global, 2, 1)).contains(&(seen[6] as usize)));
    }
}

#[test]
fn every_rule_has_its_code() {
    let queue = queue();
    let (kernel, _) = counter("");
    let one = [1; 3];
    let good = || Sizes { dims: 1, offset: None, global: Some(&one), local: None };
    assert_code(enqueue(garbage(), kernel, &good()), CL_INVALID_COMMAND_QUEUE);
    assert_code(enqueue(queue, garbage(), &good()), CL_INVALID_KERNEL);
    assert_code(enqueue(queue_in(other_context()), kernel, &good()), CL_INVALID_CONTEXT);
    assert_code(enqueue(queue, self::kernel(COUNT), &good()), CL_INVALID_KERNEL_ARGS);
    assert_code(enqueue(queue, kernel, &Sizes { dims: 0, ..good() }), CL_INVALID_WORK_DIMENSION);
    assert_code(enqueue(queue, kernel, &Sizes { dims: 4, ..good() }), CL_INVALID_WORK_DIMENSION);
    let far = [usize::MAX; 3];
    assert_code(enqueue(queue, kernel, &Sizes { offset: Some(&far), ..good() }), CL_INVALID_GLOBAL_OFFSET);
    let (zero, uneven, large) = ([0; 3], [100, 1, 1], [1 << 20, 1, 1]);
    let with = |global, local| Sizes { dims: 1, offset: None, global: Some(global), local: Some(local) };
    assert_code(enqueue(queue, kernel, &with(&one, &zero)), CL_INVALID_WORK_GROUP_SIZE);
    assert_code(enqueue(queue, kernel, &with(&uneven, &[64, 1, 1])), CL_INVALID_WORK_GROUP_SIZE);
    assert_code(enqueue(queue, kernel, &with(&large, &large)), CL_INVALID_WORK_ITEM_SIZE);
    let cube = [64; 3];
    let three = Sizes { dims: 3, offset: None, global: Some(&cube), local: Some(&cube) };
    assert_code(enqueue(queue, kernel, &three), CL_INVALID_WORK_GROUP_SIZE);
}

#[test]
fn non_uniform_work_groups_need_permission() {
    let queue = queue();
    let (global, local) = ([100, 1, 1], [64, 1, 1]);
    let sizes = Sizes { dims: 1, offset: None, global: Some(&global), local: Some(&local) };
    for options in ["-cl-std=CL2.0", "-cl-std=CL3.0"] {
        let (kernel, mem) = counter(options);
        assert_code(enqueue(queue, kernel, &sizes), CL_SUCCESS);
        assert_eq!(read(queue, mem, 4), [100, 99, 36, 2]);
    }
    for options in ["", "-cl-std=CL1.2", "-cl-std=CL3.0 -cl-uniform-work-group-size"] {
        let (kernel, _) = counter(options);
        assert_code(enqueue(queue, kernel, &sizes), CL_INVALID_WORK_GROUP_SIZE);
    }
}

#[test]
fn an_empty_launch_completes() {
    let queue = queue();
    let (kernel, mem) = counter("");
    let zero = [4, 0, 4];
    for sizes in [
        Sizes { dims: 3, offset: None, global: Some(&zero), local: None },
        Sizes { dims: 2, offset: None, global: None, local: None },
    ] {
        let mut event = null_mut();
        let (global, local) = (first(sizes.global), first(sizes.local));
        // SAFETY: arrays of three sizes, or NULL; one event is wanted and then waited for.
        unsafe {
            let code = clEnqueueNDRangeKernel(queue, kernel, sizes.dims, null(), global, local, 0, null(), &mut event);
            assert_code(code, CL_SUCCESS);
            assert_code(clWaitForEvents(1, &event), CL_SUCCESS);
        }
    }
    assert_eq!(read(queue, mem, 1), [0]);
}

#[test]
fn a_required_size_is_required() {
    let source = "__attribute__((reqd_work_group_size(8, 2, 1)))\n\
                  kernel void k(global uint *p) { p[0] = get_local_size(0) * 10 + get_local_size(1); }";
    let (queue, kernel, mem) = (queue(), kernel(source), buffer(4));
    assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
    let global = [16, 4, 1];
    let with = |local| Sizes { dims: 2, offset: None, global: Some(&global), local };
    assert_code(enqueue(queue, kernel, &with(Some(&[8, 2, 1]))), CL_SUCCESS);
    assert_code(enqueue(queue, kernel, &with(None)), CL_SUCCESS);
    assert_eq!(read(queue, mem, 1), [82]);
    assert_code(enqueue(queue, kernel, &with(Some(&[2, 2, 1]))), CL_INVALID_WORK_GROUP_SIZE);
    assert_code(enqueue(queue, kernel, &Sizes { dims: 1, ..with(Some(&[8, 2, 1])) }), CL_INVALID_WORK_GROUP_SIZE);
    // SAFETY: no events.
    let code = unsafe { clEnqueueTask(queue, kernel, 0, null(), null_mut()) };
    assert_code(code, CL_INVALID_WORK_GROUP_SIZE);
}

#[test]
fn local_memory_has_a_limit() {
    let queue = queue();
    let kernel = kernel("kernel void k(global uint *p, local uint *a, local uint *b) { a[0] = b[0] = 1; p[0] = 1; }");
    assert_code(set_mem(kernel, 0, buffer(4)), CL_SUCCESS);
    let limit = usize::try_from(clift_tests::session::session().device.local_mem_size().unwrap()).unwrap();
    let one = [1; 3];
    let sizes = Sizes { dims: 1, offset: None, global: Some(&one), local: Some(&one) };
    for (a, b, code) in [
        (limit / 2, limit / 2, CL_SUCCESS),
        (limit, 4, CL_OUT_OF_RESOURCES),
        (usize::MAX, usize::MAX, CL_OUT_OF_RESOURCES),
    ] {
        assert_code(set_arg_raw(kernel, 1, a, null()), CL_SUCCESS);
        assert_code(set_arg_raw(kernel, 2, b, null()), CL_SUCCESS);
        assert_code(enqueue(queue, kernel, &sizes), code);
    }
}

#[test]
fn wait_lists_and_events() {
    let queue = queue();
    let (kernel, mem) = counter("");
    let one = 1_usize;
    let mut error = 1;
    // SAFETY: events of the common context; lists of the stated length.
    unsafe {
        let user = clCreateUserEvent(context(), &mut error);
        assert_code(error, CL_SUCCESS);
        let mut event = null_mut();
        let code = clEnqueueNDRangeKernel(queue, kernel, 1, null(), &one, null(), 1, &user, &mut event);
        assert_code(code, CL_SUCCESS);
        let kind = asked(|size, value, size_ret| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, size, value, size_ret));
        assert_eq!(number::<cl_command_type>(&kind.unwrap()), CL_COMMAND_NDRANGE_KERNEL);
        let status = asked(|size, value, size_ret| {
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, size, value, size_ret)
        });
        assert_eq!(number::<cl_int>(&status.unwrap()), CL_QUEUED as cl_int);
        assert_code(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        assert_code(clWaitForEvents(1, &event), CL_SUCCESS);
        assert_eq!(read(queue, mem, 1), [1]);

        let run = |count, list| clEnqueueNDRangeKernel(queue, kernel, 1, null(), &one, null(), count, list, null_mut());
        assert_code(run(1, null()), CL_INVALID_EVENT_WAIT_LIST);
        assert_code(run(0, &user), CL_INVALID_EVENT_WAIT_LIST);
        let not_an_event: cl_event = garbage();
        assert_code(run(1, &not_an_event), CL_INVALID_EVENT_WAIT_LIST);
        let foreign = clCreateUserEvent(other_context(), &mut error);
        assert_code(run(1, &foreign), CL_INVALID_CONTEXT);
    }
}

#[test]
fn tasks_are_single_work_items() {
    let queue = queue();
    let (kernel, mem) = counter("");
    let mut event = null_mut();
    // SAFETY: no wait list; the event is wanted.
    unsafe {
        assert_code(clEnqueueTask(queue, kernel, 0, null(), &mut event), CL_SUCCESS);
        let kind = asked(|size, value, size_ret| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, size, value, size_ret));
        assert_eq!(number::<cl_command_type>(&kind.unwrap()), CL_COMMAND_TASK);
    }
    assert_eq!(read(queue, mem, 5), [1, 0, 1, 1, 1]);
}

#[test]
fn arguments_are_taken_at_the_enqueue() {
    let queue = queue();
    let kernel = kernel("kernel void k(global uint *p, uint n) { p[0] = p[0] * 10 + n; }");
    let mem = buffer(4);
    assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
    let one = [1; 3];
    for n in 1..=5_u32 {
        assert_code(set_arg(kernel, 1, n), CL_SUCCESS);
        assert_code(
            enqueue(queue, kernel, &Sizes { dims: 1, offset: None, global: Some(&one), local: None }),
            CL_SUCCESS,
        );
    }
    assert_eq!(read(queue, mem, 1), [12345]);
}

#[test]
fn suggested_local_sizes() {
    type Suggest =
        unsafe extern "C" fn(cl_command_queue, cl_kernel, cl_uint, *const usize, *const usize, *mut usize) -> cl_int;
    let queue = queue();
    let (kernel, mem) = counter("");
    let platform = clift_tests::session::session().platform();
    let name = c("clGetKernelSuggestedLocalWorkSizeKHR");
    // SAFETY: the name is one the driver lists; its type is the one above.
    let suggest = unsafe {
        let address = clGetExtensionFunctionAddressForPlatform(platform, name.as_ptr());
        assert!(!address.is_null());
        std::mem::transmute::<*mut std::ffi::c_void, Suggest>(address)
    };
    let global = [240, 6, 1];
    let mut local = [0; 3];
    // SAFETY: arrays of the stated dimensions, or NULL.
    unsafe {
        assert_code(suggest(queue, kernel, 2, null(), global.as_ptr(), local.as_mut_ptr()), CL_SUCCESS);
        assert!(global[0] % local[0] == 0 && global[1] % local[1] == 0, "{local:?}");
        // It is the size that a launch gets.
        let sizes = Sizes { dims: 2, offset: None, global: Some(&global), local: None };
        assert_code(enqueue(queue, kernel, &sizes), CL_SUCCESS);
        assert_eq!(read(queue, mem, 3)[2] as usize, local[0]);

        let out = local.as_mut_ptr();
        let size = global.as_ptr();
        assert_code(suggest(garbage(), kernel, 1, null(), size, out), CL_INVALID_COMMAND_QUEUE);
        assert_code(suggest(queue, garbage(), 1, null(), size, out), CL_INVALID_KERNEL);
        assert_code(suggest(queue_in(other_context()), kernel, 1, null(), size, out), CL_INVALID_CONTEXT);
        assert_code(suggest(queue, self::kernel(COUNT), 1, null(), size, out), CL_INVALID_KERNEL_ARGS);
        assert_code(suggest(queue, kernel, 0, null(), size, out), CL_INVALID_WORK_DIMENSION);
        assert_code(suggest(queue, kernel, 1, &usize::MAX, size, out), CL_INVALID_GLOBAL_OFFSET);
        assert_code(suggest(queue, kernel, 1, null(), null(), out), CL_INVALID_GLOBAL_WORK_SIZE);
        assert_code(suggest(queue, kernel, 1, null(), &0, out), CL_INVALID_GLOBAL_WORK_SIZE);
        assert_code(suggest(queue, kernel, 1, null(), size, null_mut()), CL_INVALID_VALUE);
    }
}
