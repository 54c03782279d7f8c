//! What loaders need (`cl_khr_icd`, versions 1 and 2).

use std::ffi::{CString, c_char, c_void};
use std::ptr::null_mut;

use clift::entries::export;
use clift::entries::list::ENTRIES;
use clift::ffi::dispatch::{ICD2_TAG, ICD2_TAG_SLOTS};

use super::cl::*;

type Lookup = extern "C" fn(cl_platform_id, *const c_char) -> *mut c_void;
type SetData = extern "C" fn(cl_platform_id, *mut c_void) -> cl_int;

/// A function as loaders find it: by the exported symbol.
fn found(name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: a string.
    let address = unsafe { export::clGetExtensionFunctionAddress(name.as_ptr()) };
    assert!(!address.is_null(), "{name:?}");
    address
}

#[test]
fn tags() {
    for index in ICD2_TAG_SLOTS {
        assert_eq!(slot(index).addr(), ICD2_TAG);
    }
    #[cfg(target_pointer_width = "64")]
    assert_eq!(ICD2_TAG.to_be_bytes(), *b"OPENCL31");
}

#[test]
fn every_name_is_found_for_the_platform() {
    let address = found(c"clIcdGetFunctionAddressForPlatformKHR");
    // SAFETY: the function of this name has this signature.
    let lookup: Lookup = unsafe { std::mem::transmute(address) };
    for entry in ENTRIES {
        let name = CString::new(entry.name).unwrap();
        assert_eq!(lookup(platform(), name.as_ptr()).cast_const(), entry.address.0, "{name:?}");
        assert_eq!(found(&name).cast_const(), entry.address.0);
        assert!(lookup(null_mut(), name.as_ptr()).is_null());
    }
    for absent in [c"clGetDeviceIDsFromD3D10KHR", c"clEnqueueAcquireDX9MediaSurfacesKHR", c"", c"clIcd"] {
        assert!(lookup(platform(), absent.as_ptr()).is_null());
    }
}

#[test]
fn exported_symbols() {
    let mut size = 0;
    // SAFETY: room for the size.
    let status = unsafe { export::clGetPlatformInfo(platform(), CL_PLATFORM_EXTENSIONS, 0, null_mut(), &mut size) };
    assert!(status == CL_SUCCESS && size > 1);
    // SAFETY: NULL is refused.
    assert!(unsafe { export::clGetExtensionFunctionAddress(std::ptr::null()) }.is_null());
}

/// The loader's word in an object.
fn data(object: *mut c_void) -> *mut c_void {
    // SAFETY: objects begin with the table's address and the loader's word.
    unsafe { *object.cast::<*mut c_void>().add(1) }
}

#[test]
fn dispatch_data_reaches_every_object() {
    let address = found(c"clIcdSetPlatformDispatchDataKHR");
    // SAFETY: the function of this name has this signature.
    let set: SetData = unsafe { std::mem::transmute(address) };
    let word: *mut c_void = std::ptr::without_provenance_mut(0x1357_9bd0);
    assert_eq!(set(null_mut(), word), CL_INVALID_PLATFORM);
    assert_eq!(set(device(), word), CL_INVALID_PLATFORM);
    assert_eq!(set(platform(), word), CL_SUCCESS);
    let setup = Setup::new();
    let (buffer, user) = (setup.buffer(0, 16), setup.user_event());
    let mut event = null_mut();
    assert_eq!(clEnqueueMarkerWithWaitList(setup.queue, 0, NONE, &mut event), CL_SUCCESS);
    for object in [platform(), device(), setup.context, setup.queue, buffer, user, event] {
        assert_eq!(data(object), word);
        // SAFETY: objects begin with the table's address.
        let table = unsafe { *object.cast::<*const [*const c_void; 150]>() };
        // SAFETY: a table of 150 slots.
        assert_eq!(unsafe { (*table)[14] }, slot(14));
    }
    assert_eq!(set(platform(), null_mut()), CL_SUCCESS);
    assert!(data(platform()).is_null() && data(device()).is_null());
    for event in [event, user] {
        assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    }
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
}
