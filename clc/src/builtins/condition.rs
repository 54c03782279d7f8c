//! What a function needs: versions, extensions, features.

use std::fmt::Write;

use super::Environment;
use crate::options::Version;

/// A condition of the table.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// Nothing.
    Always,
    /// This language version or a later one.
    Since(Version),
    /// An extension.
    Extension(&'static str),
    /// A feature of OpenCL C 3.0. Version 2.0 has the features of the device too, and some always. All versions have those of
    /// extensions.
    Feature(&'static str),
    /// Images.
    Images,
    /// Sub-groups, which are there in every version if the device has them: as an extension, or as a feature.
    SubGroups,
    /// All of these.
    All(&'static [When]),
    /// One of these.
    Any(&'static [When]),
}

/// Features of OpenCL C 3.0 that every device of version 2.0 has.
const CORE_OF_2_0: &[&str] = &[
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_device_enqueue",
    "__opencl_c_generic_address_space",
    "__opencl_c_pipes",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_work_group_collective_functions",
];

/// Features that are parts of an extension, by the beginning of their names, and the extension. Their functions exist where the
/// extension's macro does: in every version of the language.
const OF_EXTENSIONS: &[(&str, &str)] = &[
    ("__opencl_c_integer_dot_product_", "cl_khr_integer_dot_product"),
    ("__opencl_c_kernel_clock_", "cl_khr_kernel_clock"),
];

impl When {
    /// Whether it holds.
    pub(super) fn holds(self, environment: Environment<'_>) -> bool {
        let profile = environment.profile;
        match self {
            When::Always => true,
            When::Since(version) => environment.version >= version,
            When::Extension(name) => profile.has_extension(name),
            When::Feature(name) => {
                let of_extension = || {
                    OF_EXTENSIONS
                        .iter()
                        .any(|(begin, extension)| name.starts_with(begin) && profile.has_extension(extension))
                };
                profile.has_feature(name) && (environment.version >= Version::V2_0 || of_extension())
                    || environment.version == Version::V2_0 && CORE_OF_2_0.contains(&name)
            }
            When::Images => profile.images,
            When::SubGroups => {
                ["cl_khr_subgroups", "cl_intel_subgroups"].iter().any(|name| profile.has_extension(name))
                    || profile.has_feature("__opencl_c_subgroups")
            }
            When::All(conditions) => conditions.iter().all(|condition| condition.holds(environment)),
            When::Any(conditions) => conditions.iter().any(|condition| condition.holds(environment)),
        }
    }

    /// What is missing, in words; empty if it holds.
    pub(super) fn missing(self, environment: Environment<'_>) -> String {
        if self.holds(environment) {
            return String::new();
        }
        let joined = |conditions: &[When], between: &str| {
            let mut text = String::new();
            for part in
                conditions.iter().map(|condition| condition.missing(environment)).filter(|part| !part.is_empty())
            {
                let _ = write!(text, "{}{part}", if text.is_empty() { "" } else { between });
            }
            text
        };
        match self {
            When::Always => String::new(),
            When::Since(version) => format!("OpenCL C {}", version_name(version)),
            When::Extension(name) => format!("the extension {name}"),
            When::Feature(name) => format!("the feature {name}"),
            When::Images => "support for images".to_owned(),
            When::SubGroups => "the feature __opencl_c_subgroups".to_owned(),
            When::All(conditions) => joined(conditions, " and "),
            When::Any(conditions) => joined(conditions, " or "),
        }
    }
}

/// A version as it is written.
fn version_name(version: Version) -> String {
    let number = version.number();
    format!("{}.{}", number / 100, number / 10 % 10)
}

impl Environment<'_> {
    /// Whether there are halves as values.
    pub(super) fn has_half(self) -> bool {
        self.profile.has_extension("cl_khr_fp16")
    }

    /// Whether there are doubles.
    pub(super) fn has_double(self) -> bool {
        self.profile.has_extension("cl_khr_fp64") || When::Feature("__opencl_c_fp64").holds(self)
    }

    /// Whether there is the generic address space.
    pub(super) fn has_generic(self) -> bool {
        When::Feature("__opencl_c_generic_address_space").holds(self)
    }
}

#[cfg(test)]
impl When {
    /// Adds the extensions and features that it names.
    pub(super) fn names(self, extensions: &mut Vec<&'static str>, features: &mut Vec<&'static str>) {
        match self {
            When::Extension(name) => extensions.push(name),
            When::Feature(name) => features.push(name),
            When::All(conditions) | When::Any(conditions) => {
                for condition in conditions {
                    condition.names(extensions, features);
                }
            }
            When::Always | When::Since(_) | When::Images | When::SubGroups => {}
        }
    }
}
