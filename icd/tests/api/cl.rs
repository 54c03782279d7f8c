//! OpenCL as in a C program: functions that call through the dispatch table, and helpers for the test cases.
//!
//! The functions are safe to keep the cases short; each case has to satisfy the contract of the calls it makes.

#![allow(non_snake_case, reason = "functions are named as in C")]
#![allow(clippy::too_many_arguments, reason = "the C functions have them")]

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

pub(crate) use clift_include::cl::*;

/// Address of the function in a slot, read like a loader through the handle of the platform.
pub(crate) fn slot(index: usize) -> *const c_void {
    // SAFETY: a handle begins with the address of a table of 150 slots.
    unsafe { (*platform().cast::<*const [*const c_void; 150]>()).as_ref().unwrap()[index] }
}

/// The platform, obtained like a loader does.
pub(crate) fn platform() -> cl_platform_id {
    static PLATFORM: OnceLock<usize> = OnceLock::new();
    let address = PLATFORM.get_or_init(|| {
        let mut platform = null_mut();
        // SAFETY: room for one platform.
        let status = unsafe { clift::entries::export::clIcdGetPlatformIDsKHR(1, &mut platform, null_mut()) };
        assert_eq!(status, CL_SUCCESS);
        platform.expose_provenance()
    });
    std::ptr::with_exposed_provenance_mut(*address)
}

macro_rules! api {
    ($([$slot:literal] $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        $(pub(crate) fn $name($($arg: $ty),*) -> $ret {
            let address = slot($slot);
            // SAFETY: the function in this slot has this signature.
            let function: unsafe extern "C" fn($($ty),*) -> $ret = unsafe { std::mem::transmute(address) };
            // SAFETY: the case keeps the contract of the call.
            unsafe { function($($arg),*) }
        })*
    };
}

pub(crate) type Notify = Option<extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
pub(crate) type ObjectNotify = Option<extern "C" fn(*mut c_void, *mut c_void)>;
pub(crate) type EventNotify = Option<extern "C" fn(cl_event, cl_int, *mut c_void)>;
pub(crate) type SvmFree = Option<extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void)>;
pub(crate) type Native = Option<extern "C" fn(*mut c_void)>;

api! {
    [1] clGetPlatformInfo(p: cl_platform_id, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [2] clGetDeviceIDs(p: cl_platform_id, ty: cl_device_type, n: cl_uint, d: *mut cl_device_id, num: *mut cl_uint) -> cl_int;
    [3] clGetDeviceInfo(d: cl_device_id, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [4] clCreateContext(
        properties: *const isize, n: cl_uint, devices: *const cl_device_id, notify: Notify, user: *mut c_void,
        error: *mut cl_int,
    ) -> cl_context;
    [5] clCreateContextFromType(
        properties: *const isize, ty: cl_device_type, notify: Notify, user: *mut c_void, error: *mut cl_int,
    ) -> cl_context;
    [6] clRetainContext(c: cl_context) -> cl_int;
    [7] clReleaseContext(c: cl_context) -> cl_int;
    [8] clGetContextInfo(c: cl_context, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [9] clCreateCommandQueue(c: cl_context, d: cl_device_id, properties: cl_bitfield, error: *mut cl_int) -> cl_command_queue;
    [10] clRetainCommandQueue(q: cl_command_queue) -> cl_int;
    [11] clReleaseCommandQueue(q: cl_command_queue) -> cl_int;
    [12] clGetCommandQueueInfo(q: cl_command_queue, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [13] clSetCommandQueueProperty(q: cl_command_queue, properties: cl_bitfield, on: cl_bool, old: *mut cl_bitfield) -> cl_int;
    [14] clCreateBuffer(c: cl_context, flags: cl_mem_flags, size: usize, host: *mut c_void, error: *mut cl_int) -> cl_mem;
    [15] clCreateImage2D(
        c: cl_context, flags: cl_mem_flags, format: *const cl_image_format, width: usize, height: usize, row: usize,
        host: *mut c_void, error: *mut cl_int,
    ) -> cl_mem;
    [17] clRetainMemObject(m: cl_mem) -> cl_int;
    [18] clReleaseMemObject(m: cl_mem) -> cl_int;
    [19] clGetSupportedImageFormats(
        c: cl_context, flags: cl_mem_flags, ty: cl_uint, n: cl_uint, formats: *mut c_void, num: *mut cl_uint,
    ) -> cl_int;
    [20] clGetMemObjectInfo(m: cl_mem, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [26] clCreateProgramWithSource(
        c: cl_context, n: cl_uint, texts: *const *const c_char, sizes: *const usize, error: *mut cl_int,
    ) -> cl_program;
    [28] clRetainProgram(p: cl_program) -> cl_int;
    [29] clReleaseProgram(p: cl_program) -> cl_int;
    [30] clBuildProgram(
        p: cl_program, n: cl_uint, devices: *const cl_device_id, options: *const c_char, notify: ObjectNotify,
        user: *mut c_void,
    ) -> cl_int;
    [32] clGetProgramInfo(p: cl_program, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [33] clGetProgramBuildInfo(
        p: cl_program, d: cl_device_id, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize,
    ) -> cl_int;
    [34] clCreateKernel(p: cl_program, name: *const c_char, error: *mut cl_int) -> cl_kernel;
    [36] clRetainKernel(k: cl_kernel) -> cl_int;
    [37] clReleaseKernel(k: cl_kernel) -> cl_int;
    [38] clSetKernelArg(k: cl_kernel, index: cl_uint, size: usize, value: *const c_void) -> cl_int;
    [39] clGetKernelInfo(k: cl_kernel, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [40] clGetKernelWorkGroupInfo(
        k: cl_kernel, d: cl_device_id, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize,
    ) -> cl_int;
    [41] clWaitForEvents(n: cl_uint, list: *const cl_event) -> cl_int;
    [42] clGetEventInfo(e: cl_event, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [43] clRetainEvent(e: cl_event) -> cl_int;
    [44] clReleaseEvent(e: cl_event) -> cl_int;
    [45] clGetEventProfilingInfo(e: cl_event, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [46] clFlush(q: cl_command_queue) -> cl_int;
    [47] clFinish(q: cl_command_queue) -> cl_int;
    [48] clEnqueueReadBuffer(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, offset: usize, size: usize, ptr: *mut c_void,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [49] clEnqueueWriteBuffer(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, offset: usize, size: usize, ptr: *const c_void,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [50] clEnqueueCopyBuffer(
        q: cl_command_queue, src: cl_mem, dst: cl_mem, src_offset: usize, dst_offset: usize, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [21] clGetImageInfo(m: cl_mem, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [22] clCreateSampler(c: cl_context, normalized: cl_bool, addressing: cl_uint, filter: cl_uint, error: *mut cl_int)
        -> cl_sampler;
    [23] clRetainSampler(s: cl_sampler) -> cl_int;
    [24] clReleaseSampler(s: cl_sampler) -> cl_int;
    [25] clGetSamplerInfo(s: cl_sampler, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [51] clEnqueueReadImage(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize, row: usize,
        slice: usize, ptr: *mut c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [52] clEnqueueWriteImage(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize, row: usize,
        slice: usize, ptr: *const c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [53] clEnqueueCopyImage(
        q: cl_command_queue, src: cl_mem, dst: cl_mem, src_origin: *const usize, dst_origin: *const usize,
        region: *const usize, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [54] clEnqueueCopyImageToBuffer(
        q: cl_command_queue, src: cl_mem, dst: cl_mem, origin: *const usize, region: *const usize, offset: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [55] clEnqueueCopyBufferToImage(
        q: cl_command_queue, src: cl_mem, dst: cl_mem, offset: usize, origin: *const usize, region: *const usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [57] clEnqueueMapImage(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, flags: cl_map_flags, origin: *const usize,
        region: *const usize, row: *mut usize, slice: *mut usize, n: cl_uint, list: *const cl_event,
        event: *mut cl_event, error: *mut cl_int,
    ) -> *mut c_void;
    [96] clCreateImage(
        c: cl_context, flags: cl_mem_flags, format: *const cl_image_format, desc: *const cl_image_desc,
        host: *mut c_void, error: *mut cl_int,
    ) -> cl_mem;
    [103] clEnqueueFillImage(
        q: cl_command_queue, m: cl_mem, colour: *const c_void, origin: *const usize, region: *const usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [124] clCreatePipe(
        c: cl_context, flags: cl_mem_flags, packet: cl_uint, count: cl_uint, properties: *const isize,
        error: *mut cl_int,
    ) -> cl_mem;
    [125] clGetPipeInfo(m: cl_mem, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    [133] clCreateSamplerWithProperties(c: cl_context, properties: *const cl_ulong, error: *mut cl_int) -> cl_sampler;
    [56] clEnqueueMapBuffer(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, flags: cl_map_flags, offset: usize, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event, error: *mut cl_int,
    ) -> *mut c_void;
    [58] clEnqueueUnmapMemObject(
        q: cl_command_queue, m: cl_mem, ptr: *mut c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [59] clEnqueueNDRangeKernel(
        q: cl_command_queue, k: cl_kernel, dims: cl_uint, offset: *const usize, global: *const usize, local: *const usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [61] clEnqueueNativeKernel(
        q: cl_command_queue, function: Native, args: *const c_void, args_size: usize, mems: cl_uint,
        mem_list: *const cl_mem, places: *const *const c_void,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [62] clEnqueueMarker(q: cl_command_queue, event: *mut cl_event) -> cl_int;
    [63] clEnqueueWaitForEvents(q: cl_command_queue, n: cl_uint, list: *const cl_event) -> cl_int;
    [64] clEnqueueBarrier(q: cl_command_queue) -> cl_int;
    [65] clGetExtensionFunctionAddress(name: *const c_char) -> *mut c_void;
    [81] clSetEventCallback(e: cl_event, status: cl_int, notify: EventNotify, user: *mut c_void) -> cl_int;
    [82] clCreateSubBuffer(
        m: cl_mem, flags: cl_mem_flags, ty: cl_uint, info: *const c_void, error: *mut cl_int,
    ) -> cl_mem;
    [83] clSetMemObjectDestructorCallback(m: cl_mem, notify: ObjectNotify, user: *mut c_void) -> cl_int;
    [84] clCreateUserEvent(c: cl_context, error: *mut cl_int) -> cl_event;
    [85] clSetUserEventStatus(e: cl_event, status: cl_int) -> cl_int;
    [86] clEnqueueReadBufferRect(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, buffer_origin: *const usize, host_origin: *const usize,
        region: *const usize, buffer_row: usize, buffer_slice: usize, host_row: usize, host_slice: usize,
        ptr: *mut c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [87] clEnqueueWriteBufferRect(
        q: cl_command_queue, m: cl_mem, blocking: cl_bool, buffer_origin: *const usize, host_origin: *const usize,
        region: *const usize, buffer_row: usize, buffer_slice: usize, host_row: usize, host_slice: usize,
        ptr: *const c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [88] clEnqueueCopyBufferRect(
        q: cl_command_queue, src: cl_mem, dst: cl_mem, src_origin: *const usize, dst_origin: *const usize,
        region: *const usize, src_row: usize, src_slice: usize, dst_row: usize, dst_slice: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [93] clCreateSubDevices(
        d: cl_device_id, properties: *const isize, n: cl_uint, out: *mut cl_device_id, num: *mut cl_uint,
    ) -> cl_int;
    [94] clRetainDevice(d: cl_device_id) -> cl_int;
    [95] clReleaseDevice(d: cl_device_id) -> cl_int;
    [100] clUnloadPlatformCompiler(p: cl_platform_id) -> cl_int;
    [102] clEnqueueFillBuffer(
        q: cl_command_queue, m: cl_mem, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [104] clEnqueueMigrateMemObjects(
        q: cl_command_queue, count: cl_uint, mems: *const cl_mem, flags: cl_bitfield,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [105] clEnqueueMarkerWithWaitList(q: cl_command_queue, n: cl_uint, list: *const cl_event, event: *mut cl_event) -> cl_int;
    [106] clEnqueueBarrierWithWaitList(q: cl_command_queue, n: cl_uint, list: *const cl_event, event: *mut cl_event) -> cl_int;
    [107] clGetExtensionFunctionAddressForPlatform(p: cl_platform_id, name: *const c_char) -> *mut c_void;
    [123] clCreateCommandQueueWithProperties(
        c: cl_context, d: cl_device_id, properties: *const cl_queue_properties, error: *mut cl_int,
    ) -> cl_command_queue;
    [126] clSVMAlloc(c: cl_context, flags: cl_bitfield, size: usize, align: cl_uint) -> *mut c_void;
    [127] clSVMFree(c: cl_context, ptr: *mut c_void) -> ();
    [128] clEnqueueSVMFree(
        q: cl_command_queue, count: cl_uint, ptrs: *const *mut c_void, function: SvmFree, user: *mut c_void,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [129] clEnqueueSVMMemcpy(
        q: cl_command_queue, blocking: cl_bool, dst: *mut c_void, src: *const c_void, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [130] clEnqueueSVMMemFill(
        q: cl_command_queue, ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [131] clEnqueueSVMMap(
        q: cl_command_queue, blocking: cl_bool, flags: cl_map_flags, ptr: *mut c_void, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [132] clEnqueueSVMUnmap(
        q: cl_command_queue, ptr: *mut c_void, n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [134] clSetKernelArgSVMPointer(k: cl_kernel, index: cl_uint, value: *const c_void) -> cl_int;
    [135] clSetKernelExecInfo(k: cl_kernel, name: cl_uint, size: usize, value: *const c_void) -> cl_int;
    [137] clCloneKernel(k: cl_kernel, error: *mut cl_int) -> cl_kernel;
    [139] clEnqueueSVMMigrateMem(
        q: cl_command_queue, count: cl_uint, ptrs: *const *mut c_void, sizes: *const usize, flags: cl_bitfield,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    [140] clGetDeviceAndHostTimer(d: cl_device_id, device: *mut cl_ulong, host: *mut cl_ulong) -> cl_int;
    [141] clGetHostTimer(d: cl_device_id, host: *mut cl_ulong) -> cl_int;
    [143] clSetDefaultDeviceCommandQueue(c: cl_context, d: cl_device_id, q: cl_command_queue) -> cl_int;
    [146] clCreateBufferWithProperties(
        c: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, size: usize, host: *mut c_void,
        error: *mut cl_int,
    ) -> cl_mem;
    [147] clCreateImageWithProperties(
        c: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, format: *const cl_image_format,
        desc: *const cl_image_desc, host: *mut c_void, error: *mut cl_int,
    ) -> cl_mem;
    [148] clSetContextDestructorCallback(c: cl_context, notify: ObjectNotify, user: *mut c_void) -> cl_int;
}

/// Address of a function that is found by its name only.
pub(crate) fn named(name: &std::ffi::CStr) -> *mut c_void {
    clGetExtensionFunctionAddressForPlatform(platform(), name.as_ptr())
}

macro_rules! extension {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        $(pub(crate) fn $name($($arg: $ty),*) -> $ret {
            let name = std::ffi::CString::new(stringify!($name)).unwrap();
            let address = named(&name);
            assert!(!address.is_null());
            // SAFETY: the function of this name has this signature.
            let function: unsafe extern "C" fn($($ty),*) -> $ret = unsafe { std::mem::transmute(address) };
            // SAFETY: the case keeps the contract of the call.
            unsafe { function($($arg),*) }
        })*
    };
}

extension! {
    clGetImageRequirementsInfoEXT(
        c: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, format: *const cl_image_format,
        desc: *const cl_image_desc, name: cl_image_requirements_info_ext, size: usize, value: *mut c_void,
        ret: *mut usize,
    ) -> cl_int;
    clCreateCommandBufferKHR(
        n: cl_uint, queues: *const cl_command_queue, properties: *const cl_bitfield, error: *mut cl_int,
    ) -> *mut c_void;
    clFinalizeCommandBufferKHR(c: *mut c_void) -> cl_int;
    clRetainCommandBufferKHR(c: *mut c_void) -> cl_int;
    clReleaseCommandBufferKHR(c: *mut c_void) -> cl_int;
    clEnqueueCommandBufferKHR(
        queues: cl_uint, list_of_queues: *const cl_command_queue, c: *mut c_void,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clCommandBarrierWithWaitListKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandCopyBufferKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        src: cl_mem, dst: cl_mem, src_offset: usize, dst_offset: usize, size: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandCopyBufferRectKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        src: cl_mem, dst: cl_mem, src_origin: *const usize, dst_origin: *const usize, region: *const usize,
        src_row: usize, src_slice: usize, dst_row: usize, dst_slice: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandFillBufferKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        m: cl_mem, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandCopyImageKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        src: cl_mem, dst: cl_mem, src_origin: *const usize, dst_origin: *const usize, region: *const usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandCopyImageToBufferKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        src: cl_mem, dst: cl_mem, src_origin: *const usize, region: *const usize, dst_offset: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandCopyBufferToImageKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        src: cl_mem, dst: cl_mem, src_offset: usize, dst_origin: *const usize, region: *const usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandFillImageKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        m: cl_mem, colour: *const c_void, origin: *const usize, region: *const usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandSVMMemcpyKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        dst: *mut c_void, src: *const c_void, size: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandSVMMemFillKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clCommandNDRangeKernelKHR(
        c: *mut c_void, q: cl_command_queue, p: *const cl_bitfield,
        k: cl_kernel, dims: cl_uint, offset: *const usize, global: *const usize, local: *const usize,
        n: cl_uint, l: *const cl_uint, s: *mut cl_uint, h: *mut *mut c_void,
    ) -> cl_int;
    clRemapCommandBufferKHR(
        c: *mut c_void, automatic: cl_bool, n: cl_uint, queues: *const cl_command_queue, handles: cl_uint,
        list: *const *mut c_void, out: *mut *mut c_void, error: *mut cl_int,
    ) -> *mut c_void;
    clGetCommandBufferInfoKHR(c: *mut c_void, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    clUpdateMutableCommandsKHR(
        c: *mut c_void, n: cl_uint, types: *const cl_uint, configs: *const *const c_void,
    ) -> cl_int;
    clGetMutableCommandInfoKHR(c: *mut c_void, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    clCreateSemaphoreWithPropertiesKHR(c: cl_context, properties: *const cl_bitfield, error: *mut cl_int) -> *mut c_void;
    clEnqueueWaitSemaphoresKHR(
        q: cl_command_queue, count: cl_uint, semaphores: *const *mut c_void, payloads: *const cl_ulong,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clEnqueueAcquireExternalMemObjectsKHR(
        q: cl_command_queue, count: cl_uint, objects: *const cl_mem, n: cl_uint, list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int;
    clEnqueueReleaseExternalMemObjectsKHR(
        q: cl_command_queue, count: cl_uint, objects: *const cl_mem, n: cl_uint, list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int;
    clEnqueueSignalSemaphoresKHR(
        q: cl_command_queue, count: cl_uint, semaphores: *const *mut c_void, payloads: *const cl_ulong,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clGetSemaphoreInfoKHR(s: *mut c_void, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize) -> cl_int;
    clGetSemaphoreHandleForTypeKHR(
        s: *mut c_void, d: cl_device_id, ty: cl_uint, size: usize, value: *mut c_void, ret: *mut usize,
    ) -> cl_int;
    clReImportSemaphoreSyncFdKHR(s: *mut c_void, properties: *const cl_bitfield, file: cl_int) -> cl_int;
    clReleaseSemaphoreKHR(s: *mut c_void) -> cl_int;
    clRetainSemaphoreKHR(s: *mut c_void) -> cl_int;
    clTerminateContextKHR(c: cl_context) -> cl_int;
    clSVMAllocWithPropertiesKHR(
        c: cl_context, properties: *const cl_bitfield, index: cl_uint, size: usize, error: *mut cl_int,
    ) -> *mut c_void;
    clSVMFreeWithPropertiesKHR(
        c: cl_context, properties: *const cl_bitfield, flags: cl_bitfield, ptr: *mut c_void,
    ) -> cl_int;
    clGetSVMPointerInfoKHR(
        c: cl_context, d: cl_device_id, ptr: *const c_void, name: cl_uint, size: usize, value: *mut c_void,
        ret: *mut usize,
    ) -> cl_int;
    clGetSVMSuggestedTypeIndexKHR(
        c: cl_context, required: cl_bitfield, desired: cl_bitfield, properties: *const cl_bitfield, size: usize,
        suggested: *mut cl_uint,
    ) -> cl_int;
    clHostMemAllocINTEL(
        c: cl_context, properties: *const cl_bitfield, size: usize, align: cl_uint, error: *mut cl_int,
    ) -> *mut c_void;
    clDeviceMemAllocINTEL(
        c: cl_context, d: cl_device_id, properties: *const cl_bitfield, size: usize, align: cl_uint, error: *mut cl_int,
    ) -> *mut c_void;
    clSharedMemAllocINTEL(
        c: cl_context, d: cl_device_id, properties: *const cl_bitfield, size: usize, align: cl_uint, error: *mut cl_int,
    ) -> *mut c_void;
    clMemFreeINTEL(c: cl_context, ptr: *mut c_void) -> cl_int;
    clMemBlockingFreeINTEL(c: cl_context, ptr: *mut c_void) -> cl_int;
    clGetMemAllocInfoINTEL(
        c: cl_context, ptr: *const c_void, name: cl_uint, size: usize, value: *mut c_void, ret: *mut usize,
    ) -> cl_int;
    clEnqueueMemsetINTEL(
        q: cl_command_queue, ptr: *mut c_void, value: cl_int, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clEnqueueMemFillINTEL(
        q: cl_command_queue, ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clEnqueueMemcpyINTEL(
        q: cl_command_queue, blocking: cl_bool, dst: *mut c_void, src: *const c_void, size: usize,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clEnqueueMigrateMemINTEL(
        q: cl_command_queue, ptr: *const c_void, size: usize, flags: cl_bitfield,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
    clEnqueueMemAdviseINTEL(
        q: cl_command_queue, ptr: *const c_void, size: usize, advice: cl_uint,
        n: cl_uint, list: *const cl_event, event: *mut cl_event,
    ) -> cl_int;
}

/// No wait list.
pub(crate) const NONE: *const cl_event = null();
/// No event wanted.
pub(crate) const SKIP: *mut cl_event = null_mut();

/// The result of a call that must succeed.
pub(crate) fn made<T>(call: impl FnOnce(*mut cl_int) -> *mut T) -> *mut T {
    let mut error = 1;
    let object = call(&mut error);
    assert_eq!(error, CL_SUCCESS);
    assert!(!object.is_null());
    object
}

/// The error of a call that must fail.
pub(crate) fn refused<T>(call: impl FnOnce(*mut cl_int) -> *mut T) -> cl_int {
    let mut error = 1;
    assert!(call(&mut error).is_null());
    assert!(error < 0, "neither an object nor an error");
    error
}

/// The root device.
pub(crate) fn device() -> cl_device_id {
    let mut device = null_mut();
    assert_eq!(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 1, &mut device, null_mut()), CL_SUCCESS);
    device
}

/// A context and an in-order queue with profiling; both are released at the end.
pub(crate) struct Setup {
    pub(crate) context: cl_context,
    pub(crate) queue: cl_command_queue,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::with(CL_QUEUE_PROFILING_ENABLE)
    }

    /// With other properties of the queue.
    pub(crate) fn with(properties: cl_bitfield) -> Self {
        let device = device();
        let context = made(|e| clCreateContext(null(), 1, &device, None, null_mut(), e));
        let queue = made(|e| clCreateCommandQueue(context, device, properties, e));
        Self { context, queue }
    }

    pub(crate) fn buffer(&self, flags: cl_mem_flags, size: usize) -> cl_mem {
        made(|e| clCreateBuffer(self.context, flags, size, null_mut(), e))
    }

    /// A buffer with these bytes.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> cl_mem {
        let host = bytes.as_ptr().cast_mut().cast();
        made(|e| clCreateBuffer(self.context, CL_MEM_COPY_HOST_PTR, bytes.len(), host, e))
    }

    pub(crate) fn user_event(&self) -> cl_event {
        made(|e| clCreateUserEvent(self.context, e))
    }

    /// The content of a buffer.
    pub(crate) fn contents(&self, buffer: cl_mem) -> Vec<u8> {
        let mut bytes = vec![0; info::<usize>(|s, v, r| clGetMemObjectInfo(buffer, CL_MEM_SIZE, s, v, r))];
        let target = bytes.as_mut_ptr().cast();
        assert_eq!(clEnqueueReadBuffer(self.queue, buffer, CL_TRUE, 0, bytes.len(), target, 0, NONE, SKIP), CL_SUCCESS);
        bytes
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        assert_eq!(clReleaseCommandQueue(self.queue), CL_SUCCESS);
        assert_eq!(clReleaseContext(self.context), CL_SUCCESS);
    }
}

/// The last three arguments of an info query, in, its status out.
pub(crate) type Query<'a> = &'a dyn Fn(usize, *mut c_void, *mut usize) -> cl_int;

/// The bytes that a query returns, after checking the rules that apply to all queries: the size alone, the value alone, a buffer
/// that is too large, one that is too small.
pub(crate) fn info_bytes(query: Query<'_>) -> Vec<u8> {
    let mut size = usize::MAX;
    assert_eq!(query(0, null_mut(), &mut size), CL_SUCCESS);
    let mut bytes = vec![0xa5u8; size + 8];
    if size != 0 {
        assert_eq!(query(size - 1, bytes.as_mut_ptr().cast(), null_mut()), CL_INVALID_VALUE);
        assert!(bytes.iter().all(|byte| *byte == 0xa5), "a refused query wrote");
    }
    let mut again = usize::MAX;
    assert_eq!(query(size + 8, bytes.as_mut_ptr().cast(), &mut again), CL_SUCCESS);
    assert_eq!(again, size);
    assert_eq!(&bytes[size..], [0xa5; 8], "a query wrote past its size");
    bytes.truncate(size);
    let mut exact = vec![0u8; size + 1];
    assert_eq!(query(size, exact.as_mut_ptr().cast(), null_mut()), CL_SUCCESS);
    assert_eq!(&exact[..size], bytes);
    assert_eq!(query(0, null_mut(), null_mut()), CL_SUCCESS);
    bytes
}

/// The value that a query returns.
pub(crate) fn info<T: Copy>(query: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> T {
    let bytes = info_bytes(&query);
    assert_eq!(bytes.len(), size_of::<T>());
    // SAFETY: as many bytes as the value has; the types asked for are integers and pointers.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

/// The string that a query returns.
pub(crate) fn info_text(query: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> String {
    let mut bytes = info_bytes(&query);
    assert_eq!(bytes.pop(), Some(0));
    assert!(!bytes.contains(&0));
    String::from_utf8(bytes).unwrap()
}

/// Waits for a command and returns its final status.
pub(crate) fn ended(event: cl_event) -> cl_int {
    let waited = clWaitForEvents(1, &event);
    let status: cl_int = info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r));
    assert_eq!(waited, if status < 0 { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } else { CL_SUCCESS });
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    status
}
