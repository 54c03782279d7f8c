//! Types of shared virtual memory (`cl_khr_unified_svm`): allocation by index, queries, suggestions, freeing.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

const DEVICE: cl_bitfield = CL_SVM_ALLOC_ASSOCIATED_DEVICE_HANDLE_KHR;
const ACCESS: cl_bitfield = CL_SVM_ALLOC_ACCESS_FLAGS_KHR;
const ALIGNMENT: cl_bitfield = CL_SVM_ALLOC_ALIGNMENT_KHR;

/// The capabilities of the device's types.
fn types() -> Vec<cl_bitfield> {
    let ask = |s, v, r| clGetDeviceInfo(device(), CL_DEVICE_SVM_TYPE_CAPABILITIES_KHR, s, v, r);
    let bytes = info_bytes(&ask);
    bytes.chunks_exact(8).map(|bytes| cl_bitfield::from_ne_bytes(bytes.try_into().expect("eight"))).collect()
}

fn device_word() -> cl_bitfield {
    device().expose_provenance() as cl_bitfield
}

#[test]
fn the_common_types_are_there() {
    let platform = info::<cl_platform_id>(|s, v, r| clGetDeviceInfo(device(), CL_DEVICE_PLATFORM, s, v, r));
    let ask = |s, v, r| clGetPlatformInfo(platform, CL_PLATFORM_SVM_TYPE_CAPABILITIES_KHR, s, v, r);
    let types = types();
    assert_eq!(info_bytes(&ask), types.iter().flat_map(|caps| caps.to_ne_bytes()).collect::<Vec<u8>>());
    for wanted in [
        CL_SVM_TYPE_MACRO_COARSE_GRAIN_BUFFER_KHR,
        CL_SVM_TYPE_MACRO_FINE_GRAIN_BUFFER_KHR,
        CL_SVM_TYPE_MACRO_DEVICE_KHR,
        CL_SVM_TYPE_MACRO_HOST_KHR,
        CL_SVM_TYPE_MACRO_SINGLE_DEVICE_SHARED_KHR,
        CL_SVM_TYPE_MACRO_SYSTEM_KHR,
    ] {
        assert!(types.iter().any(|caps| caps & wanted == wanted), "{wanted:#x}");
    }
    for caps in types {
        let has = |capability| caps & capability != 0;
        assert!(!has(CL_SVM_CAPABILITY_DEVICE_OWNED_KHR) || !has(CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR));
        assert!(!has(CL_SVM_CAPABILITY_HOST_OWNED_KHR) || has(CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR));
    }
}

#[test]
fn alloc_and_ask() {
    let setup = Setup::new();
    let c = setup.context;
    for (index, caps) in types().into_iter().enumerate() {
        let unassociated = caps & CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR != 0;
        let mut lists = vec![
            vec![DEVICE, device_word(), 0],
            vec![DEVICE, device_word(), ACCESS, 0x301, ALIGNMENT, 128, 0],
            vec![ALIGNMENT, 4096, DEVICE, device_word(), ACCESS, 0, 0],
        ];
        if unassociated {
            lists.extend([vec![], vec![0], vec![DEVICE, 0, 0], vec![ALIGNMENT, 0, 0]]);
        }
        for list in lists {
            let given = if list.is_empty() { null() } else { list.as_ptr() };
            let pointer = made(|e| clSVMAllocWithPropertiesKHR(c, given, index as cl_uint, 100, e));
            let value = |name| list.chunks_exact(2).find(|pair| pair[0] == name).map_or(0, |pair| pair[1]);
            assert!(pointer.addr().is_multiple_of(value(ALIGNMENT).max(1) as usize));
            // SAFETY: memory of 100 bytes, which the host may write.
            unsafe { pointer.cast::<u8>().write_bytes(7, 100) };
            for (inside, of) in [(0, device()), (99, device()), (0, null_mut())] {
                let inside = pointer.wrapping_byte_add(inside);
                let ask = |name| move |s, v, r| clGetSVMPointerInfoKHR(c, of, inside, name, s, v, r);
                assert_eq!(info::<cl_uint>(ask(CL_SVM_INFO_TYPE_INDEX_KHR)), index as cl_uint);
                assert_eq!(info::<cl_bitfield>(ask(CL_SVM_INFO_CAPABILITIES_KHR)), caps);
                assert_eq!(info::<cl_bitfield>(ask(CL_SVM_INFO_ACCESS_FLAGS_KHR)), value(ACCESS));
                assert_eq!(info::<*mut c_void>(ask(CL_SVM_INFO_BASE_PTR_KHR)), pointer);
                assert_eq!(info::<usize>(ask(CL_SVM_INFO_SIZE_KHR)), 100);
                let associated = info::<cl_device_id>(ask(CL_SVM_INFO_ASSOCIATED_DEVICE_HANDLE_KHR));
                assert_eq!(associated.addr() as cl_bitfield, value(DEVICE));
                let properties = info_bytes(&ask(CL_SVM_INFO_PROPERTIES_KHR));
                assert_eq!(properties, list.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>());
                assert_eq!(ask(CL_MEM_SIZE)(0, null_mut(), null_mut()), CL_INVALID_VALUE);
            }
            assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 0, pointer), CL_SUCCESS);
            assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 0, pointer), CL_INVALID_VALUE);
        }
        // A size of 0 gives NULL without an error.
        let list = [DEVICE, device_word(), 0];
        let mut error = 1;
        assert!(clSVMAllocWithPropertiesKHR(c, list.as_ptr(), index as cl_uint, 0, &mut error).is_null());
        assert_eq!(error, CL_SUCCESS);
    }
}

#[test]
fn other_pointers() {
    let setup = Setup::new();
    let c = setup.context;
    let svm = clSVMAlloc(c, CL_MEM_READ_WRITE, 100, 0);
    let ask = |name| move |s, v, r| clGetSVMPointerInfoKHR(c, device(), svm, name, s, v, r);
    assert_eq!(info::<cl_uint>(ask(CL_SVM_INFO_TYPE_INDEX_KHR)), 0);
    assert_eq!(info::<cl_bitfield>(ask(CL_SVM_INFO_CAPABILITIES_KHR)), types()[0]);
    assert!(info_bytes(&ask(CL_SVM_INFO_PROPERTIES_KHR)).is_empty());
    let intel = made(|e| clHostMemAllocINTEL(c, null(), 100, 0, e));
    let own = [0u8; 4];
    let number = std::ptr::without_provenance::<c_void>(0xDEAD_BEEF);
    for pointer in [null(), number, intel, own.as_ptr().cast()] {
        let ask = |name| move |s, v, r| clGetSVMPointerInfoKHR(c, null_mut(), pointer, name, s, v, r);
        assert_eq!(info::<cl_uint>(ask(CL_SVM_INFO_TYPE_INDEX_KHR)), cl_uint::MAX);
        assert_eq!(info::<cl_bitfield>(ask(CL_SVM_INFO_CAPABILITIES_KHR)), 0);
        assert_eq!(info::<cl_bitfield>(ask(CL_SVM_INFO_ACCESS_FLAGS_KHR)), 0);
        assert!(info::<*mut c_void>(ask(CL_SVM_INFO_BASE_PTR_KHR)).is_null());
        assert_eq!(info::<usize>(ask(CL_SVM_INFO_SIZE_KHR)), 0);
        assert!(info::<cl_device_id>(ask(CL_SVM_INFO_ASSOCIATED_DEVICE_HANDLE_KHR)).is_null());
        assert!(info_bytes(&ask(CL_SVM_INFO_PROPERTIES_KHR)).is_empty());
    }
    // Each function frees what the other allocated, and nothing else.
    let typed = made(|e| clSVMAllocWithPropertiesKHR(c, null(), 0, 100, e));
    clSVMFree(c, typed);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 0, typed), CL_INVALID_VALUE);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, [0].as_ptr(), 0, svm), CL_SUCCESS);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 0, intel), CL_INVALID_VALUE);
    assert_eq!(clMemFreeINTEL(c, intel), CL_SUCCESS);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 0, null_mut()), CL_SUCCESS);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, null(), 1, null_mut()), CL_INVALID_VALUE);
    assert_eq!(clSVMFreeWithPropertiesKHR(c, [DEVICE, 0, 0].as_ptr(), 0, null_mut()), CL_INVALID_PROPERTY);
    let wrong = |d| clGetSVMPointerInfoKHR(c, d, null(), CL_SVM_INFO_SIZE_KHR, 0, null_mut(), null_mut());
    assert_eq!(wrong(setup.context), CL_INVALID_DEVICE);
}

#[test]
fn invalid_allocations() {
    let setup = Setup::new();
    let types = types();
    let owned = types.iter().position(|caps| caps & CL_SVM_CAPABILITY_DEVICE_OWNED_KHR != 0).expect("one") as cl_uint;
    let error = |list: &[cl_bitfield], index, size| {
        refused(|e| clSVMAllocWithPropertiesKHR(setup.context, list.as_ptr(), index, size, e))
    };
    for list in [
        &[1, 1, 0][..],
        &[DEVICE, setup.context.addr() as cl_bitfield, 0],
        &[DEVICE, 0, DEVICE, 0, 0],
        &[ACCESS, 4, 0],
        &[ALIGNMENT, 3, 0],
        &[ALIGNMENT, 4 << 20, 0],
        &[ALIGNMENT, 1 << 40, 0],
    ] {
        assert_eq!(error(list, 0, 8), CL_INVALID_PROPERTY, "{list:x?}");
    }
    assert_eq!(error(&[0], owned, 8), CL_INVALID_PROPERTY, "it needs a device");
    assert_eq!(error(&[0], types.len() as cl_uint, 8), CL_INVALID_VALUE);
    assert_eq!(error(&[0], cl_uint::MAX, 8), CL_INVALID_VALUE);
    assert_eq!(error(&[0], 0, usize::MAX), CL_OUT_OF_RESOURCES);
}

#[test]
fn suggestions() {
    let setup = Setup::new();
    let types = types();
    let suggest = |required, desired, list: &[cl_bitfield]| {
        let mut index = 77;
        let list = list.as_ptr();
        let error = clGetSVMSuggestedTypeIndexKHR(setup.context, required, desired, list, 1 << 14, &mut index);
        assert_eq!(error, CL_SUCCESS);
        index
    };
    assert_eq!(suggest(0, 0, &[0]), 0);
    for caps in &types {
        let index = suggest(*caps, 0, &[DEVICE, device_word(), ACCESS, 0, ALIGNMENT, 0, 0]);
        assert_eq!(types[index as usize] & caps, *caps);
        // What is only desired decides, too.
        assert_eq!(suggest(0, *caps, &[0]), index);
    }
    assert_eq!(suggest(1 << 15, 0, &[0]), cl_uint::MAX);
    assert_eq!(suggest(0, 1 << 15, &[0]), 0);
    let none = CL_SVM_CAPABILITY_DEVICE_OWNED_KHR | CL_SVM_CAPABILITY_HOST_OWNED_KHR;
    assert_eq!(suggest(none, 0, &[0]), cl_uint::MAX);
    let wrong = |list: &[cl_bitfield], out| clGetSVMSuggestedTypeIndexKHR(setup.context, 0, 0, list.as_ptr(), 0, out);
    assert_eq!(wrong(&[0], null_mut()), CL_INVALID_VALUE);
    assert_eq!(wrong(&[1, 1, 0], &mut 0), CL_INVALID_PROPERTY);
}
