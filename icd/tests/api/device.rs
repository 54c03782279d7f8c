//! `clGetDeviceIDs`, `clGetDeviceInfo` and timers.

use std::ptr::null_mut;

use super::cl::*;

#[test]
fn ids() {
    let p = platform();
    let (mut found, mut count) = (null_mut(), 9);
    // Java's `CL_DEVICE_TYPE_ALL` has its sign extended to 64 bits.
    let mixed = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU;
    for ty in [CL_DEVICE_TYPE_ALL, cl_device_type::MAX, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_DEFAULT, mixed] {
        assert_eq!(clGetDeviceIDs(p, ty, 1, &mut found, &mut count), CL_SUCCESS);
        assert_eq!((found, count), (device(), 1));
    }
    for ty in [CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CUSTOM] {
        assert_eq!(clGetDeviceIDs(p, ty, 1, &mut found, &mut count), CL_DEVICE_NOT_FOUND);
    }
    assert_eq!(clGetDeviceIDs(null_mut(), CL_DEVICE_TYPE_ALL, 1, &mut found, &mut count), CL_INVALID_PLATFORM);
    for ty in [0, 1 << 20] {
        assert_eq!(clGetDeviceIDs(p, ty, 1, &mut found, &mut count), CL_INVALID_DEVICE_TYPE);
    }
    assert_eq!(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, &mut found, &mut count), CL_INVALID_VALUE);
    assert_eq!(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, null_mut(), null_mut()), CL_INVALID_VALUE);
}

/// What the answer to a query is.
enum Answer {
    /// A string.
    Text,
    /// As many bytes.
    Bytes(usize),
    /// Names with versions, any number.
    Names,
    /// Numbers of a pointer's size, any number.
    Sizes,
}

/// Every query of OpenCL 3.0 and of the listed extensions, with the type of its answer.
#[test]
fn every_query_answers_with_its_type() {
    use Answer::{Bytes, Names, Sizes, Text};
    const UINT: Answer = Bytes(4);
    const LONG: Answer = Bytes(8);
    const SIZE: Answer = Bytes(size_of::<usize>());
    let sizes = |name: cl_uint| match name {
        0x1000 => Some(LONG),
        0x1001..=0x1003 => Some(UINT),
        0x1004 => Some(SIZE),
        0x1005 => Some(Bytes(3 * size_of::<usize>())),
        0x1006..=0x100f => Some(UINT),
        0x1010 => Some(LONG),
        0x1011..=0x1015 => Some(SIZE),
        0x1016 => Some(UINT),
        0x1017 => Some(SIZE),
        0x1018..=0x101a => Some(UINT),
        0x101b => Some(LONG),
        0x101c | 0x101d => Some(UINT),
        0x101e..=0x1020 => Some(LONG),
        0x1021 | 0x1022 => Some(UINT),
        0x1023 => Some(LONG),
        0x1024 => Some(UINT),
        0x1025 => Some(SIZE),
        0x1026..=0x1028 => Some(UINT),
        0x1029 | 0x102a => Some(LONG),
        0x102b..=0x1030 => Some(Text),
        0x1031 => Some(SIZE),
        0x1032 => Some(LONG),
        0x1033 => Some(LONG),
        0x1034..=0x103c => Some(UINT),
        0x103d => Some(Text),
        0x103e => Some(UINT),
        0x103f => Some(Text),
        0x1040..=0x1042 => Some(SIZE),
        0x1043 => Some(UINT),
        0x1044 => Some(Sizes),
        0x1045 => Some(LONG),
        0x1046 => Some(Sizes),
        0x1047 | 0x1048 => Some(UINT),
        0x1049 => Some(SIZE),
        0x104a..=0x104c => Some(UINT),
        0x104d => Some(SIZE),
        0x104e => Some(LONG),
        0x104f..=0x1052 => Some(UINT),
        0x1053 => Some(LONG),
        0x1054 => Some(SIZE),
        0x1055..=0x105a => Some(UINT),
        0x105b => Some(Text),
        0x105c..=0x105f => Some(UINT),
        0x1060..=0x1062 => Some(Names),
        0x1063 | 0x1064 => Some(LONG),
        0x1065 => Some(UINT),
        0x1066 => Some(Names),
        0x1067 => Some(SIZE),
        0x1068 | 0x1069 => Some(UINT),
        0x106a | 0x106b => Some(Bytes(16)),
        0x106c => Some(UINT),
        0x106d => Some(Bytes(8)),
        0x106e => Some(UINT),
        0x106f => Some(Names),
        0x1070 => Some(LONG),
        0x1071 => Some(UINT),
        0x1072 => Some(Text),
        0x1073 => Some(LONG),
        0x1074 | 0x1075 => Some(Bytes(24)),
        0x1076 => Some(LONG),
        0x1077 => Some(Bytes(4 * 8)),
        0x12a9 | 0x12aa => Some(LONG),
        0x12ab => Some(UINT),
        0x12ac => Some(SIZE),
        0x2031 => Some(LONG),
        0x4231..=0x4233 => Some(LONG),
        _ => None,
    };
    for name in (0xfff..=0x1080).chain(0x12a9..=0x12ac).chain(0x2030..=0x2032).chain(0x4230..=0x4234) {
        let query = |s, v, r| clGetDeviceInfo(device(), name, s, v, r);
        match sizes(name) {
            None => assert_eq!(query(0, null_mut(), null_mut()), CL_INVALID_VALUE, "{name:#x}"),
            Some(Text) => drop(info_text(query)),
            Some(Bytes(size)) => assert_eq!(info_bytes(&query).len(), size, "{name:#x}"),
            Some(Sizes) => assert_eq!(info_bytes(&query).len() % size_of::<usize>(), 0, "{name:#x}"),
            Some(Names) => assert_eq!(info_bytes(&query).len() % size_of::<cl_name_version>(), 0, "{name:#x}"),
        }
    }
}

#[test]
fn answers_agree_with_one_another() {
    let d = device();
    let uint = |name| info::<cl_uint>(|s, v, r| clGetDeviceInfo(d, name, s, v, r));
    let long = |name| info::<cl_ulong>(|s, v, r| clGetDeviceInfo(d, name, s, v, r));
    let text = |name| info_text(|s, v, r| clGetDeviceInfo(d, name, s, v, r));
    assert_eq!(long(CL_DEVICE_TYPE), CL_DEVICE_TYPE_CPU);
    assert!([64 << 10, 256 << 10].contains(&long(CL_DEVICE_LOCAL_MEM_SIZE)));
    assert!(long(CL_DEVICE_MAX_MEM_ALLOC_SIZE) * 2 >= long(CL_DEVICE_GLOBAL_MEM_SIZE) - 1);
    assert!(long(CL_DEVICE_MAX_MEM_ALLOC_SIZE) <= long(CL_DEVICE_GLOBAL_MEM_SIZE).max(32 << 20));
    // Programs need no vectors.
    for width in [
        CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
    ] {
        assert_eq!(uint(width), 1);
    }
    let multiple = info::<usize>(|s, v, r| clGetDeviceInfo(d, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, s, v, r));
    // Lanes of registers of 128 or 512 bits.
    assert!([4, 8, 16].contains(&multiple));
    assert!(uint(CL_DEVICE_MAX_COMPUTE_UNITS) >= 1);
    assert!(uint(CL_DEVICE_MEM_BASE_ADDR_ALIGN) >= 1024);
    let version = text(CL_DEVICE_VERSION);
    assert!(version.starts_with("OpenCL 3.0 ") || version.starts_with("OpenCL 3.1 "), "{version}");
    assert!(text(CL_DEVICE_OPENCL_C_VERSION).starts_with("OpenCL C 1.2 "));
    assert!(text(CL_DEVICE_EXTENSIONS).len() < 10240);
    let found = info::<cl_platform_id>(|s, v, r| clGetDeviceInfo(d, CL_DEVICE_PLATFORM, s, v, r));
    assert_eq!(found, platform());
    let parent = info::<cl_device_id>(|s, v, r| clGetDeviceInfo(d, CL_DEVICE_PARENT_DEVICE, s, v, r));
    assert!(parent.is_null());
    assert_eq!(clGetDeviceInfo(null_mut(), CL_DEVICE_TYPE, 0, null_mut(), null_mut()), CL_INVALID_DEVICE);
}

#[test]
fn spir_v_capabilities_and_extensions() {
    let query = |name| info_bytes(&|s, v, r| clGetDeviceInfo(device(), name, s, v, r));
    let numbers: Vec<u32> = query(CL_DEVICE_SPIRV_CAPABILITIES)
        .chunks_exact(4)
        .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect();
    for capability in [4, 5, 6, 7, 8, 9, 10, 11, 22, 39, 5055, 6017, 6018, 6019, 6025, 6033] {
        assert!(numbers.contains(&capability), "{capability}");
    }
    let names = |name| {
        let addresses = query(name);
        let addresses = addresses.chunks_exact(size_of::<usize>());
        addresses
            .map(|bytes| {
                let address = usize::from_ne_bytes(bytes.try_into().unwrap());
                // SAFETY: the query gives pointers to NUL-terminated strings that live as long as the driver.
                let text = unsafe { std::ffi::CStr::from_ptr(std::ptr::with_exposed_provenance(address)) };
                text.to_str().unwrap().to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(names(CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS), ["OpenCL.std"]);
    assert!(names(CL_DEVICE_SPIRV_EXTENSIONS).iter().any(|name| name == "SPV_KHR_integer_dot_product"));
}

#[test]
fn root_devices_are_not_counted() {
    let d = device();
    assert_eq!(clRetainDevice(d), CL_SUCCESS);
    for _ in 0..3 {
        assert_eq!(clReleaseDevice(d), CL_SUCCESS);
    }
    assert_eq!(info::<cl_uint>(|s, v, r| clGetDeviceInfo(d, CL_DEVICE_REFERENCE_COUNT, s, v, r)), 1);
    assert_eq!(clRetainDevice(null_mut()), CL_INVALID_DEVICE);
    assert_eq!(clReleaseDevice(null_mut()), CL_INVALID_DEVICE);
}

#[test]
fn timers() {
    let d = device();
    let (mut on_device, mut on_host, mut later) = (0, 0, 0);
    assert_eq!(clGetDeviceAndHostTimer(d, &mut on_device, &mut on_host), CL_SUCCESS);
    assert_eq!(clGetHostTimer(d, &mut later), CL_SUCCESS);
    assert!(on_host != 0 && on_device == on_host && later >= on_host);
    assert_eq!(clGetDeviceAndHostTimer(null_mut(), &mut on_device, &mut on_host), CL_INVALID_DEVICE);
    assert_eq!(clGetDeviceAndHostTimer(d, null_mut(), &mut on_host), CL_INVALID_VALUE);
    assert_eq!(clGetDeviceAndHostTimer(d, &mut on_device, null_mut()), CL_INVALID_VALUE);
    assert_eq!(clGetHostTimer(null_mut(), &mut later), CL_INVALID_DEVICE);
    assert_eq!(clGetHostTimer(d, null_mut()), CL_INVALID_VALUE);
}
