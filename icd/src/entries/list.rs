//! The list of entry points, in the order of the dispatch table (`CL/cl_icd.h`).
//!
//! [`super::generate`] explains the rows; `docs/add-an-entry-point.md` explains how to add one. Slots 75 to 80 and 109 to 118
//! (Direct3D, DX9) have no row because their functions are declared for Windows only.

#![allow(unsafe_code, reason = "the stubs are functions that C calls")]
#![allow(non_snake_case, reason = "the stubs are named as in C")]

use std::ffi::{c_char, c_void};

use clift_include::cl::*;

use super::generate::{Entry, EntryKind, entry_points, gap_of, kind, run, stub, trace_args};
use crate::api::enqueue::Wait;
use crate::api::recording::Recording;
use crate::ffi::callback::{ContextNotify, FreeFunction, NativeFunction, ObjectNotify, StatusNotify};
use crate::ffi::dispatch::Address;
use crate::ffi::entry::{self, ErrorCode};
use crate::ffi::handle::{Handle, LoaderData};
use crate::ffi::pointer::{HostPtr, ImageDesc, In, InArray, InBytes, Out, OutArray, Properties, Text, UserData};
use crate::object::buffer::Mem;
use crate::object::command_buffer::{CommandBuffer, MutableCommand};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::event::Event;
use crate::object::kernel::Kernel;
use crate::object::platform::Platform;
use crate::object::program::Program;
use crate::object::queue::Queue;
use crate::object::sampler::Sampler;
use crate::object::semaphore::Semaphore;

/// A `size_t[3]` of the application.
type Triple<'call> = InArray<'call, usize>;

entry_points! {
slots {
    // OpenCL 1.0
    [0] clGetPlatformIDs(num_entries: cl_uint, platforms: OutArray<Handle<Platform>>, num_platforms: Out<cl_uint>)
        -> status = platform::get_ids;
    [1] clGetPlatformInfo(platform: Handle<Platform>, param_name: cl_platform_info) -> info = platform::get_info;
    [2] clGetDeviceIDs(
        platform: Handle<Platform>, device_type: cl_device_type, num_entries: cl_uint,
        devices: OutArray<Handle<Device>>, num_devices: Out<cl_uint>,
    ) -> status = device::get_ids;
    [3] clGetDeviceInfo(device: Handle<Device>, param_name: cl_device_info) -> info = device::get_info;
    [4] clCreateContext(
        properties: Properties<cl_context_properties>, num_devices: cl_uint, devices: InArray<Handle<Device>>,
        pfn_notify: ContextNotify, user_data: UserData,
    ) -> object = context::create;
    [5] clCreateContextFromType(
        properties: Properties<cl_context_properties>, device_type: cl_device_type,
        pfn_notify: ContextNotify, user_data: UserData,
    ) -> object = context::create_from_type;
    [6] clRetainContext(context: Handle<Context>) -> status = retain;
    [7] clReleaseContext(context: Handle<Context>) -> status = release;
    [8] clGetContextInfo(context: Handle<Context>, param_name: cl_context_info) -> info = context::get_info;
    [9] clCreateCommandQueue(
        context: Handle<Context>, device: Handle<Device>, properties: cl_command_queue_properties,
    ) -> object = queue::create;
    [10] clRetainCommandQueue(queue: Handle<Queue>) -> status = queue::retain;
    [11] clReleaseCommandQueue(queue: Handle<Queue>) -> status = queue::release;
    [12] clGetCommandQueueInfo(queue: Handle<Queue>, param_name: cl_command_queue_info) -> info = queue::get_info;
    [13] clSetCommandQueueProperty(
        queue: Handle<Queue>, properties: cl_command_queue_properties, enable: cl_bool,
        old_properties: Out<cl_command_queue_properties>,
    ) -> status = queue::set_property;
    [14] clCreateBuffer(context: Handle<Context>, flags: cl_mem_flags, size: usize, host_ptr: HostPtr)
        -> object = buffer::create;
    [15] clCreateImage2D(
        context: Handle<Context>, flags: cl_mem_flags, image_format: In<cl_image_format>, image_width: usize,
        image_height: usize, image_row_pitch: usize, host_ptr: HostPtr,
    ) -> object = image::creation::create_2d;
    [16] clCreateImage3D(
        context: Handle<Context>, flags: cl_mem_flags, image_format: In<cl_image_format>, image_width: usize,
        image_height: usize, image_depth: usize, image_row_pitch: usize, image_slice_pitch: usize, host_ptr: HostPtr,
    ) -> object = image::creation::create_3d;
    [17] clRetainMemObject(mem: Handle<Mem>) -> status = retain;
    [18] clReleaseMemObject(mem: Handle<Mem>) -> status = release;
    [19] clGetSupportedImageFormats(
        context: Handle<Context>, flags: cl_mem_flags, image_type: cl_mem_object_type, num_entries: cl_uint,
        image_formats: OutArray<cl_image_format>, num_image_formats: Out<cl_uint>,
    ) -> status = image::get_supported_formats;
    [20] clGetMemObjectInfo(mem: Handle<Mem>, param_name: cl_mem_info) -> info = buffer::get_info;
    [21] clGetImageInfo(image: Handle<Mem>, param_name: cl_image_info) -> info = image::get_info;
    [22] clCreateSampler(
        context: Handle<Context>, normalized_coords: cl_bool, addressing_mode: cl_addressing_mode,
        filter_mode: cl_filter_mode,
    ) -> object = sampler::create;
    [23] clRetainSampler(sampler: Handle<Sampler>) -> status = retain;
    [24] clReleaseSampler(sampler: Handle<Sampler>) -> status = release;
    [25] clGetSamplerInfo(sampler: Handle<Sampler>, param_name: cl_sampler_info) -> info = sampler::get_info;
    [26] clCreateProgramWithSource(
        context: Handle<Context>, count: cl_uint, strings: InArray<*const c_char>, lengths: InArray<usize>,
    ) -> object = program::create_with_source;
    [27] clCreateProgramWithBinary(
        context: Handle<Context>, num_devices: cl_uint, device_list: InArray<Handle<Device>>, lengths: InArray<usize>,
        binaries: InArray<*const c_char>, binary_status: OutArray<cl_int>,
    ) -> object = program::create_with_binary;
    [28] clRetainProgram(program: Handle<Program>) -> status = retain;
    [29] clReleaseProgram(program: Handle<Program>) -> status = release;
    [30] clBuildProgram(
        program: Handle<Program>, num_devices: cl_uint, device_list: InArray<Handle<Device>>, options: Text,
        pfn_notify: ObjectNotify<Program>, user_data: UserData,
    ) -> status = program::build::build;
    [31] clUnloadCompiler() -> status = platform::unload_compiler;
    [32] clGetProgramInfo(program: Handle<Program>, param_name: cl_program_info) -> info = program::query::get_info;
    [33] clGetProgramBuildInfo(program: Handle<Program>, device: Handle<Device>, param_name: cl_program_build_info)
        -> info = program::query::get_build_info;
    [34] clCreateKernel(program: Handle<Program>, kernel_name: Text) -> object = kernel::create;
    [35] clCreateKernelsInProgram(
        program: Handle<Program>, num_kernels: cl_uint, kernels: OutArray<Handle<Kernel>>, num_kernels_ret: Out<cl_uint>,
    ) -> status = kernel::create_all;
    [36] clRetainKernel(kernel: Handle<Kernel>) -> status = retain;
    [37] clReleaseKernel(kernel: Handle<Kernel>) -> status = release;
    [38] clSetKernelArg(kernel: Handle<Kernel>, arg_index: cl_uint, arg_size: usize, arg_value: InBytes)
        -> status = kernel::set_arg;
    [39] clGetKernelInfo(kernel: Handle<Kernel>, param_name: cl_kernel_info) -> info = kernel::get_info;
    [40] clGetKernelWorkGroupInfo(kernel: Handle<Kernel>, device: Handle<Device>, param_name: cl_kernel_work_group_info)
        -> info = kernel::get_work_group_info;
    [41] clWaitForEvents(num_events: cl_uint, event_list: InArray<Handle<Event>>) -> status = event::wait;
    [42] clGetEventInfo(event: Handle<Event>, param_name: cl_event_info) -> info = event::get_info;
    [43] clRetainEvent(event: Handle<Event>) -> status = retain;
    [44] clReleaseEvent(event: Handle<Event>) -> status = release;
    [45] clGetEventProfilingInfo(event: Handle<Event>, param_name: cl_profiling_info) -> info = event::get_profiling_info;
    [46] clFlush(queue: Handle<Queue>) -> status = queue::flush;
    [47] clFinish(queue: Handle<Queue>) -> status = queue::finish;
    [48] clEnqueueReadBuffer(
        queue: Handle<Queue>, buffer: Handle<Mem>, blocking: cl_bool, offset: usize, size: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::transfer::read_buffer;
    [49] clEnqueueWriteBuffer(
        queue: Handle<Queue>, buffer: Handle<Mem>, blocking: cl_bool, offset: usize, size: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::transfer::write_buffer;
    [50] clEnqueueCopyBuffer(
        queue: Handle<Queue>, src_buffer: Handle<Mem>, dst_buffer: Handle<Mem>, src_offset: usize, dst_offset: usize,
        size: usize,
    ) -> enqueue = enqueue::transfer::copy_buffer;
    [51] clEnqueueReadImage(
        queue: Handle<Queue>, image: Handle<Mem>, blocking: cl_bool, origin: Triple, region: Triple, row_pitch: usize,
        slice_pitch: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::image::read;
    [52] clEnqueueWriteImage(
        queue: Handle<Queue>, image: Handle<Mem>, blocking: cl_bool, origin: Triple, region: Triple, row_pitch: usize,
        slice_pitch: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::image::write;
    [53] clEnqueueCopyImage(
        queue: Handle<Queue>, src_image: Handle<Mem>, dst_image: Handle<Mem>, src_origin: Triple, dst_origin: Triple,
        region: Triple,
    ) -> enqueue = enqueue::image::copy;
    [54] clEnqueueCopyImageToBuffer(
        queue: Handle<Queue>, src_image: Handle<Mem>, dst_buffer: Handle<Mem>, src_origin: Triple, region: Triple,
        dst_offset: usize,
    ) -> enqueue = enqueue::image::copy_to_buffer;
    [55] clEnqueueCopyBufferToImage(
        queue: Handle<Queue>, src_buffer: Handle<Mem>, dst_image: Handle<Mem>, src_offset: usize, dst_origin: Triple,
        region: Triple,
    ) -> enqueue = enqueue::image::copy_from_buffer;
    [56] clEnqueueMapBuffer(
        queue: Handle<Queue>, buffer: Handle<Mem>, blocking: cl_bool, map_flags: cl_map_flags, offset: usize,
        size: usize,
    ) -> enqueue_object = enqueue::map::map_buffer;
    [57] clEnqueueMapImage(
        queue: Handle<Queue>, image: Handle<Mem>, blocking: cl_bool, map_flags: cl_map_flags, origin: Triple,
        region: Triple, row_pitch: Out<usize>, slice_pitch: Out<usize>,
    ) -> enqueue_object = enqueue::image::map;
    [58] clEnqueueUnmapMemObject(queue: Handle<Queue>, mem: Handle<Mem>, mapped_ptr: HostPtr)
        -> enqueue = enqueue::map::unmap;
    [59] clEnqueueNDRangeKernel(
        queue: Handle<Queue>, kernel: Handle<Kernel>, work_dim: cl_uint, global_work_offset: InArray<usize>,
        global_work_size: InArray<usize>, local_work_size: InArray<usize>,
    ) -> enqueue = enqueue::ndrange::enqueue;
    [60] clEnqueueTask(queue: Handle<Queue>, kernel: Handle<Kernel>) -> enqueue = enqueue::ndrange::enqueue_task;
    [61] clEnqueueNativeKernel(
        queue: Handle<Queue>, user_func: NativeFunction, args: InBytes, cb_args: usize, num_mem_objects: cl_uint,
        mem_list: InArray<Handle<Mem>>, args_mem_loc: InArray<*const c_void>,
    ) -> enqueue = enqueue::native::native_kernel;
    [62] clEnqueueMarker(queue: Handle<Queue>, event: Out<Handle<Event>>) -> status = enqueue::sync::marker;
    [63] clEnqueueWaitForEvents(queue: Handle<Queue>, num_events: cl_uint, event_list: InArray<Handle<Event>>)
        -> status = enqueue::sync::wait_for_events;
    [64] clEnqueueBarrier(queue: Handle<Queue>) -> status = enqueue::sync::barrier;
    [65] clGetExtensionFunctionAddress(function_name: Text) -> pointer = platform::function_address;

    // cl_khr_gl_sharing
    [66] clCreateFromGLBuffer(context: Handle<Context>, flags: cl_mem_flags, bufobj: cl_uint)
        -> object = gap::InvalidOperation;
    [67] clCreateFromGLTexture2D(
        context: Handle<Context>, flags: cl_mem_flags, target: cl_uint, miplevel: cl_int, texture: cl_uint,
    ) -> object = gap::InvalidOperation;
    [68] clCreateFromGLTexture3D(
        context: Handle<Context>, flags: cl_mem_flags, target: cl_uint, miplevel: cl_int, texture: cl_uint,
    ) -> object = gap::InvalidOperation;
    [69] clCreateFromGLRenderbuffer(context: Handle<Context>, flags: cl_mem_flags, renderbuffer: cl_uint)
        -> object = gap::InvalidOperation;
    [70] clGetGLObjectInfo(mem: Handle<Mem>, gl_object_type: Out<cl_uint>, gl_object_name: Out<cl_uint>)
        -> status = gap::InvalidOperation;
    [71] clGetGLTextureInfo(mem: Handle<Mem>, param_name: cl_uint) -> info = gap::InvalidOperation;
    [72] clEnqueueAcquireGLObjects(queue: Handle<Queue>, num_objects: cl_uint, mem_objects: InArray<Handle<Mem>>)
        -> enqueue = gap::InvalidOperation;
    [73] clEnqueueReleaseGLObjects(queue: Handle<Queue>, num_objects: cl_uint, mem_objects: InArray<Handle<Mem>>)
        -> enqueue = gap::InvalidOperation;
    [74] clGetGLContextInfoKHR(properties: Properties<cl_context_properties>, param_name: cl_uint)
        -> info = gap::InvalidOperation;

    // OpenCL 1.1
    [81] clSetEventCallback(
        event: Handle<Event>, command_exec_callback_type: cl_int, pfn_notify: StatusNotify<Event>, user_data: UserData,
    ) -> status = event::set_callback;
    [82] clCreateSubBuffer(
        buffer: Handle<Mem>, flags: cl_mem_flags, buffer_create_type: cl_buffer_create_type,
        buffer_create_info: InBytes,
    ) -> object = buffer::create_sub;
    [83] clSetMemObjectDestructorCallback(mem: Handle<Mem>, pfn_notify: ObjectNotify<Mem>, user_data: UserData)
        -> status = buffer::set_destructor_callback;
    [84] clCreateUserEvent(context: Handle<Context>) -> object = event::create_user;
    [85] clSetUserEventStatus(event: Handle<Event>, execution_status: cl_int) -> status = event::set_user_status;
    [86] clEnqueueReadBufferRect(
        queue: Handle<Queue>, buffer: Handle<Mem>, blocking: cl_bool, buffer_origin: Triple, host_origin: Triple,
        region: Triple, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize,
        host_slice_pitch: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::transfer::read_buffer_rect;
    [87] clEnqueueWriteBufferRect(
        queue: Handle<Queue>, buffer: Handle<Mem>, blocking: cl_bool, buffer_origin: Triple, host_origin: Triple,
        region: Triple, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize,
        host_slice_pitch: usize, ptr: HostPtr,
    ) -> enqueue = enqueue::transfer::write_buffer_rect;
    [88] clEnqueueCopyBufferRect(
        queue: Handle<Queue>, src_buffer: Handle<Mem>, dst_buffer: Handle<Mem>, src_origin: Triple, dst_origin: Triple,
        region: Triple, src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize,
    ) -> enqueue = enqueue::transfer::copy_buffer_rect;

    // cl_ext_device_fission: the functions of OpenCL 1.2 under their older names
    [89] clCreateSubDevicesEXT(
        device: Handle<Device>, properties: Properties<cl_ulong>, num_devices: cl_uint,
        out_devices: OutArray<Handle<Device>>, num_devices_ret: Out<cl_uint>,
    ) -> status = gap::InvalidOperation;
    [90] clRetainDeviceEXT(device: Handle<Device>) -> status = device::retain;
    [91] clReleaseDeviceEXT(device: Handle<Device>) -> status = device::release;

    // cl_khr_gl_event
    [92] clCreateEventFromGLsyncKHR(context: Handle<Context>, sync: *const c_void) -> object = gap::InvalidOperation;

    // OpenCL 1.2
    [93] clCreateSubDevices(
        device: Handle<Device>, properties: Properties<cl_device_partition_property>, num_devices: cl_uint,
        out_devices: OutArray<Handle<Device>>, num_devices_ret: Out<cl_uint>,
    ) -> status = partition::create_sub_devices;
    [94] clRetainDevice(device: Handle<Device>) -> status = device::retain;
    [95] clReleaseDevice(device: Handle<Device>) -> status = device::release;
    [96] clCreateImage(
        context: Handle<Context>, flags: cl_mem_flags, image_format: In<cl_image_format>, image_desc: In<ImageDesc<Mem>>,
        host_ptr: HostPtr,
    ) -> object = image::creation::create;
    [97] clCreateProgramWithBuiltInKernels(
        context: Handle<Context>, num_devices: cl_uint, device_list: InArray<Handle<Device>>, kernel_names: Text,
    ) -> object = program::create_with_built_in_kernels;
    [98] clCompileProgram(
        program: Handle<Program>, num_devices: cl_uint, device_list: InArray<Handle<Device>>, options: Text,
        num_input_headers: cl_uint, input_headers: InArray<Handle<Program>>, header_include_names: InArray<Text<'static>>,
        pfn_notify: ObjectNotify<Program>, user_data: UserData,
    ) -> status = program::build::compile;
    [99] clLinkProgram(
        context: Handle<Context>, num_devices: cl_uint, device_list: InArray<Handle<Device>>, options: Text,
        num_input_programs: cl_uint, input_programs: InArray<Handle<Program>>, pfn_notify: ObjectNotify<Program>, user_data: UserData,
    ) -> object = program::build::link;
    [100] clUnloadPlatformCompiler(platform: Handle<Platform>) -> status = platform::unload_platform_compiler;
    [101] clGetKernelArgInfo(kernel: Handle<Kernel>, arg_index: cl_uint, param_name: cl_kernel_arg_info)
        -> info = kernel::get_arg_info;
    [102] clEnqueueFillBuffer(
        queue: Handle<Queue>, buffer: Handle<Mem>, pattern: InBytes, pattern_size: usize, offset: usize, size: usize,
    ) -> enqueue = enqueue::fill::fill_buffer;
    [103] clEnqueueFillImage(
        queue: Handle<Queue>, image: Handle<Mem>, fill_color: InBytes, origin: Triple, region: Triple,
    ) -> enqueue = enqueue::image::fill;
    [104] clEnqueueMigrateMemObjects(
        queue: Handle<Queue>, num_mem_objects: cl_uint, mem_objects: InArray<Handle<Mem>>,
        flags: cl_mem_migration_flags,
    ) -> enqueue = enqueue::map::migrate;
    [105] clEnqueueMarkerWithWaitList(queue: Handle<Queue>) -> enqueue = enqueue::sync::marker_with_wait_list;
    [106] clEnqueueBarrierWithWaitList(queue: Handle<Queue>) -> enqueue = enqueue::sync::barrier_with_wait_list;
    [107] clGetExtensionFunctionAddressForPlatform(platform: Handle<Platform>, function_name: Text)
        -> pointer = platform::function_address_for_platform;

    // cl_khr_gl_sharing
    [108] clCreateFromGLTexture(
        context: Handle<Context>, flags: cl_mem_flags, target: cl_uint, miplevel: cl_int, texture: cl_uint,
    ) -> object = gap::InvalidOperation;

    // cl_khr_egl_image, cl_khr_egl_event
    [119] clCreateFromEGLImageKHR(
        context: Handle<Context>, display: *const c_void, image: *const c_void, flags: cl_mem_flags,
        properties: *const c_void,
    ) -> object = gap::InvalidOperation;
    [120] clEnqueueAcquireEGLObjectsKHR(queue: Handle<Queue>, num_objects: cl_uint, mem_objects: InArray<Handle<Mem>>)
        -> enqueue = gap::InvalidOperation;
    [121] clEnqueueReleaseEGLObjectsKHR(queue: Handle<Queue>, num_objects: cl_uint, mem_objects: InArray<Handle<Mem>>)
        -> enqueue = gap::InvalidOperation;
    [122] clCreateEventFromEGLSyncKHR(context: Handle<Context>, sync: *const c_void, display: *const c_void)
        -> object = gap::InvalidOperation;

    // OpenCL 2.0
    [123] clCreateCommandQueueWithProperties(
        context: Handle<Context>, device: Handle<Device>, properties: Properties<cl_queue_properties>,
    ) -> object = queue::create_with_properties;
    [124] clCreatePipe(
        context: Handle<Context>, flags: cl_mem_flags, pipe_packet_size: cl_uint, pipe_max_packets: cl_uint,
        properties: Properties<cl_pipe_properties>,
    ) -> object = pipe::create;
    [125] clGetPipeInfo(pipe: Handle<Mem>, param_name: cl_pipe_info) -> info = pipe::get_info;
    [126] clSVMAlloc(context: Handle<Context>, flags: cl_svm_mem_flags, size: usize, alignment: cl_uint)
        -> pointer = svm::alloc;
    [127] clSVMFree(context: Handle<Context>, svm_pointer: HostPtr) -> nothing = svm::free;
    [128] clEnqueueSVMFree(
        queue: Handle<Queue>, num_svm_pointers: cl_uint, svm_pointers: InArray<HostPtr>,
        pfn_free_func: FreeFunction<Queue>, user_data: UserData,
    ) -> enqueue = enqueue::pointer::svm_free;
    [129] clEnqueueSVMMemcpy(
        queue: Handle<Queue>, blocking: cl_bool, dst_ptr: HostPtr, src_ptr: HostPtr, size: usize,
    ) -> enqueue = enqueue::pointer::svm_copy;
    [130] clEnqueueSVMMemFill(
        queue: Handle<Queue>, svm_ptr: HostPtr, pattern: InBytes, pattern_size: usize, size: usize,
    ) -> enqueue = enqueue::pointer::svm_fill;
    [131] clEnqueueSVMMap(
        queue: Handle<Queue>, blocking: cl_bool, flags: cl_map_flags, svm_ptr: HostPtr, size: usize,
    ) -> enqueue = enqueue::pointer::svm_map;
    [132] clEnqueueSVMUnmap(queue: Handle<Queue>, svm_ptr: HostPtr) -> enqueue = enqueue::pointer::svm_unmap;
    [133] clCreateSamplerWithProperties(context: Handle<Context>, properties: Properties<cl_sampler_properties>)
        -> object = sampler::create_with_properties;
    [134] clSetKernelArgSVMPointer(kernel: Handle<Kernel>, arg_index: cl_uint, arg_value: HostPtr)
        -> status = kernel::set_arg_svm_pointer;
    [135] clSetKernelExecInfo(
        kernel: Handle<Kernel>, param_name: cl_kernel_exec_info, param_value_size: usize, param_value: InBytes,
    ) -> status = kernel::set_exec_info;

    // cl_khr_subgroups
    [136] clGetKernelSubGroupInfoKHR(
        kernel: Handle<Kernel>, device: Handle<Device>, param_name: cl_kernel_sub_group_info, input_value_size: usize,
        input_value: InBytes,
    ) -> info = kernel::get_sub_group_info;

    // OpenCL 2.1
    [137] clCloneKernel(kernel: Handle<Kernel>) -> object = kernel::clone;
    [138] clCreateProgramWithIL(context: Handle<Context>, il: InBytes, length: usize) -> object = program::create_with_il;
    [139] clEnqueueSVMMigrateMem(
        queue: Handle<Queue>, num_svm_pointers: cl_uint, svm_pointers: InArray<HostPtr>, sizes: InArray<usize>,
        flags: cl_mem_migration_flags,
    ) -> enqueue = enqueue::pointer::svm_migrate;
    [140] clGetDeviceAndHostTimer(
        device: Handle<Device>, device_timestamp: Out<cl_ulong>, host_timestamp: Out<cl_ulong>,
    ) -> status = device::device_and_host_timer;
    [141] clGetHostTimer(device: Handle<Device>, host_timestamp: Out<cl_ulong>) -> status = device::host_timer;
    [142] clGetKernelSubGroupInfo(
        kernel: Handle<Kernel>, device: Handle<Device>, param_name: cl_kernel_sub_group_info, input_value_size: usize,
        input_value: InBytes,
    ) -> info = kernel::get_sub_group_info;
    [143] clSetDefaultDeviceCommandQueue(context: Handle<Context>, device: Handle<Device>, queue: Handle<Queue>)
        -> status = queue::set_default_on_device;

    // OpenCL 2.2
    [144] clSetProgramReleaseCallback(program: Handle<Program>, pfn_notify: ObjectNotify<Program>, user_data: UserData)
        -> status = program::set_release_callback;
    [145] clSetProgramSpecializationConstant(
        program: Handle<Program>, spec_id: cl_uint, spec_size: usize, spec_value: InBytes,
    ) -> status = program::set_specialization_constant;

    // OpenCL 3.0
    [146] clCreateBufferWithProperties(
        context: Handle<Context>, properties: Properties<cl_mem_properties>, flags: cl_mem_flags, size: usize,
        host_ptr: HostPtr,
    ) -> object = buffer::create_with_properties;
    [147] clCreateImageWithProperties(
        context: Handle<Context>, properties: Properties<cl_mem_properties>, flags: cl_mem_flags,
        image_format: In<cl_image_format>, image_desc: In<ImageDesc<Mem>>, host_ptr: HostPtr,
    ) -> object = image::creation::create_with_properties;
    [148] clSetContextDestructorCallback(context: Handle<Context>, pfn_notify: ObjectNotify<Context>, user_data: UserData)
        -> status = context::set_destructor_callback;

    // OpenCL 3.1
    [149] clGetKernelSuggestedLocalWorkSize(
        queue: Handle<Queue>, kernel: Handle<Kernel>, work_dim: cl_uint, global_work_offset: InArray<usize>,
        global_work_size: InArray<usize>, suggested_local_work_size: OutArray<usize>,
    ) -> status = enqueue::ndrange::suggested_local_size;
}

by_name {
    // cl_khr_icd
    clIcdGetPlatformIDsKHR(num_entries: cl_uint, platforms: OutArray<Handle<Platform>>, num_platforms: Out<cl_uint>)
        -> status = platform::get_ids;
    clIcdGetFunctionAddressForPlatformKHR(platform: Handle<Platform>, function_name: Text)
        -> pointer = platform::function_address_for_platform;
    clIcdSetPlatformDispatchDataKHR(platform: Handle<Platform>, dispatch_data: LoaderData)
        -> status = platform::set_dispatch_data;

    // cl_khr_create_command_queue
    clCreateCommandQueueWithPropertiesKHR(
        context: Handle<Context>, device: Handle<Device>, properties: Properties<cl_queue_properties>,
    ) -> object = queue::create_with_properties;

    // cl_khr_il_program
    clCreateProgramWithILKHR(context: Handle<Context>, il: InBytes, length: usize) -> object = program::create_with_il;

    // cl_khr_suggested_local_work_size
    clGetKernelSuggestedLocalWorkSizeKHR(
        queue: Handle<Queue>, kernel: Handle<Kernel>, work_dim: cl_uint, global_work_offset: InArray<usize>,
        global_work_size: InArray<usize>, suggested_local_work_size: OutArray<usize>,
    ) -> status = enqueue::ndrange::suggested_local_size;

    // cl_ext_image_requirements_info
    clGetImageRequirementsInfoEXT(
        context: Handle<Context>, properties: Properties<cl_mem_properties>, flags: cl_mem_flags,
        image_format: In<cl_image_format>, image_desc: In<ImageDesc<Mem>>, param_name: cl_image_requirements_info_ext,
    ) -> info = image::requirements::get_info;

    // cl_ext_buffer_device_address
    clSetKernelArgDevicePointerEXT(kernel: Handle<Kernel>, arg_index: cl_uint, arg_value: cl_mem_device_address_ext)
        -> status = kernel::set_arg_device_pointer;

    // cl_khr_unified_svm
    clSVMAllocWithPropertiesKHR(
        context: Handle<Context>, properties: Properties<cl_svm_alloc_properties_khr>, svm_type_index: cl_uint, size: usize,
    ) -> object = unified_svm::alloc;
    clSVMFreeWithPropertiesKHR(
        context: Handle<Context>, properties: Properties<cl_svm_free_properties_khr>, flags: cl_svm_free_flags_khr,
        ptr: HostPtr,
    ) -> status = unified_svm::free;
    clGetSVMPointerInfoKHR(
        context: Handle<Context>, device: Handle<Device>, ptr: HostPtr, param_name: cl_svm_pointer_info_khr,
    ) -> info = unified_svm::get_info;
    clGetSVMSuggestedTypeIndexKHR(
        context: Handle<Context>, required_capabilities: cl_svm_capabilities_khr,
        desired_capabilities: cl_svm_capabilities_khr, properties: Properties<cl_svm_alloc_properties_khr>, size: usize,
        suggested_svm_type_index: Out<cl_uint>,
    ) -> status = unified_svm::suggested_type;

    // cl_intel_unified_shared_memory
    clHostMemAllocINTEL(
        context: Handle<Context>, properties: Properties<cl_mem_properties_intel>, size: usize, alignment: cl_uint,
    ) -> object = usm::host_alloc;
    clDeviceMemAllocINTEL(
        context: Handle<Context>, device: Handle<Device>, properties: Properties<cl_mem_properties_intel>, size: usize,
        alignment: cl_uint,
    ) -> object = usm::device_alloc;
    clSharedMemAllocINTEL(
        context: Handle<Context>, device: Handle<Device>, properties: Properties<cl_mem_properties_intel>, size: usize,
        alignment: cl_uint,
    ) -> object = usm::shared_alloc;
    clMemFreeINTEL(context: Handle<Context>, ptr: HostPtr) -> status = usm::free;
    clMemBlockingFreeINTEL(context: Handle<Context>, ptr: HostPtr) -> status = usm::blocking_free;
    clGetMemAllocInfoINTEL(context: Handle<Context>, ptr: HostPtr, param_name: cl_mem_info_intel) -> info = usm::get_info;
    clSetKernelArgMemPointerINTEL(kernel: Handle<Kernel>, arg_index: cl_uint, arg_value: HostPtr)
        -> status = kernel::set_arg_svm_pointer;
    clEnqueueMemsetINTEL(queue: Handle<Queue>, dst_ptr: HostPtr, value: cl_int, size: usize)
        -> enqueue = enqueue::pointer::usm_set;
    clEnqueueMemFillINTEL(
        queue: Handle<Queue>, dst_ptr: HostPtr, pattern: InBytes, pattern_size: usize, size: usize,
    ) -> enqueue = enqueue::pointer::usm_fill;
    clEnqueueMemcpyINTEL(queue: Handle<Queue>, blocking: cl_bool, dst_ptr: HostPtr, src_ptr: HostPtr, size: usize)
        -> enqueue = enqueue::pointer::usm_copy;
    clEnqueueMigrateMemINTEL(queue: Handle<Queue>, ptr: HostPtr, size: usize, flags: cl_mem_migration_flags)
        -> enqueue = enqueue::pointer::usm_migrate;
    clEnqueueMemAdviseINTEL(queue: Handle<Queue>, ptr: HostPtr, size: usize, advice: cl_mem_advice_intel)
        -> enqueue = enqueue::pointer::usm_advise;

    // cl_khr_external_memory
    clEnqueueAcquireExternalMemObjectsKHR(
        queue: Handle<Queue>, num_mem_objects: cl_uint, mem_objects: InArray<Handle<Mem>>,
    ) -> enqueue = external_memory::enqueue_acquire;
    clEnqueueReleaseExternalMemObjectsKHR(
        queue: Handle<Queue>, num_mem_objects: cl_uint, mem_objects: InArray<Handle<Mem>>,
    ) -> enqueue = external_memory::enqueue_release;

    // cl_khr_semaphore
    clCreateSemaphoreWithPropertiesKHR(context: Handle<Context>, sema_props: Properties<cl_semaphore_properties_khr>)
        -> object = semaphore::create;
    clEnqueueWaitSemaphoresKHR(
        queue: Handle<Queue>, num_sema_objects: cl_uint, sema_objects: InArray<Handle<Semaphore>>,
        sema_payload_list: InArray<cl_semaphore_payload_khr>,
    ) -> enqueue = semaphore::enqueue_wait;
    clEnqueueSignalSemaphoresKHR(
        queue: Handle<Queue>, num_sema_objects: cl_uint, sema_objects: InArray<Handle<Semaphore>>,
        sema_payload_list: InArray<cl_semaphore_payload_khr>,
    ) -> enqueue = semaphore::enqueue_signal;
    clGetSemaphoreInfoKHR(sema_object: Handle<Semaphore>, param_name: cl_semaphore_info_khr) -> info = semaphore::get_info;
    clGetSemaphoreHandleForTypeKHR(
        sema_object: Handle<Semaphore>, device: Handle<Device>, handle_type: cl_external_semaphore_handle_type_khr,
    ) -> info = semaphore::get_handle_for_type;
    clReImportSemaphoreSyncFdKHR(
        sema_object: Handle<Semaphore>, reimport_props: Properties<cl_semaphore_reimport_properties_khr>, fd: cl_int,
    ) -> status = semaphore::reimport_sync_fd;
    clReleaseSemaphoreKHR(sema_object: Handle<Semaphore>) -> status = release;
    clRetainSemaphoreKHR(sema_object: Handle<Semaphore>) -> status = retain;

    // cl_khr_terminate_context
    clTerminateContextKHR(context: Handle<Context>) -> status = context::terminate;

    // cl_khr_command_buffer
    clCreateCommandBufferKHR(
        num_queues: cl_uint, queues: InArray<Handle<Queue>>, properties: Properties<cl_command_buffer_properties_khr>,
    ) -> object = command_buffer::create;
    clFinalizeCommandBufferKHR(command_buffer: Handle<CommandBuffer>) -> status = command_buffer::finalize;
    clRetainCommandBufferKHR(command_buffer: Handle<CommandBuffer>) -> status = retain;
    clReleaseCommandBufferKHR(command_buffer: Handle<CommandBuffer>) -> status = release;
    clEnqueueCommandBufferKHR(
        num_queues: cl_uint, queues: InArray<Handle<Queue>>, command_buffer: Handle<CommandBuffer>,
    ) -> enqueue = command_buffer::enqueue;
    clCommandBarrierWithWaitListKHR() -> command = recording::barrier;
    clCommandCopyBufferKHR(
        src_buffer: Handle<Mem>, dst_buffer: Handle<Mem>, src_offset: usize, dst_offset: usize, size: usize,
    ) -> command = recording::copy_buffer;
    clCommandCopyBufferRectKHR(
        src_buffer: Handle<Mem>, dst_buffer: Handle<Mem>, src_origin: Triple, dst_origin: Triple, region: Triple,
        src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize,
    ) -> command = recording::copy_buffer_rect;
    clCommandCopyBufferToImageKHR(
        src_buffer: Handle<Mem>, dst_image: Handle<Mem>, src_offset: usize, dst_origin: Triple, region: Triple,
    ) -> command = recording::copy_buffer_to_image;
    clCommandCopyImageKHR(
        src_image: Handle<Mem>, dst_image: Handle<Mem>, src_origin: Triple, dst_origin: Triple, region: Triple,
    ) -> command = recording::copy_image;
    clCommandCopyImageToBufferKHR(
        src_image: Handle<Mem>, dst_buffer: Handle<Mem>, src_origin: Triple, region: Triple, dst_offset: usize,
    ) -> command = recording::copy_image_to_buffer;
    clCommandFillBufferKHR(
        buffer: Handle<Mem>, pattern: InBytes, pattern_size: usize, offset: usize, size: usize,
    ) -> command = recording::fill_buffer;
    clCommandFillImageKHR(
        image: Handle<Mem>, fill_color: InBytes, origin: Triple, region: Triple,
    ) -> command = recording::fill_image;
    clCommandNDRangeKernelKHR(
        kernel: Handle<Kernel>, work_dim: cl_uint, global_work_offset: InArray<usize>, global_work_size: InArray<usize>,
        local_work_size: InArray<usize>,
    ) -> command = recording::nd_range_kernel;
    clCommandSVMMemcpyKHR(
        dst_ptr: HostPtr, src_ptr: HostPtr, size: usize,
    ) -> command = recording::svm_copy;
    clCommandSVMMemFillKHR(
        svm_ptr: HostPtr, pattern: InBytes, pattern_size: usize, size: usize,
    ) -> command = recording::svm_fill;
    clRemapCommandBufferKHR(
        command_buffer: Handle<CommandBuffer>, automatic: cl_bool, num_queues: cl_uint, queues: InArray<Handle<Queue>>,
        num_handles: cl_uint, handles: InArray<Handle<MutableCommand>>, handles_ret: OutArray<Handle<MutableCommand>>,
    ) -> object = command_buffer::remap;
    clGetCommandBufferInfoKHR(command_buffer: Handle<CommandBuffer>, param_name: cl_command_buffer_info_khr)
        -> info = command_buffer::get_info;

    // cl_khr_command_buffer_mutable_dispatch
    clUpdateMutableCommandsKHR(
        command_buffer: Handle<CommandBuffer>, num_configs: cl_uint,
        config_types: InArray<cl_command_buffer_update_type_khr>,
        configs: InArray<In<'static, cl_mutable_dispatch_config_khr>>,
    ) -> status = mutable_dispatch::update;
    clGetMutableCommandInfoKHR(command: Handle<MutableCommand>, param_name: cl_mutable_command_info_khr)
        -> info = mutable_dispatch::get_info;
}
}
