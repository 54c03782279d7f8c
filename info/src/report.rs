//! The report: a name and a text per line.

use clift_include::cl::*;

use crate::installation;
use crate::opencl::Device;
use crate::units::size;

/// A line of the report.
pub fn line(name: &str, text: &str) -> String {
    format!("{name:<12}{text}")
}

/// What there is to know about the device. Queries that fail are left out.
pub fn text(device: &Device<'_>) -> String {
    let mut lines = String::new();
    let mut show = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            lines.push_str(&line(name, &text));
            lines.push('\n');
        }
    };
    show("driver", device.text(CL_DRIVER_VERSION).map(|version| format!("Clift {version}")));
    show("library", installation::mapped_library());
    show("device", device.text(CL_DEVICE_NAME));
    show("OpenCL", device.text(CL_DEVICE_VERSION));
    show("OpenCL C", device.versions(CL_DEVICE_OPENCL_C_ALL_VERSIONS));
    show("SPIR-V", device.versions(CL_DEVICE_ILS_WITH_VERSION));
    for fact in device.text(CL_DEVICE_CONFIGURATION_CLIFT).unwrap_or_default().lines() {
        if let Some((name, text)) = fact.split_once('\t') {
            show(name, Some(text.to_owned()));
        }
    }
    for (name, query) in [
        ("memory", CL_DEVICE_GLOBAL_MEM_SIZE),
        ("buffer", CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        ("local", CL_DEVICE_LOCAL_MEM_SIZE),
    ] {
        show(name, device.number(query).map(size));
    }
    show("work-group", device.number(CL_DEVICE_MAX_WORK_GROUP_SIZE).map(|items| format!("{items} work-items at most")));
    let mut settings: Vec<_> = std::env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| name.starts_with("CLIFT_"))?.to_owned();
            Some(format!("{name}={}", value.to_string_lossy()))
        })
        .collect();
    settings.sort();
    show("settings", (!settings.is_empty()).then(|| settings.join(" ")));
    lines
}
