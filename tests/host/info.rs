//! Queries about the platform and the device, and the rules that every query follows.

use cl3::device::{
    CL_DEVICE_EXTENSIONS, CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_WORK_GROUP_SIZE, CL_DEVICE_NAME, CL_DEVICE_TYPE,
    CL_DEVICE_TYPE_CPU, CL_DEVICE_VERSION,
};
use opencl3::error_codes::CL_INVALID_VALUE;

use clift_tests::session::session;

#[test]
fn identity() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    let platform = |query| {
        String::from_utf8(cl3::platform::get_platform_data(session.platform(), query).expect("a query")).expect("UTF-8")
    };
    assert!(platform(cl3::platform::CL_PLATFORM_NAME).starts_with("Clift"));
    assert!(platform(cl3::platform::CL_PLATFORM_VERSION).starts_with("OpenCL 3."));
    assert_eq!(platform(cl3::platform::CL_PLATFORM_PROFILE), "FULL_PROFILE\0");
    let device = |query| cl3::device::get_device_data(session.device_id(), query).expect("a query");
    assert_eq!(device(CL_DEVICE_TYPE), CL_DEVICE_TYPE_CPU.to_le_bytes());
    assert!(device(CL_DEVICE_VERSION).starts_with(b"OpenCL 3."));
    assert!(device(CL_DEVICE_NAME).len() > 1);
    assert!(session.device_u32(CL_DEVICE_MAX_COMPUTE_UNITS) >= 1);
    assert!(session.device_u32(CL_DEVICE_MAX_WORK_GROUP_SIZE) >= 1024);
    for extension in ["cl_khr_byte_addressable_store", "cl_khr_global_int32_base_atomics", "cl_khr_fp64"] {
        assert!(session.has_extension(extension), "{extension}");
    }
    assert!(platform(cl3::platform::CL_PLATFORM_EXTENSIONS).contains("cl_khr_icd"));
}

/// Strings end with one NUL; the listed and the versioned extensions are the same set.
#[test]
fn extension_lists_agree() {
    let session = session();
    let text = cl3::device::get_device_data(session.device_id(), CL_DEVICE_EXTENSIONS).expect("the extensions");
    assert_eq!(text.iter().position(|byte| *byte == 0), Some(text.len() - 1));
    let text = String::from_utf8_lossy(&text[..text.len() - 1]).into_owned();
    let mut names: Vec<&str> = text.split(' ').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    // cl_name_version: a version in four bytes, then a name in 64.
    let versioned = cl3::device::get_device_data(session.device_id(), cl3::device::CL_DEVICE_EXTENSIONS_WITH_VERSION)
        .expect("the same");
    let mut with_version: Vec<String> = versioned
        .chunks_exact(68)
        .map(|entry| String::from_utf8_lossy(&entry[4..]).trim_end_matches('\0').to_owned())
        .collect();
    with_version.sort_unstable();
    if session.driver.is_clift {
        assert_eq!(names, with_version);
    }
}

#[test]
fn unknown_queries() {
    let session = session();
    assert_eq!(cl3::device::get_device_data(session.device_id(), 0x0001).map(drop), Err(CL_INVALID_VALUE));
    assert_eq!(cl3::platform::get_platform_data(session.platform(), 0x0001).map(drop), Err(CL_INVALID_VALUE));
    assert_eq!(cl3::context::get_context_data(session.context.get(), 0x0001).map(drop), Err(CL_INVALID_VALUE));
}

/// `clinfo`, the usual inspection tool, finds no error in any answer.
#[test]
fn clinfo_finds_no_error() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    let Ok(output) = std::process::Command::new("clinfo").output() else {
        eprintln!("skipped: no clinfo");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}", output.status);
    assert!(text.contains("Number of devices"), "{text}");
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("error") && line.contains('<')).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
