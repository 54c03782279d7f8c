//! The device's capabilities: versions, extensions, language features, limits. There is one row per fact.
//!
//! Info queries report these values, the front end passes the extensions and features to clang, and the checks in `api/` use the
//! limits, so the three cannot disagree. Only what the compiler and the runtime implement may be listed.
//!
//! - versions and names: the constants at the top;
//! - [`EXTENSIONS`], [`OPENCL_C_FEATURES`], [`OPENCL_C_VERSIONS`]: the lists;
//! - [`Limits`]: numbers, some of them queried from the machine ([`host`]).

pub mod configuration;
pub mod host;

use std::ffi::{CString, c_char};
use std::sync::{Arc, LazyLock, OnceLock};

use clift_clc::options::Profile;
use clift_include::cl;

use crate::config::config;
use host::Host;

/// A version number in OpenCL's packed form.
pub const fn version(major: u32, minor: u32, patch: u32) -> cl::cl_version {
    (major << 22) | (minor << 12) | patch
}

/// The version of OpenCL that the platform and the device report.
pub const OPENCL_VERSION: (u32, u32) = if all_listed(REQUIRED_BY_3_1) { (3, 1) } else { (3, 0) };

/// Extensions that are part of the core of OpenCL 3.1 and that its devices still list.
const REQUIRED_BY_3_1: &[&str] = &[
    "cl_khr_device_uuid",
    "cl_khr_extended_bit_ops",
    "cl_khr_integer_dot_product",
    "cl_khr_spirv_queries",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_suggested_local_work_size",
];

/// Whether all of these extensions are listed.
const fn all_listed(names: &[&str]) -> bool {
    let mut index = 0;
    while index < names.len() {
        let (mut row, mut found) = (0, false);
        while row < EXTENSIONS.len() {
            found |= same(names[index].as_bytes(), EXTENSIONS[row].name.as_bytes());
            row += 1;
        }
        if !found {
            return false;
        }
        index += 1;
    }
    true
}

/// Whether two texts are equal, for constant evaluation.
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    a.len() == b.len() && index == a.len()
}

/// The highest version of OpenCL C with all of its features, reported by `CL_DEVICE_OPENCL_C_VERSION`.
pub const OPENCL_C_VERSION: (u32, u32) = (1, 2);
/// Name of the platform, and first word of vendor-specific text in version strings.
pub const NAME: &str = "Clift";
/// Vendor of the platform.
pub const VENDOR: &str = "Clift";
/// Version of the driver.
pub const DRIVER_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Only the full profile is supported.
pub const PROFILE: &str = "FULL_PROFILE";
/// Suffix of the names of the platform's own extensions, by which `cl_khr_icd` distinguishes platforms.
pub const ICD_SUFFIX: &str = "CLIFT";
/// There was no conformance submission: an impossible date, in the format that the query requires.
pub const CONFORMANCE: &str = "v0000-01-01-00";

/// `CL_PLATFORM_VERSION` and `CL_DEVICE_VERSION`. Programs search these strings for `1.0` and the like, wherever in the string it
/// is: the driver's own version is not part of them, but only `CL_DRIVER_VERSION`.
pub fn version_string() -> String {
    format!("OpenCL {}.{} {NAME}", OPENCL_VERSION.0, OPENCL_VERSION.1)
}

/// `CL_DEVICE_OPENCL_C_VERSION`.
pub fn opencl_c_version_string() -> String {
    format!("OpenCL C {}.{} {NAME}", OPENCL_C_VERSION.0, OPENCL_C_VERSION.1)
}

/// `CL_DEVICE_IL_VERSION`.
pub fn il_version_string() -> String {
    let names: Vec<String> =
        clift_jit::SPIRV_VERSIONS.iter().map(|(major, minor)| format!("SPIR-V_{major}.{minor}")).collect();
    names.join(" ")
}

/// C strings whose addresses queries return. They are never freed.
#[derive(Debug)]
pub struct Texts(Vec<CString>);

impl Texts {
    fn new(names: &[&str]) -> Self {
        // None of these names contains a NUL.
        Self(names.iter().filter_map(|name| CString::new(*name).ok()).collect())
    }

    /// Their addresses.
    pub fn pointers(&self) -> Vec<*const c_char> {
        self.0.iter().map(|text| text.as_ptr()).collect()
    }
}

/// `CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS`
pub static INSTRUCTION_SETS: LazyLock<Texts> = LazyLock::new(|| Texts::new(&["OpenCL.std"]));

/// `CL_DEVICE_SPIRV_EXTENSIONS`, as reported by the kernel compiler.
pub static MODULE_EXTENSIONS: LazyLock<Texts> =
    LazyLock::new(|| Texts::new(clift_jit::spirv::caps::SUPPORTED_EXTENSIONS));

/// `CL_DEVICE_SPIRV_CAPABILITIES`, as reported by the kernel compiler.
pub fn module_capabilities() -> Vec<u32> {
    clift_jit::spirv::caps::SUPPORTED_CAPABILITIES.iter().map(|capability| *capability as u32).collect()
}

/// What an extension extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionScope {
    /// Only the platform (the loader's interface).
    Platform,
    /// The device, and, as there is only one device, the platform too.
    Device,
}

/// One supported extension.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: cl::cl_version,
    /// What it extends.
    pub scope: ExtensionScope,
    /// Whether it extends OpenCL C: then a macro of its name is defined, and `#pragma OPENCL EXTENSION` accepts it.
    pub language: bool,
}

const fn extension(name: &'static str, version: cl::cl_version, scope: ExtensionScope, language: bool) -> Extension {
    Extension { name, version, scope, language }
}

/// The supported extensions. Missing on purpose are two names that the conformance tests do not accept as Khronos extensions:
/// `cl_khr_async_work_group_copy_fence`, whose function is there all the same, and `cl_khr_work_group_uniform_arithmetic`, whose
/// instructions modules can use, while its functions in OpenCL C need the name.
pub const EXTENSIONS: &[Extension] = &[
    extension("cl_khr_icd", version(2, 0, 1), ExtensionScope::Platform, false),
    extension("cl_khr_byte_addressable_store", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_global_int32_base_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_global_int32_extended_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_local_int32_base_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_local_int32_extended_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_int64_base_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_int64_extended_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_fp16", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_fp64", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_3d_image_writes", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_depth_images", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_image2d_from_buffer", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_mipmap_image", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_mipmap_image_writes", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_srgb_image_writes", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_command_buffer", version(0, 9, 8), ExtensionScope::Device, false),
    extension("cl_khr_command_buffer_multi_device", version(0, 9, 2), ExtensionScope::Device, false),
    extension("cl_khr_command_buffer_mutable_dispatch", version(0, 9, 5), ExtensionScope::Device, false),
    extension("cl_khr_create_command_queue", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_device_enqueue_local_arg_types", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_device_uuid", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_expect_assume", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_extended_async_copies", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_extended_bit_ops", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_extended_versioning", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_external_memory", version(1, 0, 1), ExtensionScope::Device, false),
    extension("cl_khr_external_memory_dma_buf", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_external_memory_opaque_fd", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_external_semaphore", version(1, 0, 1), ExtensionScope::Device, false),
    extension("cl_khr_external_semaphore_opaque_fd", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_external_semaphore_sync_fd", version(1, 0, 1), ExtensionScope::Device, false),
    extension("cl_khr_il_program", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_integer_dot_product", version(2, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_kernel_clock", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_priority_hints", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_semaphore", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_spirv_linkonce_odr", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_spirv_no_integer_wrap_decoration", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_spirv_queries", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_subgroup_ballot", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_clustered_reduce", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_extended_types", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_named_barrier", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_non_uniform_arithmetic", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_non_uniform_vote", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_rotate", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_shuffle", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroup_shuffle_relative", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_subgroups", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_khr_suggested_local_work_size", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_terminate_context", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_throttle_hints", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_khr_unified_svm", version(0, 9, 0), ExtensionScope::Device, false),
    extension("cl_ext_buffer_device_address", version(1, 0, 2), ExtensionScope::Device, false),
    extension("cl_ext_float_atomics", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_ext_image_from_buffer", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_ext_image_raw10_raw12", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_ext_image_requirements_info", version(0, 5, 0), ExtensionScope::Device, false),
    extension("cl_ext_image_unorm_int_2_101010", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_ext_image_unsigned_10x6_12x4_14x2", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_ext_immutable_memory_objects", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_intel_required_subgroup_size", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_intel_spirv_subgroups", version(1, 0, 0), ExtensionScope::Device, false),
    extension("cl_intel_subgroup_local_block_io", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_intel_subgroups", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_intel_subgroups_char", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_intel_subgroups_long", version(1, 0, 0), ExtensionScope::Device, true),
    extension("cl_intel_subgroups_short", version(1, 1, 0), ExtensionScope::Device, true),
    extension("cl_intel_unified_shared_memory", version(1, 1, 0), ExtensionScope::Device, false),
];

/// Maximum number of named barriers in a work-group. They take a few hundred bytes of local memory.
pub const MAX_NAMED_BARRIERS: cl::cl_uint = clift_jit::spirv::MAX_NAMED_BARRIERS;

/// The extensions that the device lists.
pub fn device_extensions() -> impl Iterator<Item = &'static Extension> {
    EXTENSIONS.iter().filter(|extension| extension.scope == ExtensionScope::Device)
}

/// Names of the extensions of OpenCL C, which the front end enables. It disables all others.
pub fn language_extensions() -> impl Iterator<Item = &'static str> {
    EXTENSIONS.iter().filter(|extension| extension.language).map(|extension| extension.name)
}

/// The device's profile for the front end.
pub fn profile() -> &'static Arc<Profile> {
    static PROFILE: OnceLock<Arc<Profile>> = OnceLock::new();
    PROFILE.get_or_init(|| {
        let (major, minor) = OPENCL_VERSION;
        Arc::new(Profile {
            opencl_version: major * 100 + minor * 10,
            extensions: language_extensions().collect(),
            features: OPENCL_C_FEATURES.to_vec(),
            spirv_extensions: SPIRV_EXTENSIONS.to_vec(),
            images: IMAGES,
            bits_64: true,
        })
    })
}

/// Optional features of OpenCL C 3.0 and of extensions that the device supports. From `-cl-std=CL3.0` on, each is a macro
/// defined as 1.
pub const OPENCL_C_FEATURES: &[&str] = &[
    "__opencl_c_int64",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_device_enqueue",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_pipes",
    "__opencl_c_images",
    "__opencl_c_3d_image_writes",
    "__opencl_c_read_write_images",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
    "__opencl_c_integer_dot_product_input_4x8bit",
    "__opencl_c_integer_dot_product_input_4x8bit_packed",
    "__opencl_c_kernel_clock_scope_device",
    "__opencl_c_kernel_clock_scope_work_group",
    "__opencl_c_kernel_clock_scope_sub_group",
    "__opencl_c_ext_fp16_global_atomic_load_store",
    "__opencl_c_ext_fp16_local_atomic_load_store",
    "__opencl_c_ext_fp16_global_atomic_add",
    "__opencl_c_ext_fp16_local_atomic_add",
    "__opencl_c_ext_fp16_global_atomic_min_max",
    "__opencl_c_ext_fp16_local_atomic_min_max",
    "__opencl_c_ext_fp32_global_atomic_add",
    "__opencl_c_ext_fp32_local_atomic_add",
    "__opencl_c_ext_fp32_global_atomic_min_max",
    "__opencl_c_ext_fp32_local_atomic_min_max",
    "__opencl_c_ext_fp64_global_atomic_add",
    "__opencl_c_ext_fp64_local_atomic_add",
    "__opencl_c_ext_fp64_global_atomic_min_max",
    "__opencl_c_ext_fp64_local_atomic_min_max",
    "__opencl_c_ext_image_raw10_raw12",
    "__opencl_c_ext_image_unorm_int_2_101010",
    "__opencl_c_ext_image_unsigned_10x6_12x4_14x2",
];

/// Shared virtual memory: kernels access any memory of the process, at any time, with the processor's atomics.
pub const SVM_CAPABILITIES: cl::cl_device_svm_capabilities = cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER
    | cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER
    | cl::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM
    | cl::CL_DEVICE_SVM_ATOMICS;

/// The types of shared virtual memory of `cl_khr_unified_svm`. All of them are the same memory, so that they have all
/// capabilities but those that say whose it is. `clSVMAlloc` allocates the first.
pub const SVM_TYPES: &[cl::cl_svm_capabilities_khr] = {
    const SHARED: cl::cl_svm_capabilities_khr = cl::CL_SVM_CAPABILITY_SINGLE_ADDRESS_SPACE_KHR
        | cl::CL_SVM_CAPABILITY_CONTEXT_ACCESS_KHR
        | cl::CL_SVM_CAPABILITY_HOST_READ_KHR
        | cl::CL_SVM_CAPABILITY_HOST_WRITE_KHR
        | cl::CL_SVM_CAPABILITY_HOST_MAP_KHR
        | cl::CL_SVM_CAPABILITY_DEVICE_READ_KHR
        | cl::CL_SVM_CAPABILITY_DEVICE_WRITE_KHR
        | cl::CL_SVM_CAPABILITY_DEVICE_ATOMIC_ACCESS_KHR
        | cl::CL_SVM_CAPABILITY_CONCURRENT_ACCESS_KHR
        | cl::CL_SVM_CAPABILITY_CONCURRENT_ATOMIC_ACCESS_KHR
        | cl::CL_SVM_CAPABILITY_INDIRECT_ACCESS_KHR;
    const UNASSOCIATED: cl::cl_svm_capabilities_khr = SHARED | cl::CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR;
    &[
        UNASSOCIATED,
        SHARED | cl::CL_SVM_CAPABILITY_DEVICE_OWNED_KHR,
        UNASSOCIATED | cl::CL_SVM_CAPABILITY_HOST_OWNED_KHR,
        UNASSOCIATED | cl::CL_SVM_CAPABILITY_SYSTEM_ALLOCATED_KHR,
    ]
};

/// The same for `cl_intel_unified_shared_memory`: it applies to all types of memory.
pub const USM_CAPABILITIES: cl::cl_device_unified_shared_memory_capabilities_intel =
    cl::CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL
        | cl::CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL
        | cl::CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL
        | cl::CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL;

/// Device-side enqueue: it is supported, and the default queue can be replaced.
pub const DEVICE_ENQUEUE_CAPABILITIES: cl::cl_device_device_enqueue_capabilities =
    cl::CL_DEVICE_QUEUE_SUPPORTED | cl::CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT;

/// Properties that device queues may have.
pub const DEVICE_QUEUE_PROPERTIES: cl::cl_command_queue_properties =
    cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::CL_QUEUE_PROFILING_ENABLE;

/// Size of a device queue if the application gives none. The size is what the unfinished commands may take of the memory, about a
/// kibibyte each; no memory is set aside.
pub const PREFERRED_DEVICE_QUEUE_BYTES: cl::cl_uint = 256 << 20;

/// Maximum size of a device queue: a runaway recursion ends there.
pub const MAX_DEVICE_QUEUE_BYTES: cl::cl_uint = 1 << 30;

/// Maximum number of device queues of a device in a context. It prevents only mistakes. A kernel can have all of them as
/// arguments.
pub const MAX_DEVICE_QUEUES: cl::cl_uint = 256;

/// Properties that queues of command buffers may have.
pub const COMMAND_BUFFER_QUEUE_PROPERTIES: cl::cl_command_queue_properties =
    cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::CL_QUEUE_PROFILING_ENABLE;

/// Capabilities of command buffers.
pub const COMMAND_BUFFER_CAPABILITIES: cl::cl_device_command_buffer_capabilities_khr =
    cl::CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR
        | cl::CL_COMMAND_BUFFER_CAPABILITY_DEVICE_SIDE_ENQUEUE_KHR
        | cl::CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR
        | cl::CL_COMMAND_BUFFER_CAPABILITY_MULTIPLE_QUEUE_KHR;

/// Capabilities of command buffers with several queues.
pub const PLATFORM_COMMAND_BUFFER_CAPABILITIES: cl::cl_platform_command_buffer_capabilities_khr =
    cl::CL_COMMAND_BUFFER_PLATFORM_UNIVERSAL_SYNC_KHR
        | cl::CL_COMMAND_BUFFER_PLATFORM_REMAP_QUEUES_KHR
        | cl::CL_COMMAND_BUFFER_PLATFORM_AUTOMATIC_REMAP_KHR;

/// What may be changed in a recorded kernel.
pub const MUTABLE_DISPATCH_FIELDS: cl::cl_mutable_dispatch_fields_khr = cl::CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR
    | cl::CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR
    | cl::CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR
    | cl::CL_MUTABLE_DISPATCH_ARGUMENTS_KHR
    | cl::CL_MUTABLE_DISPATCH_EXEC_INFO_KHR;

/// Types of semaphores.
pub const SEMAPHORE_TYPES: &[cl::cl_semaphore_type_khr] = &[cl::CL_SEMAPHORE_TYPE_BINARY_KHR];

/// Types of external semaphores that can be imported: descriptors that another semaphore has exported, and sync files.
pub const SEMAPHORE_IMPORT_TYPES: &[cl::cl_external_semaphore_handle_type_khr] =
    &[cl::CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, cl::CL_SEMAPHORE_HANDLE_SYNC_FD_KHR];

/// Types of external semaphores that can be exported. No system call makes a sync file.
pub const SEMAPHORE_EXPORT_TYPES: &[cl::cl_external_semaphore_handle_type_khr] =
    &[cl::CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR];

/// Types of external memory from which buffers can be created: those that the processor can map.
pub const EXTERNAL_MEMORY_TYPES: &[cl::cl_external_memory_handle_type_khr] =
    &[cl::CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, cl::CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR];

/// SPIR-V extensions that modules may use, because the importer supports them. The front end uses only these.
pub const SPIRV_EXTENSIONS: &[&str] = &[
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_linkonce_odr",
    "SPV_KHR_expect_assume",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_shader_clock",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_uniform_group_instructions",
    "SPV_EXT_relaxed_printf_string_address_space",
    "SPV_INTEL_subgroups",
];

/// Whether images are supported.
pub const IMAGES: bool = true;
/// Maximum number of images and of samplers in the arguments of one kernel, limited by the size of the arguments.
pub const MAX_IMAGE_ARGS: u32 = 128;
/// Required alignment, in elements, of the row pitch of an image created from a buffer.
pub const IMAGE_PITCH_ALIGNMENT: u32 = 1;
/// Required alignment, in elements, of the start of a buffer from which an image is created.
pub const IMAGE_BASE_ADDRESS_ALIGNMENT: u32 = 1;
/// Maximum number of samplers in one kernel.
pub const MAX_SAMPLERS: u32 = 16;

/// Versions of OpenCL C that programs may be built for. `-cl-std` also accepts 2.0, which is not listed: the conformance tests
/// check what it made mandatory only for devices of version 2.
pub const OPENCL_C_VERSIONS: &[(u32, u32)] = match OPENCL_VERSION {
    (3, 0) => &[(1, 0), (1, 1), (1, 2), (3, 0)],
    _ => &[(1, 0), (1, 1), (1, 2), (3, 0), (3, 1)],
};

/// A name and a version in the format of the queries.
pub fn name_version(name: &str, version: cl::cl_version) -> cl::cl_name_version {
    let mut fixed = [0; cl::CL_NAME_VERSION_MAX_NAME_SIZE];
    // One byte remains for the NUL; a test checks that no name is longer.
    let length = name.len().min(cl::CL_NAME_VERSION_MAX_NAME_SIZE - 1);
    fixed[..length].copy_from_slice(&name.as_bytes()[..length]);
    cl::cl_name_version { version, name: fixed }
}

/// Numbers that describe the device: constants with their reasons, and facts about the machine.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Facts about the machine.
    pub host: Host,
    /// Maximum number of work-items per work-group, in total and in each dimension. The runtime runs a group on one core, so the
    /// limit is the scratch memory per work-item. 4096 is more than programs for GPUs need (1024).
    pub max_work_group_size: usize,
    /// Local memory per work-group in bytes. Local memory is ordinary memory, which is fast as long as it stays in the caches of
    /// the core. Programs choose the size of their tiles by this number, so it must not exceed these caches: 256 KiB if the
    /// level-2 cache is large enough, otherwise twice the minimum of the specification.
    pub local_mem_size: u64,
    /// Maximum size of a buffer: half of the memory, but at least the specification's minimum.
    pub max_mem_alloc_size: u64,
    /// Maximum size of a kernel's arguments in bytes.
    pub max_parameter_size: usize,
    /// Maximum size of a constant buffer in bytes. Constant memory is global memory.
    pub max_constant_buffer_size: u64,
    /// Maximum number of constant arguments of one kernel, limited by the size of the arguments.
    pub max_constant_args: u32,
    /// Maximum size of one program-scope variable in bytes.
    pub max_global_variable_size: usize,
    /// Maximum size of one launch's `printf` output in bytes.
    pub printf_buffer_size: usize,
    /// Alignment of a buffer's start, and thus of a sub-buffer's origin, in bytes: the size of the largest type of OpenCL C.
    pub base_address_align: usize,
    /// Maximum alignment of memory that is addressed by pointer: a huge page.
    pub max_alignment: usize,
    /// Size of a vector register in bytes.
    pub vector_bytes: u32,
    /// `CL_DEVICE_UUID`.
    pub device_uuid: [u8; 16],
    /// `CL_DRIVER_UUID`.
    pub driver_uuid: [u8; 16],
}

/// The limits of this machine's device, determined once.
pub fn limits() -> &'static Limits {
    static LIMITS: OnceLock<Limits> = OnceLock::new();
    LIMITS.get_or_init(|| Limits::of(Host::probe()))
}

/// Size of the largest types of OpenCL C (`long16`, `double16`), and thus their alignment.
const WIDEST_TYPE: usize = 128;

impl Limits {
    /// Preferred work-group size multiple, and minimum: the number of 32-bit lanes of a vector register. Kernels without
    /// vectorization benefit too, because uniform computations are done once per group.
    pub fn preferred_multiple(&self) -> usize {
        self.vector_bytes as usize / size_of::<u32>()
    }

    fn of(host: Host) -> Self {
        const MIB: u64 = 1 << 20;
        let max_mem_alloc_size = (host.memory_bytes / 2).max(32 * MIB);
        let max_parameter_size = 4096;
        Self {
            max_work_group_size: 4096,
            local_mem_size: if host.level_2_bytes >= MIB / 4 { MIB / 4 } else { 64 << 10 },
            max_mem_alloc_size,
            max_parameter_size,
            max_constant_buffer_size: max_mem_alloc_size,
            max_constant_args: (max_parameter_size / size_of::<u64>()) as u32,
            max_global_variable_size: clift_jit::spirv::MAX_GLOBAL_VARIABLE_BYTES as usize,
            printf_buffer_size: clift_runtime::printf::BUFFER_BYTES,
            base_address_align: WIDEST_TYPE,
            max_alignment: 2 * MIB as usize,
            vector_bytes: config().backend.vector_bytes(),
            device_uuid: uuid(&["device", &host.vendor, &host.model]),
            driver_uuid: uuid(&["driver", DRIVER_VERSION]),
            host,
        }
    }
}

/// An identifier that is the same in every process and after a reboot: a hash in the format of an RFC 9562 version-8 UUID.
fn uuid(parts: &[&str]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in [NAME].iter().chain(parts) {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_unique() {
        let names: Vec<&str> = EXTENSIONS.iter().map(|e| e.name).chain(OPENCL_C_FEATURES.iter().copied()).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() < cl::CL_NAME_VERSION_MAX_NAME_SIZE, "{name}");
            assert!(!names[..index].contains(name), "{name} twice");
        }
    }

    /// A program that searches a version string for any version finds the one that the string begins with.
    #[test]
    fn version_strings_contain_one_version() {
        let versions = (0..10).flat_map(|major| (0..10).map(move |minor| (major, minor)));
        for (text, version) in [(version_string(), OPENCL_VERSION), (opencl_c_version_string(), OPENCL_C_VERSION)] {
            let found: Vec<_> =
                versions.clone().filter(|(major, minor)| text.contains(&format!("{major}.{minor}"))).collect();
            assert_eq!(found, [version], "{text}");
        }
    }

    /// `clift-clc` and the tests of the front end compile for this device.
    #[test]
    fn the_front_ends_full_profile_is_the_devices() {
        let (device, full) = (profile(), Profile::full());
        let sorted = |list: &[&'static str]| list.iter().copied().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(sorted(&full.extensions), sorted(&device.extensions));
        assert_eq!(sorted(&full.features), sorted(&device.features));
        assert_eq!(sorted(&full.spirv_extensions), sorted(&device.spirv_extensions));
        assert_eq!(
            (full.opencl_version, full.images, full.bits_64),
            (device.opencl_version, device.images, device.bits_64)
        );
    }

    /// The features that extensions in the list imply, and those that queries require.
    #[test]
    fn features_agree_with_extensions() {
        let has = |name| EXTENSIONS.iter().any(|e| e.name == name);
        let feature = |name| OPENCL_C_FEATURES.contains(&name);
        assert!(feature("__opencl_c_int64"));
        assert_eq!(has("cl_khr_fp64"), feature("__opencl_c_fp64"));
        assert_eq!(
            has("cl_khr_integer_dot_product"),
            feature("__opencl_c_integer_dot_product_input_4x8bit")
                && feature("__opencl_c_integer_dot_product_input_4x8bit_packed")
        );
        assert_eq!(has("cl_khr_kernel_clock"), feature("__opencl_c_kernel_clock_scope_device"));
        assert_eq!(has("cl_ext_float_atomics"), feature("__opencl_c_ext_fp32_global_atomic_add"));
        assert_eq!(has("cl_ext_float_atomics"), feature("__opencl_c_ext_fp16_global_atomic_load_store"));
        let sub_groups = |e: &Extension| e.name.starts_with("cl_khr_subgroup_");
        assert!(feature("__opencl_c_subgroups") || !EXTENSIONS.iter().any(sub_groups));
        assert_eq!(has("cl_khr_subgroups"), feature("__opencl_c_subgroups"));
        assert_eq!(limits().max_global_variable_size > 0, feature("__opencl_c_program_scope_global_variables"));
    }

    /// The front end may use only SPIR-V extensions that the importer supports.
    #[test]
    fn spirv_extensions_are_known() {
        for name in SPIRV_EXTENSIONS {
            assert!(clift_jit::spirv::caps::SUPPORTED_EXTENSIONS.contains(name), "{name}");
        }
    }

    #[test]
    fn limits_meet_the_full_profile() {
        let limits = limits();
        assert!(limits.local_mem_size >= 32 << 10);
        assert!(limits.max_mem_alloc_size >= 32 << 20);
        assert!(limits.max_parameter_size >= 1024);
        assert!(limits.max_constant_buffer_size >= 64 << 10);
        assert!(limits.max_constant_args >= 8);
        assert!(limits.printf_buffer_size >= 1 << 20);
        assert!(limits.max_global_variable_size >= 64 << 10);
    }

    #[test]
    fn uuids_are_stable_and_differ() {
        assert_eq!(uuid(&["a", "b"]), uuid(&["a", "b"]));
        assert_ne!(uuid(&["a", "b"]), uuid(&["ab"]));
        assert_eq!(uuid(&["a"])[6] >> 4, 8);
    }
}
