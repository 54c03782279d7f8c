//! Platform: enumeration and queries. Also the lookup of functions by name and the loader's private interface (`cl_khr_icd`).

use clift_include::cl::*;
use clift_runtime::clock;

use crate::caps;
use crate::config;
use crate::error::ClError::InvalidValue;
use crate::error::{ClResult, ensure};
use crate::ffi::dispatch::{self, Address};
use crate::ffi::handle::{Handle, LoaderData, set_platform_dispatch_data};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Out, OutArray, Text};
use crate::object::platform::Platform;
use crate::object::{device, fork, platform};

/// `clGetPlatformIDs`, `clIcdGetPlatformIDsKHR`: the first call of every application.
pub fn get_ids(num_entries: cl_uint, platforms: OutArray<Handle<Platform>>, num: Out<cl_uint>) -> ClResult<()> {
    config::start();
    fork::register();

    // CL_INVALID_VALUE if num_entries is equal to zero and platforms is not NULL
    ensure(platforms.is_null() || num_entries != 0, InvalidValue)?;
    // CL_INVALID_VALUE if both num_platforms and platforms are NULL
    ensure(!(num.is_null() && platforms.is_null()), InvalidValue)?;

    platforms.fill(num_entries as usize, [platform::get().handle()]);
    num.set(1);
    Ok(())
}

/// `clGetPlatformInfo`
pub fn get_info(platform: Handle<Platform>, name: cl_platform_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_PLATFORM if platform is not a valid platform
    platform.get()?;

    match name {
        CL_PLATFORM_PROFILE => info.string(caps::PROFILE),
        CL_PLATFORM_VERSION => info.string(caps::version_string()),
        CL_PLATFORM_NUMERIC_VERSION => info.value(caps::version(caps::OPENCL_VERSION.0, caps::OPENCL_VERSION.1, 0)),
        CL_PLATFORM_NAME => info.string(caps::NAME),
        CL_PLATFORM_VENDOR => info.string(caps::VENDOR),
        CL_PLATFORM_EXTENSIONS => {
            let names: Vec<&str> = caps::EXTENSIONS.iter().map(|extension| extension.name).collect();
            info.string(names.join(" "))
        }
        CL_PLATFORM_EXTENSIONS_WITH_VERSION => {
            let list: Vec<_> = caps::EXTENSIONS.iter().map(|e| caps::name_version(e.name, e.version)).collect();
            info.slice(&list)
        }
        // Both timers are the monotonic clock in nanoseconds.
        CL_PLATFORM_HOST_TIMER_RESOLUTION => info.value(clock::RESOLUTION_NS),
        // The platform has one device.
        CL_PLATFORM_SVM_TYPE_CAPABILITIES_KHR => info.slice(caps::SVM_TYPES),
        CL_PLATFORM_COMMAND_BUFFER_CAPABILITIES_KHR => info.value(caps::PLATFORM_COMMAND_BUFFER_CAPABILITIES),
        CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR => info.slice(caps::EXTERNAL_MEMORY_TYPES),
        CL_PLATFORM_SEMAPHORE_TYPES_KHR => info.slice(caps::SEMAPHORE_TYPES),
        CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR => info.slice(caps::SEMAPHORE_IMPORT_TYPES),
        CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR => info.slice(caps::SEMAPHORE_EXPORT_TYPES),
        CL_PLATFORM_ICD_SUFFIX_KHR => info.string(caps::ICD_SUFFIX),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clUnloadCompiler` (deprecated in 1.2): a hint.
pub fn unload_compiler() -> ClResult<()> {
    Ok(())
}

/// `clUnloadPlatformCompiler`: a hint.
pub fn unload_platform_compiler(platform: Handle<Platform>) -> ClResult<()> {
    // CL_INVALID_PLATFORM if platform is not a valid platform
    platform.get()?;
    Ok(())
}

/// `clGetExtensionFunctionAddress` (deprecated in 1.2): NULL for a name that is not there.
pub fn function_address(name: Text<'_>) -> ClResult<Address> {
    // CL_INVALID_VALUE if func_name is NULL (reported as NULL: there is no error code)
    let name = name.bytes().ok_or(InvalidValue)?;
    Ok(dispatch::lookup(name).unwrap_or(Address::NULL))
}

/// `clGetExtensionFunctionAddressForPlatform`, `clIcdGetFunctionAddressForPlatformKHR`
pub fn function_address_for_platform(platform: Handle<Platform>, name: Text<'_>) -> ClResult<Address> {
    // CL_INVALID_PLATFORM if platform is not a valid platform (reported as NULL)
    platform.get()?;
    function_address(name)
}

/// `clIcdSetPlatformDispatchDataKHR`: the loader wants to find `data` in every object made from now on, and in the platform
/// and its devices, which exist already.
pub fn set_dispatch_data(platform: Handle<Platform>, data: LoaderData) -> ClResult<()> {
    // CL_INVALID_PLATFORM if platform is not a valid platform
    let platform = platform.get()?;

    set_platform_dispatch_data(data);
    platform.set_dispatch_data(data);
    device::root().set_dispatch_data(data);
    Ok(())
}
