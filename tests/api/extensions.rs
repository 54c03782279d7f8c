//! Functions of extensions with kernels: types of shared virtual memory, and command buffers with several queues.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::Instant;

use opencl_sys::*;

use crate::functions::*;
use crate::support::*;

/// Adds a number to each element of a list, which it follows by pointers.
const WALK: &str = "struct node { global struct node *next; uint value; };
    kernel void k(global struct node *first, uint n) {
        for (global struct node *at = first; at; at = at->next) at->value += n;
    }";

#[repr(C)]
struct Node {
    next: *mut Node,
    value: u32,
}

/// A kernel reaches memory of each type through pointers in memory of all types.
#[test]
fn kernels_follow_pointers_into_memory_of_all_types() {
    let (queue, kernel) = (queue(), kernel(WALK));
    let device = device().expose_provenance() as cl_svm_alloc_properties_khr;
    let list = [CL_SVM_ALLOC_ASSOCIATED_DEVICE_HANDLE_KHR, device, 0];
    let wanted = [
        CL_SVM_TYPE_MACRO_COARSE_GRAIN_BUFFER_KHR,
        CL_SVM_TYPE_MACRO_DEVICE_KHR,
        CL_SVM_TYPE_MACRO_HOST_KHR,
        CL_SVM_TYPE_MACRO_SINGLE_DEVICE_SHARED_KHR,
        CL_SVM_TYPE_MACRO_SYSTEM_KHR,
    ];
    let mut nodes: Vec<*mut Node> = Vec::new();
    for (number, required) in wanted.into_iter().enumerate() {
        let (mut index, mut error) = (cl_uint::MAX, 1);
        // SAFETY: a list that ends with zero; there is room for the results, and for a node in the new memory.
        unsafe {
            let (context, size) = (context(), size_of::<Node>());
            let suggested = clGetSVMSuggestedTypeIndexKHR(context, required, 0, list.as_ptr(), size, &mut index);
            assert_code(suggested, CL_SUCCESS);
            let memory = clSVMAllocWithPropertiesKHR(context, list.as_ptr(), index, size, &mut error);
            assert_code(error, CL_SUCCESS);
            let mut found: cl_uint = 0;
            let (name, place) = (CL_SVM_INFO_TYPE_INDEX_KHR, (&raw mut found).cast());
            let asked = clGetSVMPointerInfoKHR(context, null_mut(), memory.byte_add(3), name, 4, place, null_mut());
            assert_code(asked, CL_SUCCESS);
            assert_eq!(found, index);
            let node = memory.cast::<Node>();
            node.write(Node { next: nodes.last().copied().unwrap_or(null_mut()), value: 10 * number as u32 });
            nodes.push(node);
        }
    }
    // Memory that no OpenCL function has allocated is as good.
    let own = Box::into_raw(Box::new(Node { next: nodes.last().copied().unwrap_or(null_mut()), value: 77 }));
    let one = [1; 3];
    // SAFETY: the nodes live until the queue has ended; then only the host accesses them.
    unsafe {
        assert_code(clSetKernelArgSVMPointer(kernel, 0, own.cast::<c_void>()), CL_SUCCESS);
        assert_code(set_arg(kernel, 1, 5_u32), CL_SUCCESS);
        let (name, yes) = (CL_KERNEL_EXEC_INFO_SVM_INDIRECT_ACCESS_KHR, CL_TRUE);
        assert_code(clSetKernelExecInfo(kernel, name, size_of::<cl_bool>(), (&raw const yes).cast()), CL_SUCCESS);
        assert_code(clSetKernelExecInfo(kernel, name, 1, (&raw const yes).cast()), CL_INVALID_VALUE);
        let launch = clEnqueueNDRangeKernel(queue, kernel, 1, null(), one.as_ptr(), null(), 0, null(), null_mut());
        assert_code(launch, CL_SUCCESS);
        assert_code(clFinish(queue), CL_SUCCESS);
        for (number, node) in nodes.iter().enumerate() {
            assert_eq!((**node).value, 10 * number as u32 + 5);
            assert_code(clSVMFreeWithPropertiesKHR(context(), null(), 0, node.cast()), CL_SUCCESS);
        }
        assert_eq!(Box::from_raw(own).value, 82);
    }
}

/// Digits that kernels in two queues append to a number, in the order of the sync points; then the same in a copy for one
/// queue, in which one of the digits has been changed.
#[test]
fn command_buffers_with_several_queues() {
    let kernel = kernel("kernel void k(global uint *p, uint n) { p[0] = p[0] * 10 + n; }");
    let (queues, mem) = ([queue(), queue()], buffer(4));
    assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
    let flags = [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0];
    let one = [1_usize];
    let mut error = 1;
    // SAFETY: lists of the stated lengths, which end with zero where no length is stated, and room for results; handles are
    // valid.
    unsafe {
        let buffer = clCreateCommandBufferKHR(2, queues.as_ptr(), flags.as_ptr(), &mut error);
        assert_code(error, CL_SUCCESS);
        let mut handles = [null_mut(); 6];
        let mut point = 0;
        for digit in 0..6 {
            assert_code(set_arg(kernel, 1, digit as u32 + 1), CL_SUCCESS);
            let (n, before) = (cl_uint::from(digit != 0), point);
            let wait = if digit == 0 { null() } else { &raw const before };
            let (none, size, handle) = (null(), one.as_ptr(), &raw mut handles[digit]);
            let queue = queues[digit % 2];
            let recorded = clCommandNDRangeKernelKHR(
                buffer,
                queue,
                none,
                kernel,
                1,
                null(),
                size,
                null(),
                n,
                wait,
                &mut point,
                handle,
            );
            assert_code(recorded, CL_SUCCESS);
        }
        assert_code(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
        let run = |buffer| {
            let mut event = null_mut();
            assert_code(clEnqueueCommandBufferKHR(0, null_mut(), buffer, 0, null(), &mut event), CL_SUCCESS);
            assert_code(clWaitForEvents(1, &event), CL_SUCCESS);
            read(queues[0], mem, 1)[0]
        };
        assert_eq!(run(buffer), 123_456);

        let mut copies = [null_mut(); 2];
        let chosen = [handles[1], handles[4]];
        let copy = clRemapCommandBufferKHR(
            buffer,
            CL_TRUE,
            1,
            &queues[1],
            2,
            chosen.as_ptr(),
            copies.as_mut_ptr(),
            &mut error,
        );
        assert_code(error, CL_SUCCESS);
        for (handle, queue) in [(handles[1], queues[1]), (handles[4], queues[0]), (copies[1], queues[1])] {
            let mut found: cl_command_queue = null_mut();
            let (name, place) = (CL_MUTABLE_COMMAND_COMMAND_QUEUE_KHR, (&raw mut found).cast());
            assert_code(clGetMutableCommandInfoKHR(handle, name, 8, place, null_mut()), CL_SUCCESS);
            assert_eq!(found, queue);
        }
        let nine = 9_u32;
        let arg = cl_mutable_dispatch_arg_khr { arg_index: 1, arg_size: 4, arg_value: (&raw const nine).cast() };
        let mut config: cl_mutable_dispatch_config_khr = std::mem::zeroed();
        (config.command, config.num_args, config.arg_list) = (copies[1], 1, &raw const arg);
        let (kinds, mut configs) = ([CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR], [(&raw const config).cast()]);
        let update = |buffer, configs: &mut [*const c_void; 1]| {
            clUpdateMutableCommandsKHR(buffer, 1, kinds.as_ptr(), configs.as_mut_ptr())
        };
        assert_code(update(buffer, &mut configs), CL_INVALID_MUTABLE_COMMAND_KHR);
        assert_code(update(copy, &mut configs), CL_SUCCESS);
        // Six digits more, modulo 2^32: the original has not changed.
        let appended = |number: u32, digits: u32| number.wrapping_mul(1_000_000).wrapping_add(digits);
        let first = run(copy);
        assert_eq!(first, appended(123_456, 123_496));
        assert_eq!(run(buffer), appended(first, 123_456));
        assert_code(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
        let second = read(queues[0], mem, 1)[0];
        assert_eq!(run(copy), appended(second, 123_496));
        assert_code(clReleaseCommandBufferKHR(copy), CL_SUCCESS);
    }
}

/// Recording, copying and changing take time in proportion to the number of kernels.
#[test]
fn large_command_buffers() {
    let kernel = kernel("kernel void k(global uint *p, uint n) { p[0] = n; }");
    let (queue, mem) = (queue(), buffer(4));
    assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
    assert_code(set_arg(kernel, 1, 1_u32), CL_SUCCESS);
    let flags = [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0];
    // SAFETY: lists of the stated lengths, which end with zero where no length is stated, and room for results; handles are
    // valid.
    let time = |count: usize| unsafe {
        let (start, size, mut error) = (Instant::now(), [1_usize], 1);
        let buffer = clCreateCommandBufferKHR(1, &queue, flags.as_ptr(), &mut error);
        assert_code(error, CL_SUCCESS);
        let (mut handles, mut copies) = (vec![null_mut(); count], vec![null_mut(); count]);
        for handle in &mut handles {
            let (none, g, p) = (null_mut(), size.as_ptr(), null_mut());
            let status =
                clCommandNDRangeKernelKHR(buffer, none, null(), kernel, 1, null(), g, null(), 0, null(), p, handle);
            assert_code(status, CL_SUCCESS);
        }
        assert_code(clFinalizeCommandBufferKHR(buffer), CL_SUCCESS);
        let (n, out) = (count as cl_uint, copies.as_mut_ptr());
        let copy = clRemapCommandBufferKHR(buffer, CL_FALSE, 1, &queue, n, handles.as_ptr(), out, &mut error);
        assert_code(error, CL_SUCCESS);
        let number = 7_u32;
        let arg = cl_mutable_dispatch_arg_khr { arg_index: 1, arg_size: 4, arg_value: (&raw const number).cast() };
        let config = |command: &cl_mutable_command_khr| {
            let mut config: cl_mutable_dispatch_config_khr = std::mem::zeroed();
            (config.command, config.num_args, config.arg_list) = (*command, 1, &raw const arg);
            config
        };
        let configs: Vec<cl_mutable_dispatch_config_khr> = copies.iter().map(config).collect();
        let mut list: Vec<*const c_void> = configs.iter().map(|config| std::ptr::from_ref(config).cast()).collect();
        let kinds = vec![CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR; count];
        assert_code(clUpdateMutableCommandsKHR(copy, n, kinds.as_ptr(), list.as_mut_ptr()), CL_SUCCESS);
        for buffer in [buffer, copy] {
            assert_code(clReleaseCommandBufferKHR(buffer), CL_SUCCESS);
        }
        start.elapsed()
    };
    // Other programs may take the processor away for a while.
    let is_linear = |_| time(16_000) < time(1000) * 80;
    assert!((0..5).any(is_linear), "16,000 kernels take more than 80 times as long as 1,000");
}
