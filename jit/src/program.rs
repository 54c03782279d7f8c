//! What a build gives: the program, its kernels, and the errors that say why there is none.

use std::any::Any;
use std::sync::Arc;

use clift_include::abi::{ArgSlot, KernelEntry, Resources};

use super::specialize::Specializations;

/// An executable program. Code and program-scope variables live as long as any clone of [`Program::memory`].
#[derive(Debug)]
pub struct Program {
    /// Kernels in the order of the modules' entry points.
    pub kernels: Vec<Kernel>,
    /// Remarks for the build log; empty when there is nothing to say.
    pub log: String,
    /// Bytes of program-scope variables in global memory (`CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE`).
    pub global_variable_bytes: u64,
    /// Keeps machine code and program-scope variables alive; hold a clone while a launch may run.
    pub memory: Arc<dyn Any + Send + Sync>,
}

/// One kernel of a [`Program`].
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the entry point.
    pub name: String,
    /// How to run it.
    pub entry: KernelEntry,
    /// Memory it needs.
    pub resources: Resources,
    /// Its parameters in order.
    pub args: Vec<ArgInfo>,
    /// `reqd_work_group_size` (execution mode LocalSize, LocalSizeId).
    pub required_local_size: Option<[u64; 3]>,
    /// `work_group_size_hint` (LocalSizeHint).
    pub local_size_hint: Option<[u64; 3]>,
    /// Text of `vec_type_hint`, as OpenCL C spells the type.
    pub vec_type_hint: Option<String>,
    /// Sub-groups that a work-group must have (`SubgroupsPerWorkgroup`; `CL_KERNEL_COMPILE_NUM_SUB_GROUPS`).
    pub required_sub_groups: Option<u64>,
    /// Work-items that a sub-group must have (`SubgroupSize`; `CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL`).
    pub required_sub_group_size: Option<u32>,
    /// Private memory per work-item that stayed in memory, in bytes (`CL_KERNEL_PRIVATE_MEM_SIZE`).
    pub private_bytes: u64,
    /// Whether it contains a work-group barrier.
    pub has_barrier: bool,
    /// Its code for the images of a launch. `None` unless it accesses images; else [`Kernel::entry`] is for no launch.
    pub specializations: Option<Arc<Specializations>>,
}

/// One kernel parameter.
#[derive(Clone, Debug)]
pub struct ArgInfo {
    /// What `clSetKernelArg` has to accept.
    pub kind: ArgKind,
    /// Where the value goes in the argument block.
    pub slot: ArgSlot,
    /// `CL_KERNEL_ARG_ADDRESS_QUALIFIER`.
    pub address: AddressQualifier,
    /// `CL_KERNEL_ARG_ACCESS_QUALIFIER`.
    pub access: AccessQualifier,
    /// `CL_KERNEL_ARG_TYPE_QUALIFIER`.
    pub qualifiers: TypeQualifiers,
    /// Whether the kernel is known to write through it, for a pointer; where that cannot be seen, it is not.
    pub written: bool,
    /// Bytes that the object behind a pointer may have, where the module says so (`MaxByteOffset`).
    pub max_bytes: Option<u64>,
    /// `CL_KERNEL_ARG_NAME`, when the module carries names.
    pub name: Option<String>,
    /// `CL_KERNEL_ARG_TYPE_NAME`, when the module carries type names.
    pub type_name: Option<String>,
}

/// The class of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Plain data of `ArgSlot::size` bytes.
    Value,
    /// Pointer to `__global` memory: a buffer, or NULL.
    GlobalPointer,
    /// Pointer to `__constant` memory: a buffer, or NULL.
    ConstantPointer,
    /// Pointer to `__local` memory: a size, no value. The alignment the pointee needs, in bytes.
    LocalPointer {
        /// Alignment of the pointee in bytes, a power of two.
        align: u32,
    },
    /// An image.
    Image,
    /// A sampler.
    Sampler,
    /// A pipe.
    Pipe,
    /// A device queue.
    Queue,
}

/// Address space of a pointer parameter; `Private` for values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressQualifier {
    /// `__global`.
    Global,
    /// `__local`.
    Local,
    /// `__constant`.
    Constant,
    /// By value.
    Private,
}

/// Access of an image or pipe parameter; `None` for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessQualifier {
    /// `read_only`.
    ReadOnly,
    /// `write_only`.
    WriteOnly,
    /// `read_write`.
    ReadWrite,
    /// Neither an image nor a pipe.
    None,
}

/// Type qualifiers of a parameter's pointee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeQualifiers {
    /// `const` (always set for `__constant` pointers).
    pub is_const: bool,
    /// `restrict`.
    pub is_restrict: bool,
    /// `volatile`.
    pub is_volatile: bool,
    /// `pipe`.
    pub is_pipe: bool,
}

/// What a module declares, without code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleSummary {
    /// SPIR-V version (major, minor).
    pub version: (u8, u8),
    /// Specialization constants.
    pub spec_constants: Vec<SpecConstant>,
    /// Names of the entry points in module order.
    pub kernel_names: Vec<String>,
}

/// A specialization constant a module declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its `SpecId`.
    pub id: u32,
    /// Bytes that `clSetProgramSpecializationConstant` must be given: 1 for bool.
    pub size: u32,
}

/// Why a module cannot be used. Positions are word offsets from the start of the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The module breaks SPIR-V's rules: the producer's or the application's fault.
    #[error("malformed SPIR-V at word {word} ({instruction}): {reason}")]
    Malformed {
        /// Word offset of the instruction.
        word: usize,
        /// The instruction's name, or what stands there.
        instruction: String,
        /// The rule broken.
        reason: String,
    },
    /// A valid module that needs something this driver does not offer.
    #[error("unsupported SPIR-V at word {word} ({instruction}): {reason}")]
    Unsupported {
        /// Word offset of the instruction.
        word: usize,
        /// The instruction's name.
        instruction: String,
        /// What is missing.
        reason: String,
    },
}

impl ImportError {
    /// A [`ImportError::Malformed`] that concerns no particular instruction.
    pub fn malformed(word: usize, reason: impl Into<String>) -> Self {
        Self::Malformed { word, instruction: "module".to_owned(), reason: reason.into() }
    }
}

/// Why a build failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A module could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Modules do not fit together: an import without an export, two exports of one name, types that differ.
    #[error("link error: {0}")]
    Link(String),
    /// A kernel exceeds a limit of the device.
    #[error("limit exceeded: {0}")]
    Limit(String),
    /// Our own mistake; never expected. The message names the stage and the broken invariant.
    #[error("internal error: {0}")]
    Internal(String),
}

impl BuildError {
    /// The error with the kernel it is about. Errors of modules name their places themselves.
    pub(crate) fn in_kernel(self, name: &str) -> BuildError {
        match self {
            BuildError::Limit(text) => BuildError::Limit(format!("kernel {name}: {text}")),
            BuildError::Internal(text) => BuildError::Internal(format!("kernel {name}: {text}")),
            BuildError::Import(_) | BuildError::Link(_) => self,
        }
    }
}
