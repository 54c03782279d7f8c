//! What a compilation is asked to do, and what the device has.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostics::WarningOptions;

/// What the device supports: the lists of the driver's capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// `__OPENCL_VERSION__`: 310 for OpenCL 3.1.
    pub opencl_version: u32,
    /// Extensions (`cl_khr_...`), each also a macro.
    pub extensions: Vec<&'static str>,
    /// Optional features of OpenCL C 3.0 (`__opencl_c_...`).
    pub features: Vec<&'static str>,
    /// SPIR-V extensions that the module may use.
    pub spirv_extensions: Vec<&'static str>,
    /// Whether images are supported (`__IMAGE_SUPPORT__`).
    pub images: bool,
    /// Whether pointers have 64 bits. 32 otherwise.
    pub bits_64: bool,
}

/// The extensions of [`Profile::full`].
const FULL_EXTENSIONS: &[&str] = &[
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_3d_image_writes",
    "cl_khr_depth_images",
    "cl_khr_device_enqueue_local_arg_types",
    "cl_khr_image2d_from_buffer",
    "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
    "cl_khr_srgb_image_writes",
    "cl_khr_extended_async_copies",
    "cl_khr_extended_bit_ops",
    "cl_khr_integer_dot_product",
    "cl_khr_kernel_clock",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_named_barrier",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroups",
    "cl_ext_float_atomics",
    "cl_intel_required_subgroup_size",
    "cl_intel_subgroup_local_block_io",
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_long",
    "cl_intel_subgroups_short",
];

/// The features of [`Profile::full`].
const FULL_FEATURES: &[&str] = &[
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

/// The extensions of SPIR-V of [`Profile::full`].
const FULL_SPIRV_EXTENSIONS: &[&str] = &[
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

impl Profile {
    /// A device with everything that Clift's driver has, for the program `clift-clc` and for tests.
    pub fn full() -> Self {
        Self {
            opencl_version: 310,
            extensions: FULL_EXTENSIONS.to_vec(),
            features: FULL_FEATURES.to_vec(),
            spirv_extensions: FULL_SPIRV_EXTENSIONS.to_vec(),
            images: true,
            bits_64: true,
        }
    }

    /// Whether the device has an extension.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains(&name)
    }

    /// Whether the device has a feature.
    pub fn has_feature(&self, name: &str) -> bool {
        self.features.contains(&name)
    }
}

/// A version of OpenCL C (`-cl-std`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// OpenCL C 1.0
    V1_0,
    /// OpenCL C 1.1
    V1_1,
    /// OpenCL C 1.2
    V1_2,
    /// OpenCL C 2.0
    V2_0,
    /// OpenCL C 3.0
    V3_0,
    /// OpenCL C 3.1
    V3_1,
}

impl Version {
    /// `__OPENCL_C_VERSION__`
    pub fn number(self) -> u32 {
        match self {
            Version::V1_0 => 100,
            Version::V1_1 => 110,
            Version::V1_2 => 120,
            Version::V2_0 => 200,
            Version::V3_0 => 300,
            Version::V3_1 => 310,
        }
    }
}

/// A `-D` or `-U`, in the order of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroOption {
    /// `-D NAME=TEXT`; `-D NAME` is `1`. A name may have a parameter list.
    Define(String, String),
    /// `-U NAME`
    Undefine(String),
}

/// Flags that change what arithmetic may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MathOptions {
    /// `-cl-single-precision-constant`
    pub single_precision_constant: bool,
    /// `-cl-denorms-are-zero`
    pub denorms_are_zero: bool,
    /// `-cl-fp32-correctly-rounded-divide-sqrt`
    pub correctly_rounded_divide_sqrt: bool,
    /// `-cl-mad-enable`
    pub mad_enable: bool,
    /// `-cl-no-signed-zeros`
    pub no_signed_zeros: bool,
    /// `-cl-unsafe-math-optimizations`
    pub unsafe_math: bool,
    /// `-cl-finite-math-only`
    pub finite_math_only: bool,
    /// `-cl-fast-relaxed-math`
    pub fast_relaxed_math: bool,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The language version.
    pub version: Version,
    /// Macros of the command line.
    pub macros: Vec<MacroOption>,
    /// Directories of `-I`, in order.
    pub include_directories: Vec<PathBuf>,
    /// Headers in memory (`clCompileProgram`): the name as `#include` writes it, and the text. They take precedence over files.
    pub headers: Vec<(String, Arc<[u8]>)>,
    /// `-include` files.
    pub forced_includes: Vec<String>,
    /// Warnings.
    pub warnings: WarningOptions,
    /// Arithmetic.
    pub math: MathOptions,
    /// `-cl-opt-disable`
    pub optimization_disabled: bool,
    /// `-cl-uniform-work-group-size`
    pub uniform_work_group_size: bool,
    /// `-cl-kernel-arg-info`
    pub kernel_arg_info: bool,
    /// `-g`: names and lines of variables too. Lines of instructions are always there.
    pub debug: bool,
    /// Whether it is a complete program, of which only kernels are called from outside: functions need no linkage, and what no
    /// kernel reaches is not emitted.
    pub whole_program: bool,
    /// Whether `__FILE__` and diagnostics call the main file this.
    pub main_name: String,
    /// The device.
    pub profile: Arc<Profile>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: Version::V1_2,
            macros: Vec::new(),
            include_directories: Vec::new(),
            headers: Vec::new(),
            forced_includes: Vec::new(),
            warnings: WarningOptions::default(),
            math: MathOptions::default(),
            optimization_disabled: false,
            uniform_work_group_size: false,
            kernel_arg_info: true,
            debug: false,
            whole_program: true,
            main_name: "program.cl".to_owned(),
            profile: Arc::new(Profile::default()),
        }
    }
}
