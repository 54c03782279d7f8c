//! `clGetPlatformIDs`, `clGetPlatformInfo` and the lookup of functions.

use std::ptr::null_mut;

use super::cl::*;

#[test]
fn ids() {
    let name = c"clIcdGetPlatformIDsKHR";
    let address = clGetExtensionFunctionAddress(name.as_ptr());
    // SAFETY: the function of this name has this signature.
    let get: extern "C" fn(cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int =
        unsafe { std::mem::transmute(address) };
    let (mut found, mut count) = (null_mut(), 9);
    assert_eq!(get(0, null_mut(), &mut count), CL_SUCCESS);
    assert_eq!(count, 1);
    assert_eq!(get(5, &mut found, &mut count), CL_SUCCESS);
    assert_eq!((found, count), (platform(), 1));
    assert_eq!(get(0, &mut found, &mut count), CL_INVALID_VALUE);
    assert_eq!(get(1, null_mut(), null_mut()), CL_INVALID_VALUE);
}

#[test]
fn queries() {
    let p = platform();
    let text = |name| info_text(|s, v, r| clGetPlatformInfo(p, name, s, v, r));
    assert_eq!(text(CL_PLATFORM_PROFILE), "FULL_PROFILE");
    let (major, minor) = clift::caps::OPENCL_VERSION;
    assert!(text(CL_PLATFORM_VERSION).starts_with(&format!("OpenCL {major}.{minor} ")));
    for name in [CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_ICD_SUFFIX_KHR] {
        assert!(!text(name).is_empty());
    }
    let version: cl_uint = info(|s, v, r| clGetPlatformInfo(p, CL_PLATFORM_NUMERIC_VERSION, s, v, r));
    assert_eq!(version >> 12, major << 10 | minor, "agrees with the string");
    let resolution: cl_ulong = info(|s, v, r| clGetPlatformInfo(p, CL_PLATFORM_HOST_TIMER_RESOLUTION, s, v, r));
    assert_ne!(resolution, 0, "zero would say that there are no timers");
    let extensions = text(CL_PLATFORM_EXTENSIONS);
    assert!(extensions.split(' ').any(|name| name == "cl_khr_icd"));
    let list = info_bytes(&|s, v, r| clGetPlatformInfo(p, CL_PLATFORM_EXTENSIONS_WITH_VERSION, s, v, r));
    assert_eq!(list.len(), extensions.split(' ').count() * size_of::<cl_name_version>());
    assert_eq!(clGetPlatformInfo(p, 0xdead, 0, null_mut(), null_mut()), CL_INVALID_VALUE);
}

#[test]
fn function_addresses() {
    let p = platform();
    for name in [c"clCreateProgramWithILKHR", c"clGetKernelSuggestedLocalWorkSizeKHR", c"clCreateBuffer"] {
        assert!(!clGetExtensionFunctionAddressForPlatform(p, name.as_ptr()).is_null());
        assert!(!clGetExtensionFunctionAddress(name.as_ptr()).is_null());
    }
    assert_eq!(clGetExtensionFunctionAddressForPlatform(p, c"clCreateBuffer".as_ptr()).cast_const(), slot(14));
    for name in [c"clNoSuchFunction", c"", c"clCreateBuffe"] {
        assert!(clGetExtensionFunctionAddressForPlatform(p, name.as_ptr()).is_null());
    }
    assert!(clGetExtensionFunctionAddressForPlatform(p, std::ptr::null()).is_null());
    assert!(clGetExtensionFunctionAddressForPlatform(null_mut(), c"clCreateBuffer".as_ptr()).is_null());
    assert_eq!(clUnloadPlatformCompiler(p), CL_SUCCESS);
    assert_eq!(clUnloadPlatformCompiler(null_mut()), CL_INVALID_PLATFORM);
}
