//! The capabilities and SPIR-V extensions that modules may declare, one table each. The tables are used to check modules and to
//! report to applications (`CL_DEVICE_SPIRV_CAPABILITIES_KHR`, `CL_DEVICE_SPIRV_EXTENSIONS_KHR`).
//!
//! Producers declare some capabilities without need. These are accepted but not reported: the module loads, and instructions that
//! need the missing feature are rejected individually.

use rspirv::spirv::Capability;

/// Whether a capability is offered to applications.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    /// Offered: every instruction it enables works.
    Reported,
    /// Modules that declare it load.
    Accepted,
}

const CAPABILITIES: &[(Capability, Support)] = &[
    (Capability::Addresses, Support::Reported),
    (Capability::Linkage, Support::Reported),
    (Capability::Kernel, Support::Reported),
    (Capability::Vector16, Support::Reported),
    (Capability::Float16Buffer, Support::Reported),
    (Capability::Float16, Support::Reported),
    (Capability::Float64, Support::Reported),
    (Capability::Int64, Support::Reported),
    (Capability::Int64Atomics, Support::Reported),
    (Capability::Int16, Support::Reported),
    (Capability::Int8, Support::Reported),
    (Capability::GenericPointer, Support::Reported),
    (Capability::UniformDecoration, Support::Reported),
    (Capability::DenormPreserve, Support::Reported),
    (Capability::SignedZeroInfNanPreserve, Support::Reported),
    (Capability::RoundingModeRTE, Support::Reported),
    (Capability::ExpectAssumeKHR, Support::Reported),
    (Capability::BitInstructions, Support::Reported),
    (Capability::AtomicFloat32AddEXT, Support::Reported),
    (Capability::AtomicFloat64AddEXT, Support::Reported),
    (Capability::AtomicFloat32MinMaxEXT, Support::Reported),
    (Capability::AtomicFloat64MinMaxEXT, Support::Reported),
    (Capability::DotProduct, Support::Reported),
    (Capability::DotProductInput4x8Bit, Support::Reported),
    (Capability::DotProductInput4x8BitPacked, Support::Reported),
    (Capability::DotProductInputAll, Support::Reported),
    (Capability::Matrix, Support::Accepted),
    // The SPIR-V-LLVM translator declares it for bit instructions. Modules for shaders have other memory models.
    (Capability::Shader, Support::Accepted),
    (Capability::ImageBasic, Support::Reported),
    (Capability::ImageReadWrite, Support::Reported),
    (Capability::ImageMipmap, Support::Reported),
    (Capability::LiteralSampler, Support::Reported),
    (Capability::Sampled1D, Support::Reported),
    (Capability::Image1D, Support::Reported),
    (Capability::SampledBuffer, Support::Reported),
    (Capability::ImageBuffer, Support::Reported),
    (Capability::ImageQuery, Support::Accepted),
    (Capability::Pipes, Support::Reported),
    (Capability::PipeStorage, Support::Reported),
    (Capability::Groups, Support::Reported),
    (Capability::SubgroupDispatch, Support::Reported),
    (Capability::NamedBarrier, Support::Reported),
    (Capability::DeviceEnqueue, Support::Reported),
    (Capability::GroupNonUniform, Support::Reported),
    (Capability::GroupNonUniformVote, Support::Reported),
    (Capability::GroupNonUniformArithmetic, Support::Reported),
    (Capability::GroupNonUniformBallot, Support::Reported),
    (Capability::GroupNonUniformShuffle, Support::Reported),
    (Capability::GroupNonUniformShuffleRelative, Support::Reported),
    (Capability::GroupNonUniformClustered, Support::Reported),
    (Capability::GroupNonUniformRotateKHR, Support::Reported),
    (Capability::GroupUniformArithmeticKHR, Support::Reported),
    (Capability::AtomicFloat16AddEXT, Support::Reported),
    (Capability::AtomicFloat16MinMaxEXT, Support::Reported),
    (Capability::OptNoneEXT, Support::Accepted),
    (Capability::ShaderClockKHR, Support::Reported),
    (Capability::FloatControls2, Support::Accepted),
    (Capability::FPMaxErrorINTEL, Support::Accepted),
    (Capability::MemoryAccessAliasingINTEL, Support::Accepted),
    // Lengths of runtime arrays are only for shaders.
    (Capability::UntypedPointersKHR, Support::Accepted),
    (Capability::FMAKHR, Support::Reported),
    (Capability::SubgroupShuffleINTEL, Support::Reported),
    (Capability::SubgroupBufferBlockIOINTEL, Support::Reported),
    (Capability::SubgroupImageBlockIOINTEL, Support::Reported),
    (Capability::FPFastMathModeINTEL, Support::Accepted),
    (Capability::BFloat16ConversionINTEL, Support::Accepted),
    (Capability::SplitBarrierINTEL, Support::Accepted),
    (Capability::ArithmeticFenceEXT, Support::Accepted),
    // Hints, and decorations for other kinds of devices.
    (Capability::UnstructuredLoopControlsINTEL, Support::Accepted),
    (Capability::KernelAttributesINTEL, Support::Accepted),
    (Capability::RegisterLimitsINTEL, Support::Accepted),
    (Capability::CacheControlsINTEL, Support::Accepted),
    (Capability::GlobalVariableHostAccessINTEL, Support::Accepted),
    (Capability::RuntimeAlignedAttributeALTERA, Support::Accepted),
    (Capability::LoopFuseALTERA, Support::Accepted),
    (Capability::FPGAKernelAttributesINTEL, Support::Accepted),
    (Capability::FPGALoopControlsALTERA, Support::Accepted),
    (Capability::FPGAMemoryAttributesALTERA, Support::Accepted),
    (Capability::FPGAMemoryAccessesALTERA, Support::Accepted),
    (Capability::FPGABufferLocationALTERA, Support::Accepted),
    (Capability::FPGARegALTERA, Support::Accepted),
    (Capability::GlobalVariableFPGADecorationsALTERA, Support::Accepted),
];

const EXTENSIONS: &[(&str, Support)] = &[
    ("SPV_KHR_no_integer_wrap_decoration", Support::Reported),
    ("SPV_KHR_linkonce_odr", Support::Reported),
    ("SPV_KHR_expect_assume", Support::Reported),
    ("SPV_KHR_bit_instructions", Support::Reported),
    ("SPV_KHR_float_controls", Support::Reported),
    ("SPV_KHR_non_semantic_info", Support::Reported),
    ("SPV_EXT_shader_atomic_float_add", Support::Reported),
    ("SPV_EXT_shader_atomic_float_min_max", Support::Reported),
    ("SPV_EXT_relaxed_printf_string_address_space", Support::Reported),
    ("SPV_EXT_shader_atomic_float16_add", Support::Reported),
    ("SPV_KHR_integer_dot_product", Support::Reported),
    ("SPV_KHR_uniform_group_instructions", Support::Reported),
    ("SPV_KHR_subgroup_rotate", Support::Reported),
    ("SPV_KHR_shader_clock", Support::Reported),
    ("SPV_KHR_float_controls2", Support::Accepted),
    ("SPV_EXT_optnone", Support::Accepted),
    ("SPV_INTEL_optnone", Support::Accepted),
    ("SPV_INTEL_fp_max_error", Support::Accepted),
    ("SPV_INTEL_memory_access_aliasing", Support::Accepted),
    ("SPV_KHR_untyped_pointers", Support::Accepted),
    ("SPV_KHR_poison_freeze", Support::Reported),
    ("SPV_KHR_fma", Support::Reported),
    ("SPV_INTEL_subgroups", Support::Reported),
    ("SPV_INTEL_fp_fast_math_mode", Support::Accepted),
    ("SPV_INTEL_bfloat16_conversion", Support::Accepted),
    ("SPV_INTEL_split_barrier", Support::Accepted),
    ("SPV_EXT_arithmetic_fence", Support::Accepted),
    ("SPV_INTEL_arithmetic_fence", Support::Accepted),
    ("SPV_INTEL_unstructured_loop_controls", Support::Accepted),
    ("SPV_INTEL_kernel_attributes", Support::Accepted),
    ("SPV_INTEL_maximum_registers", Support::Accepted),
    ("SPV_INTEL_cache_controls", Support::Accepted),
    ("SPV_INTEL_global_variable_host_access", Support::Accepted),
    ("SPV_INTEL_global_variable_decorations", Support::Accepted),
    ("SPV_INTEL_runtime_aligned", Support::Accepted),
    ("SPV_INTEL_loop_fuse", Support::Accepted),
    ("SPV_INTEL_fpga_loop_controls", Support::Accepted),
    ("SPV_INTEL_fpga_memory_attributes", Support::Accepted),
    ("SPV_INTEL_fpga_memory_accesses", Support::Accepted),
    ("SPV_INTEL_fpga_buffer_location", Support::Accepted),
    ("SPV_INTEL_fpga_reg", Support::Accepted),
    ("SPV_INTEL_global_variable_fpga_decorations", Support::Accepted),
    ("SPV_ALTERA_runtime_aligned", Support::Accepted),
    ("SPV_ALTERA_loop_fuse", Support::Accepted),
    ("SPV_ALTERA_fpga_loop_controls", Support::Accepted),
    ("SPV_ALTERA_fpga_memory_attributes", Support::Accepted),
    ("SPV_ALTERA_fpga_memory_accesses", Support::Accepted),
    ("SPV_ALTERA_fpga_buffer_location", Support::Accepted),
    ("SPV_ALTERA_fpga_reg", Support::Accepted),
    ("SPV_ALTERA_global_variable_fpga_decorations", Support::Accepted),
];

const fn reported_count() -> usize {
    let (mut count, mut i) = (0, 0);
    while i < CAPABILITIES.len() {
        count += matches!(CAPABILITIES[i].1, Support::Reported) as usize;
        i += 1;
    }
    count
}

const fn reported_capabilities() -> [Capability; reported_count()] {
    let mut list = [Capability::Kernel; reported_count()];
    let (mut count, mut i) = (0, 0);
    while i < CAPABILITIES.len() {
        if matches!(CAPABILITIES[i].1, Support::Reported) {
            list[count] = CAPABILITIES[i].0;
            count += 1;
        }
        i += 1;
    }
    list
}

const fn reported_extension_count() -> usize {
    let (mut count, mut i) = (0, 0);
    while i < EXTENSIONS.len() {
        count += matches!(EXTENSIONS[i].1, Support::Reported) as usize;
        i += 1;
    }
    count
}

const fn reported_extensions() -> [&'static str; reported_extension_count()] {
    let mut list = [""; reported_extension_count()];
    let (mut count, mut i) = (0, 0);
    while i < EXTENSIONS.len() {
        if matches!(EXTENSIONS[i].1, Support::Reported) {
            list[count] = EXTENSIONS[i].0;
            count += 1;
        }
        i += 1;
    }
    list
}

/// Capabilities offered to applications.
pub static SUPPORTED_CAPABILITIES: &[Capability] = &reported_capabilities();

/// SPIR-V extensions offered to applications.
pub static SUPPORTED_EXTENSIONS: &[&str] = &reported_extensions();

/// Whether a module that declares the capability loads.
pub(crate) fn accepts_capability(capability: Capability) -> bool {
    CAPABILITIES.iter().any(|&(known, _)| known == capability)
}

/// Whether a module that names the extension loads.
pub(crate) fn accepts_extension(name: &str) -> bool {
    EXTENSIONS.iter().any(|&(known, _)| known == name)
}

/// Extended instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtSet {
    /// `OpenCL.std`.
    OpenCl,
    /// `NonSemantic.Shader.DebugInfo.100`: source lines matter, the rest does not.
    DebugInfo,
    /// Debug information and other sets that do not affect execution.
    Ignored,
}

impl ExtSet {
    /// Whether its instructions may be skipped, and may be outside blocks.
    pub(crate) fn is_debug(self) -> bool {
        match self {
            ExtSet::OpenCl => false,
            ExtSet::DebugInfo | ExtSet::Ignored => true,
        }
    }

    /// The set with a name, if modules may import it.
    pub(crate) fn from_name(name: &str) -> Option<ExtSet> {
        match name {
            "OpenCL.std" => Some(ExtSet::OpenCl),
            "NonSemantic.Shader.DebugInfo.100" => Some(ExtSet::DebugInfo),
            "OpenCL.DebugInfo.100" | "DebugInfo" => Some(ExtSet::Ignored),
            _ => name.starts_with("NonSemantic.").then_some(ExtSet::Ignored),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_lists_are_subsets_without_duplicates() {
        assert!(SUPPORTED_CAPABILITIES.iter().all(|&c| accepts_capability(c)));
        assert!(SUPPORTED_CAPABILITIES.contains(&Capability::Kernel));
        assert!(!SUPPORTED_CAPABILITIES.contains(&Capability::Matrix));
        for (i, (capability, _)) in CAPABILITIES.iter().enumerate() {
            assert!(CAPABILITIES[..i].iter().all(|(c, _)| c != capability), "{capability:?}");
        }
        assert!(SUPPORTED_EXTENSIONS.iter().all(|name| accepts_extension(name)));
    }

    /// Capabilities from this number on are, or were, defined by extensions.
    const OF_EXTENSIONS: u32 = 4160;

    #[test]
    fn a_reported_capability_comes_with_its_extension() {
        let extension = |capability| match capability {
            Capability::DenormPreserve | Capability::SignedZeroInfNanPreserve | Capability::RoundingModeRTE => {
                "SPV_KHR_float_controls"
            }
            Capability::ExpectAssumeKHR => "SPV_KHR_expect_assume",
            Capability::BitInstructions => "SPV_KHR_bit_instructions",
            Capability::AtomicFloat32AddEXT | Capability::AtomicFloat64AddEXT => "SPV_EXT_shader_atomic_float_add",
            Capability::AtomicFloat16AddEXT => "SPV_EXT_shader_atomic_float16_add",
            Capability::AtomicFloat16MinMaxEXT
            | Capability::AtomicFloat32MinMaxEXT
            | Capability::AtomicFloat64MinMaxEXT => "SPV_EXT_shader_atomic_float_min_max",
            Capability::DotProduct
            | Capability::DotProductInput4x8Bit
            | Capability::DotProductInput4x8BitPacked
            | Capability::DotProductInputAll => "SPV_KHR_integer_dot_product",
            Capability::GroupNonUniformRotateKHR => "SPV_KHR_subgroup_rotate",
            Capability::GroupUniformArithmeticKHR => "SPV_KHR_uniform_group_instructions",
            Capability::ShaderClockKHR => "SPV_KHR_shader_clock",
            Capability::FMAKHR => "SPV_KHR_fma",
            Capability::SubgroupShuffleINTEL
            | Capability::SubgroupBufferBlockIOINTEL
            | Capability::SubgroupImageBlockIOINTEL => "SPV_INTEL_subgroups",
            other => panic!("{other:?}: its extension?"),
        };
        for &capability in SUPPORTED_CAPABILITIES.iter().filter(|&&capability| capability as u32 >= OF_EXTENSIONS) {
            assert!(SUPPORTED_EXTENSIONS.contains(&extension(capability)), "{capability:?}");
        }
    }
}
