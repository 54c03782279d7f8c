//! Invalid handles: null, numbers, misaligned, of another type. The memory they point to is not read. Released handles are in the
//! test `stale`.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::cl::*;

type Handle = *mut c_void;

/// A function whose first argument is a handle, and the error for an invalid one.
type Use = (&'static str, fn(Handle) -> cl_int, cl_int);

const USES: &[Use] = &[
    ("platform info", |h| clGetPlatformInfo(h, CL_PLATFORM_NAME, 0, null_mut(), null_mut()), CL_INVALID_PLATFORM),
    ("devices", |h| clGetDeviceIDs(h, CL_DEVICE_TYPE_ALL, 0, null_mut(), &mut 0), CL_INVALID_PLATFORM),
    ("device info", |h| clGetDeviceInfo(h, CL_DEVICE_TYPE, 0, null_mut(), null_mut()), CL_INVALID_DEVICE),
    ("retain device", |h| clRetainDevice(h), CL_INVALID_DEVICE),
    ("release device", |h| clReleaseDevice(h), CL_INVALID_DEVICE),
    ("context info", |h| clGetContextInfo(h, CL_CONTEXT_DEVICES, 0, null_mut(), null_mut()), CL_INVALID_CONTEXT),
    ("retain context", |h| clRetainContext(h), CL_INVALID_CONTEXT),
    ("release context", |h| clReleaseContext(h), CL_INVALID_CONTEXT),
    ("user event", |h| refused(|e| clCreateUserEvent(h, e)), CL_INVALID_CONTEXT),
    ("buffer", |h| refused(|e| clCreateBuffer(h, 0, 1, null_mut(), e)), CL_INVALID_CONTEXT),
    ("queue", |h| refused(|e| clCreateCommandQueue(h, device(), 0, e)), CL_INVALID_CONTEXT),
    ("queue info", |h| clGetCommandQueueInfo(h, CL_QUEUE_CONTEXT, 0, null_mut(), null_mut()), CL_INVALID_COMMAND_QUEUE),
    ("retain queue", |h| clRetainCommandQueue(h), CL_INVALID_COMMAND_QUEUE),
    ("release queue", |h| clReleaseCommandQueue(h), CL_INVALID_COMMAND_QUEUE),
    ("finish", |h| clFinish(h), CL_INVALID_COMMAND_QUEUE),
    ("mem info", |h| clGetMemObjectInfo(h, CL_MEM_SIZE, 0, null_mut(), null_mut()), CL_INVALID_MEM_OBJECT),
    ("retain mem", |h| clRetainMemObject(h), CL_INVALID_MEM_OBJECT),
    ("release mem", |h| clReleaseMemObject(h), CL_INVALID_MEM_OBJECT),
    ("pipe", |h| refused(|e| clCreatePipe(h, 0, 4, 4, null_mut(), e)), CL_INVALID_CONTEXT),
    ("pipe info", |h| clGetPipeInfo(h, CL_PIPE_PACKET_SIZE, 0, null_mut(), null_mut()), CL_INVALID_MEM_OBJECT),
    ("program info", |h| clGetProgramInfo(h, CL_PROGRAM_CONTEXT, 0, null_mut(), null_mut()), CL_INVALID_PROGRAM),
    ("retain program", |h| clRetainProgram(h), CL_INVALID_PROGRAM),
    ("release program", |h| clReleaseProgram(h), CL_INVALID_PROGRAM),
    ("kernel", |h| refused(|e| clCreateKernel(h, c"k".as_ptr(), e)), CL_INVALID_PROGRAM),
    ("kernel info", |h| clGetKernelInfo(h, CL_KERNEL_CONTEXT, 0, null_mut(), null_mut()), CL_INVALID_KERNEL),
    ("retain kernel", |h| clRetainKernel(h), CL_INVALID_KERNEL),
    ("release kernel", |h| clReleaseKernel(h), CL_INVALID_KERNEL),
    ("kernel argument", |h| clSetKernelArg(h, 0, 4, null_mut()), CL_INVALID_KERNEL),
    ("event info", |h| clGetEventInfo(h, CL_EVENT_CONTEXT, 0, null_mut(), null_mut()), CL_INVALID_EVENT),
    ("retain event", |h| clRetainEvent(h), CL_INVALID_EVENT),
    ("release event", |h| clReleaseEvent(h), CL_INVALID_EVENT),
    ("wait", |h| clWaitForEvents(1, &h), CL_INVALID_EVENT),
    ("semaphore", |h| refused(|e| clCreateSemaphoreWithPropertiesKHR(h, null_mut(), e)), CL_INVALID_CONTEXT),
    (
        "semaphore info",
        |h| clGetSemaphoreInfoKHR(h, CL_SEMAPHORE_TYPE_KHR, 0, null_mut(), null_mut()),
        CL_INVALID_SEMAPHORE_KHR,
    ),
    ("retain semaphore", |h| clRetainSemaphoreKHR(h), CL_INVALID_SEMAPHORE_KHR),
    ("release semaphore", |h| clReleaseSemaphoreKHR(h), CL_INVALID_SEMAPHORE_KHR),
    ("memory of a type", |h| refused(|e| clSVMAllocWithPropertiesKHR(h, null_mut(), 0, 8, e)), CL_INVALID_CONTEXT),
    ("free of a type", |h| clSVMFreeWithPropertiesKHR(h, null_mut(), 0, null_mut()), CL_INVALID_CONTEXT),
    (
        "pointer info",
        |h| clGetSVMPointerInfoKHR(h, null_mut(), null_mut(), CL_SVM_INFO_SIZE_KHR, 0, null_mut(), null_mut()),
        CL_INVALID_CONTEXT,
    ),
    ("type", |h| clGetSVMSuggestedTypeIndexKHR(h, 0, 0, null_mut(), 0, null_mut()), CL_INVALID_CONTEXT),
    ("host memory", |h| refused(|e| clHostMemAllocINTEL(h, null_mut(), 8, 0, e)), CL_INVALID_CONTEXT),
    ("free memory", |h| clMemFreeINTEL(h, null_mut()), CL_INVALID_CONTEXT),
    ("blocking free", |h| clMemBlockingFreeINTEL(h, null_mut()), CL_INVALID_CONTEXT),
    (
        "memory info",
        |h| clGetMemAllocInfoINTEL(h, null_mut(), CL_MEM_ALLOC_TYPE_INTEL, 0, null_mut(), null_mut()),
        CL_INVALID_CONTEXT,
    ),
    ("command buffer", |h| refused(|e| clCreateCommandBufferKHR(1, &h, null_mut(), e)), CL_INVALID_COMMAND_QUEUE),
    (
        "command buffer info",
        |h| clGetCommandBufferInfoKHR(h, CL_COMMAND_BUFFER_STATE_KHR, 0, null_mut(), null_mut()),
        CL_INVALID_COMMAND_BUFFER_KHR,
    ),
    (
        "remapping",
        |h| refused(|e| clRemapCommandBufferKHR(h, 0, 1, null_mut(), 0, null_mut(), null_mut(), e)),
        CL_INVALID_COMMAND_BUFFER_KHR,
    ),
    ("finalize", |h| clFinalizeCommandBufferKHR(h), CL_INVALID_COMMAND_BUFFER_KHR),
    ("retain command buffer", |h| clRetainCommandBufferKHR(h), CL_INVALID_COMMAND_BUFFER_KHR),
    ("release command buffer", |h| clReleaseCommandBufferKHR(h), CL_INVALID_COMMAND_BUFFER_KHR),
    ("update", |h| clUpdateMutableCommandsKHR(h, 0, null_mut(), null_mut()), CL_INVALID_COMMAND_BUFFER_KHR),
    (
        "mutable command info",
        |h| clGetMutableCommandInfoKHR(h, CL_MUTABLE_COMMAND_COMMAND_TYPE_KHR, 0, null_mut(), null_mut()),
        CL_INVALID_MUTABLE_COMMAND_KHR,
    ),
    ("set status", |h| clSetUserEventStatus(h, CL_COMPLETE), CL_INVALID_EVENT),
];

fn number(value: usize) -> Handle {
    std::ptr::without_provenance_mut(value)
}

#[test]
fn garbage() {
    let on_stack = [0usize; 64];
    let on_heap = vec![0usize; 64];
    let context = Setup::new();
    let inside = context.context.wrapping_byte_add(8);
    let misaligned = context.queue.wrapping_byte_add(1);
    let mut bad = vec![
        null_mut(),
        inside,
        misaligned,
        (&raw const on_stack).cast_mut().cast(),
        on_heap.as_ptr().cast_mut().cast(),
    ];
    bad.extend(
        [1, 7, 0x1000, 0xdead_beef, 0x7fff_ffff_f000, 0x8000_0000_0000_0000, usize::MAX, usize::MAX - 7].map(number),
    );
    for (name, function, error) in USES {
        for handle in &bad {
            assert_eq!(function(*handle), *error, "{name} of {handle:p}");
        }
    }
}

#[test]
fn of_another_type() {
    let setup = Setup::new();
    let (mem, event) = (setup.buffer(0, 16), setup.user_event());
    let objects = [
        (platform(), CL_INVALID_PLATFORM),
        (device(), CL_INVALID_DEVICE),
        (setup.context, CL_INVALID_CONTEXT),
        (setup.queue, CL_INVALID_COMMAND_QUEUE),
        (mem, CL_INVALID_MEM_OBJECT),
        (event, CL_INVALID_EVENT),
    ];
    for (name, function, error) in USES {
        for (handle, own) in objects {
            if own != *error {
                assert_eq!(function(handle), *error, "{name} of {handle:p}");
            }
        }
    }
    assert_eq!(clReleaseMemObject(mem), CL_SUCCESS);
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
}

/// Held by a command, an object outlives its last release, but there is nothing left to release.
#[test]
fn released_while_a_command_holds_it() {
    let setup = Setup::new();
    let (buffer, user) = (setup.buffer(0, 16), setup.user_event());
    let pattern = [0u8];
    let ptr = pattern.as_ptr().cast();
    assert_eq!(clEnqueueFillBuffer(setup.queue, buffer, ptr, 1, 0, 16, 1, &user, SKIP), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_INVALID_MEM_OBJECT);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
}
