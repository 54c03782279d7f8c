//! Short forms of calls that most tests need. They fail the test when a call fails that has to succeed.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

use clift_tests::session::{error_name, session};
use opencl_sys::*;

use crate::functions::*;

/// The context of all tests that need only one.
pub(crate) fn context() -> cl_context {
    session().context.get()
}

/// Its device.
pub(crate) fn device() -> cl_device_id {
    session().device_id()
}

/// A context of its own.
pub(crate) fn other_context() -> cl_context {
    let mut error = 1;
    // SAFETY: the device is valid, there are no properties and no callback.
    let context = unsafe { clCreateContext(null(), 1, &device(), None, null_mut(), &mut error) };
    assert_code(error, CL_SUCCESS);
    context
}

/// Compares error codes and names them when they differ.
#[track_caller]
pub(crate) fn assert_code(got: cl_int, wanted: cl_int) {
    assert!(got == wanted, "got {}, wanted {}", error_name(got), error_name(wanted));
}

/// A C string.
pub(crate) fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL inside")
}

/// A program from source.
pub(crate) fn program(source: &str) -> cl_program {
    program_in(context(), source)
}

/// A program from source in a context.
pub(crate) fn program_in(context: cl_context, source: &str) -> cl_program {
    let mut text: *const c_char = source.as_ptr().cast();
    let mut error = 1;
    // SAFETY: one string with its length.
    let program = unsafe { clCreateProgramWithSource(context, 1, &mut text, &source.len(), &mut error) };
    assert_code(error, CL_SUCCESS);
    program
}

/// Builds; gives the error code.
pub(crate) fn try_build(program: cl_program, options: &str) -> cl_int {
    // SAFETY: a valid program, a C string, no callback.
    unsafe { clBuildProgram(program, 0, null(), c(options).as_ptr(), None, null_mut()) }
}

/// Builds a program that has to build.
#[track_caller]
pub(crate) fn build(program: cl_program, options: &str) -> cl_program {
    let code = try_build(program, options);
    assert!(code == CL_SUCCESS, "{}: {}", error_name(code), log(program));
    program
}

/// Compiles without headers; gives the error code.
pub(crate) fn try_compile(program: cl_program, options: &str) -> cl_int {
    let options = c(options);
    // SAFETY: a valid program, a C string, no headers, no callback.
    unsafe { clCompileProgram(program, 0, null(), options.as_ptr(), 0, null(), null_mut(), None, null_mut()) }
}

/// A compiled object.
#[track_caller]
pub(crate) fn compiled(source: &str) -> cl_program {
    let program = program(source);
    let code = try_compile(program, "");
    assert!(code == CL_SUCCESS, "{}: {}", error_name(code), log(program));
    program
}

/// Links; gives the program and the error code.
pub(crate) fn try_link(programs: &[cl_program], options: &str) -> (cl_program, cl_int) {
    let options = c(options);
    let (count, list) = (programs.len() as cl_uint, programs.as_ptr());
    let mut error = 1;
    // SAFETY: a list with its length, a C string, no callback.
    let program =
        unsafe { clLinkProgram(context(), 0, null(), options.as_ptr(), count, list, None, null_mut(), &mut error) };
    (program, error)
}

/// The build log.
pub(crate) fn log(program: cl_program) -> String {
    text(&build_info(program, CL_PROGRAM_BUILD_LOG).expect("the build log"))
}

/// A C string out of the bytes of an answer.
#[track_caller]
pub(crate) fn text(bytes: &[u8]) -> String {
    let (last, text) = bytes.split_last().expect("a string has at least its NUL");
    assert_eq!(*last, 0);
    String::from_utf8_lossy(text).into_owned()
}

/// A number out of the bytes of an answer.
#[track_caller]
pub(crate) fn number<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> T {
    bytemuck::try_pod_read_unaligned(bytes).expect("an answer of the right size")
}

/// Makes a query twice, as applications do: for the size, then for the value. Checks the rules common to all queries.
pub(crate) fn asked(query: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Result<Vec<u8>, cl_int> {
    let mut size = usize::MAX;
    let code = query(0, null_mut(), &mut size);
    if code != CL_SUCCESS {
        return Err(code);
    }
    let mut bytes = vec![0xEE_u8; size];
    let mut again = usize::MAX;
    assert_code(query(size, bytes.as_mut_ptr().cast(), &mut again), CL_SUCCESS);
    assert_eq!(again, size);
    if size > 0 {
        let mut short = vec![0xEE_u8; size];
        assert_code(query(size - 1, short.as_mut_ptr().cast(), null_mut()), CL_INVALID_VALUE);
        assert!(short.iter().all(|byte| *byte == 0xEE), "a refused query wrote something");
    }
    Ok(bytes)
}

/// `clGetProgramInfo`
pub(crate) fn program_info(program: cl_program, name: cl_program_info) -> Result<Vec<u8>, cl_int> {
    // SAFETY: `asked` passes buffers of the stated size.
    asked(|size, value, size_ret| unsafe { clGetProgramInfo(program, name, size, value, size_ret) })
}

/// `clGetProgramBuildInfo`
pub(crate) fn build_info(program: cl_program, name: cl_program_build_info) -> Result<Vec<u8>, cl_int> {
    // SAFETY: as in `program_info`.
    asked(|size, value, size_ret| unsafe { clGetProgramBuildInfo(program, device(), name, size, value, size_ret) })
}

/// `clGetKernelInfo`
pub(crate) fn kernel_info(kernel: cl_kernel, name: cl_kernel_info) -> Result<Vec<u8>, cl_int> {
    // SAFETY: as in `program_info`.
    asked(|size, value, size_ret| unsafe { clGetKernelInfo(kernel, name, size, value, size_ret) })
}

/// `clGetKernelArgInfo`
pub(crate) fn arg_info(kernel: cl_kernel, index: cl_uint, name: cl_kernel_arg_info) -> Result<Vec<u8>, cl_int> {
    // SAFETY: as in `program_info`.
    asked(|size, value, size_ret| unsafe { clGetKernelArgInfo(kernel, index, name, size, value, size_ret) })
}

/// `clGetKernelWorkGroupInfo`
pub(crate) fn work_group_info(kernel: cl_kernel, name: cl_kernel_work_group_info) -> Result<Vec<u8>, cl_int> {
    // SAFETY: as in `program_info`.
    asked(|size, value, size_ret| unsafe { clGetKernelWorkGroupInfo(kernel, device(), name, size, value, size_ret) })
}

/// A kernel; gives the error code when it cannot be made.
pub(crate) fn try_kernel(program: cl_program, name: &str) -> Result<cl_kernel, cl_int> {
    let mut error = 1;
    // SAFETY: a C string.
    let kernel = unsafe { clCreateKernel(program, c(name).as_ptr(), &mut error) };
    if error == CL_SUCCESS { Ok(kernel) } else { Err(error) }
}

/// The kernel `k` of a source that has to build.
#[track_caller]
pub(crate) fn kernel(source: &str) -> cl_kernel {
    kernel_with(source, "")
}

/// The kernel `k` of a source that has to build with these options.
#[track_caller]
pub(crate) fn kernel_with(source: &str, options: &str) -> cl_kernel {
    try_kernel(build(program(source), options), "k").expect("the kernel k")
}

/// Sets an argument to plain data.
pub(crate) fn set_arg<T: bytemuck::NoUninit>(kernel: cl_kernel, index: cl_uint, value: T) -> cl_int {
    set_arg_raw(kernel, index, size_of::<T>(), std::ptr::from_ref(&value).cast())
}

/// Sets an argument to a memory object.
pub(crate) fn set_mem(kernel: cl_kernel, index: cl_uint, mem: cl_mem) -> cl_int {
    set_arg_raw(kernel, index, size_of::<cl_mem>(), std::ptr::from_ref(&mem).cast())
}

/// `clSetKernelArg`
pub(crate) fn set_arg_raw(kernel: cl_kernel, index: cl_uint, size: usize, value: *const c_void) -> cl_int {
    // SAFETY: callers pass values of the stated size, or NULL.
    unsafe { clSetKernelArg(kernel, index, size, value) }
}

/// A buffer of zeros.
pub(crate) fn buffer(size: usize) -> cl_mem {
    let mut zeros = vec![0_u8; size];
    let mut error = 1;
    // SAFETY: the host memory is as long as stated and only read during the call.
    let mem = unsafe {
        clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, zeros.as_mut_ptr().cast(), &mut error)
    };
    assert_code(error, CL_SUCCESS);
    mem
}

/// An in-order queue of the common context.
pub(crate) fn queue() -> cl_command_queue {
    queue_in(context())
}

/// An in-order queue.
pub(crate) fn queue_in(context: cl_context) -> cl_command_queue {
    let mut error = 1;
    // SAFETY: the device is of the context; no properties.
    let queue = unsafe { clCreateCommandQueueWithProperties(context, device(), null(), &mut error) };
    assert_code(error, CL_SUCCESS);
    queue
}

/// Reads a buffer of integers.
pub(crate) fn read(queue: cl_command_queue, mem: cl_mem, count: usize) -> Vec<u32> {
    let mut values = vec![0_u32; count];
    // SAFETY: a blocking read into memory of the stated size.
    let code = unsafe {
        clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, count * 4, values.as_mut_ptr().cast(), 0, null(), null_mut())
    };
    assert_code(code, CL_SUCCESS);
    values
}

/// An invalid handle.
pub(crate) fn garbage<T>() -> *mut T {
    // The loader dereferences a handle's first word, so this one points to the dispatch table of a real object.
    let real = context();
    // SAFETY: a context's first word is its dispatch table's address.
    let dispatch = unsafe { *real.cast::<usize>() };
    let fake = Box::leak(Box::new([dispatch, 0, 0, 0, 0, 0, 0, 0]));
    fake.as_mut_ptr().cast()
}
