//! The C functions, looked up in the loader that the session has loaded: building the tests needs no OpenCL library.
#![allow(non_upper_case_globals, reason = "the functions are named as in C")]

use std::ffi::{CStr, c_void};
use std::sync::LazyLock;

use opencl_sys::cl_function_types::*;
use opencl_sys::*;

/// The function in one of `opencl_sys`'s optional function types.
pub(crate) trait Pointer {
    /// The type of the function.
    type Function;
}

impl<F> Pointer for Option<F> {
    type Function = F;
}

/// Finds a function in the loader.
///
/// # Panics
/// When there is no loader, or it does not have the function.
fn find(name: &CStr) -> *mut c_void {
    // The session decides which driver the loader sees, before the loader is loaded.
    clift_tests::session::session();
    // SAFETY: C strings; the library is never closed.
    let address = unsafe {
        let library = libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "no libOpenCL.so.1");
        libc::dlsym(library, name.as_ptr())
    };
    assert!(!address.is_null(), "the loader has no {}", name.to_string_lossy());
    address
}

/// Finds a function of an extension: the loader asks the driver.
///
/// # Panics
/// When the driver does not have it.
fn find_extension(name: &CStr) -> *mut c_void {
    let platform = clift_tests::session::session().platform();
    // SAFETY: a valid platform and a C string.
    let address = unsafe { clGetExtensionFunctionAddressForPlatform(platform, name.as_ptr()) };
    assert!(!address.is_null(), "the driver has no {}", name.to_string_lossy());
    address
}

macro_rules! functions {
    ($find:ident: $($name:ident: $ty:path;)*) => {
        $(
            /// The C function of this name.
            pub(crate) static $name: LazyLock<<$ty as Pointer>::Function> = LazyLock::new(|| {
                let Ok(name) = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) else {
                    unreachable!("the name ends with its only NUL")
                };
                // SAFETY: the function of this name has this type.
                unsafe { std::mem::transmute::<*mut c_void, <$ty as Pointer>::Function>($find(name)) }
            });
        )*
    };
}

functions! {
    find_extension:
    clCommandNDRangeKernelKHR: clCommandNDRangeKernelKHR_t;
    clCreateCommandBufferKHR: clCreateCommandBufferKHR_t;
    clEnqueueCommandBufferKHR: clEnqueueCommandBufferKHR_t;
    clFinalizeCommandBufferKHR: clFinalizeCommandBufferKHR_t;
    clGetMutableCommandInfoKHR: clGetMutableCommandInfoKHR_t;
    clGetSVMPointerInfoKHR: clGetSVMPointerInfoKHR_t;
    clGetSVMSuggestedTypeIndexKHR: clGetSVMSuggestedTypeIndexKHR_t;
    clReleaseCommandBufferKHR: clReleaseCommandBufferKHR_t;
    clRemapCommandBufferKHR: clRemapCommandBufferKHR_t;
    clSVMAllocWithPropertiesKHR: clSVMAllocWithPropertiesKHR_t;
    clSVMFreeWithPropertiesKHR: clSVMFreeWithPropertiesKHR_t;
    clUpdateMutableCommandsKHR: clUpdateMutableCommandsKHR_t;
}

functions! {
    find:
    clBuildProgram: clBuildProgram_t;
    clCloneKernel: clCloneKernel_t;
    clCompileProgram: clCompileProgram_t;
    clCreateBuffer: clCreateBuffer_t;
    clCreateBufferWithProperties: clCreateBufferWithProperties_t;
    clCreateCommandQueueWithProperties: clCreateCommandQueueWithProperties_t;
    clCreateImage: clCreateImage_t;
    clCreateSampler: clCreateSampler_t;
    clCreateContext: clCreateContext_t;
    clCreateKernel: clCreateKernel_t;
    clCreateKernelsInProgram: clCreateKernelsInProgram_t;
    clCreateProgramWithBinary: clCreateProgramWithBinary_t;
    clCreateProgramWithBuiltInKernels: clCreateProgramWithBuiltInKernels_t;
    clCreateProgramWithIL: clCreateProgramWithIL_t;
    clCreateProgramWithSource: clCreateProgramWithSource_t;
    clCreateUserEvent: clCreateUserEvent_t;
    clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_t;
    clEnqueueReadBuffer: clEnqueueReadBuffer_t;
    clEnqueueTask: clEnqueueTask_t;
    clFinish: clFinish_t;
    clGetDeviceInfo: clGetDeviceInfo_t;
    clGetEventInfo: clGetEventInfo_t;
    clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform_t;
    clGetKernelArgInfo: clGetKernelArgInfo_t;
    clGetKernelInfo: clGetKernelInfo_t;
    clGetKernelSubGroupInfo: clGetKernelSubGroupInfo_t;
    clGetKernelWorkGroupInfo: clGetKernelWorkGroupInfo_t;
    clGetMemObjectInfo: clGetMemObjectInfo_t;
    clGetProgramBuildInfo: clGetProgramBuildInfo_t;
    clGetProgramInfo: clGetProgramInfo_t;
    clLinkProgram: clLinkProgram_t;
    clReleaseEvent: clReleaseEvent_t;
    clReleaseKernel: clReleaseKernel_t;
    clReleaseMemObject: clReleaseMemObject_t;
    clReleaseProgram: clReleaseProgram_t;
    clRetainKernel: clRetainKernel_t;
    clRetainProgram: clRetainProgram_t;
    clSetKernelArg: clSetKernelArg_t;
    clSetKernelArgSVMPointer: clSetKernelArgSVMPointer_t;
    clSetKernelExecInfo: clSetKernelExecInfo_t;
    clSetMemObjectDestructorCallback: clSetMemObjectDestructorCallback_t;
    clSetProgramReleaseCallback: clSetProgramReleaseCallback_t;
    clSetProgramSpecializationConstant: clSetProgramSpecializationConstant_t;
    clSetUserEventStatus: clSetUserEventStatus_t;
    clUnloadPlatformCompiler: clUnloadPlatformCompiler_t;
    clWaitForEvents: clWaitForEvents_t;
}
