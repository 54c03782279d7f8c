//! The result of a build: the program and its kernels, or the error that explains the failure.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use clift_include::abi::{ArgSlot, KernelEntry, Resources};
use clift_include::check::KernelChecks;

use super::specialize::Specializations;
use super::spmd::report::work::WorkEstimate;

/// An executable program. Code and program-scope variables live as long as any clone of [`Program::memory`].
#[derive(Debug)]
pub struct Program {
    /// Kernels in the order of the modules' entry points.
    pub kernels: Vec<Kernel>,
    /// Kernels that only kernels enqueue, by the number in their requests. The first argument is the captures, the others are
    /// local memory.
    pub children: Vec<Kernel>,
    /// Remarks for the build log; empty if there are none.
    pub log: String,
    /// Bytes of program-scope variables in global memory (`CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE`).
    pub global_variable_bytes: u64,
    /// Addresses of the program-scope variables.
    pub data: Range<u64>,
    /// Keeps machine code and program-scope variables alive; hold a clone while a launch may run.
    pub memory: Arc<dyn Any + Send + Sync>,
}

/// One kernel of a [`Program`].
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the entry point.
    pub name: String,
    /// The entry that runs it.
    pub entry: KernelEntry,
    /// The memory it needs.
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
    /// Private memory per work-item that was not promoted to registers, in bytes (`CL_KERNEL_PRIVATE_MEM_SIZE`).
    pub private_bytes: u64,
    /// Whether it contains a work-group barrier.
    pub has_barrier: bool,
    /// Whether it is faster in work-groups that are tiles, short along x and tall along y: some of its accesses are contiguous
    /// along y only.
    pub prefers_tiles: bool,
    /// Rows of a work-group that are executed together, if their number is a multiple of it; 1 for one after the other.
    pub rows: u32,
    /// Whether it makes requests of device-side enqueue.
    pub enqueues: bool,
    /// Whether [`Kernel::entry`] must not be launched if the kernel writes memory of one pointer argument that is also memory
    /// of another one: its code takes these accesses for independent.
    pub assumes_separate_args: bool,
    /// Code for certain launches. If the kernel accesses images, [`Kernel::entry`] must not be launched.
    pub specializations: Option<Arc<Specializations>>,
    /// What its code checks; `None` if it checks nothing.
    pub checks: Option<Arc<KernelChecks>>,
    /// What its work-items compute, if there was a trace when it was built.
    pub work: Option<Arc<WorkEstimate>>,
}

/// One kernel parameter.
#[derive(Clone, Debug)]
pub struct ArgInfo {
    /// The kind of value that `clSetKernelArg` must accept.
    pub kind: ArgKind,
    /// The place of the value in the argument block.
    pub slot: ArgSlot,
    /// `CL_KERNEL_ARG_ADDRESS_QUALIFIER`.
    pub address: AddressQualifier,
    /// `CL_KERNEL_ARG_ACCESS_QUALIFIER`.
    pub access: AccessQualifier,
    /// `CL_KERNEL_ARG_TYPE_QUALIFIER`.
    pub qualifiers: TypeQualifiers,
    /// For a pointer: whether the kernel is known to write through it. False if this could not be determined.
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
    /// Pointer to `__local` memory: the argument is a size without a value.
    LocalPointer {
        /// Alignment of the pointee in bytes, a power of two.
        align: u32,
    },
    /// An image.
    Image {
        /// Its number of dimensions; 1 for an image created from a buffer.
        dimensions: u32,
        /// Whether it is an array.
        arrayed: bool,
    },
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
    /// Bytes of the value that `clSetProgramSpecializationConstant` must get; 1 for a Boolean.
    pub size: u32,
}

/// Why a module cannot be used. Positions are word offsets from the start of the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The module violates the SPIR-V specification. The producer or the application is at fault.
    #[error("malformed SPIR-V at word {word} ({instruction}): {reason}")]
    Malformed {
        /// Word offset of the instruction.
        word: usize,
        /// The instruction's name, or a description of what was found there.
        instruction: String,
        /// The violated rule.
        reason: String,
    },
    /// The module is valid, but needs something that this driver does not support.
    #[error("unsupported SPIR-V at word {word} ({instruction}): {reason}")]
    Unsupported {
        /// Word offset of the instruction.
        word: usize,
        /// The instruction's name.
        instruction: String,
        /// The missing feature.
        reason: String,
    },
}

impl ImportError {
    /// An [`ImportError::Malformed`] that is not about one particular instruction.
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
    /// The modules do not fit together: an import without an export, two exports with one name, or different types.
    #[error("link error: {0}")]
    Link(String),
    /// A kernel exceeds a limit of the device.
    #[error("limit exceeded: {0}")]
    Limit(String),
    /// A bug of the compiler. The message names the stage and the broken invariant.
    #[error("internal error: {0}")]
    Internal(String),
}

impl BuildError {
    /// Adds the name of the kernel to the error. Errors about modules already say where they are.
    pub(crate) fn in_kernel(self, name: &str) -> BuildError {
        match self {
            BuildError::Limit(text) => BuildError::Limit(format!("kernel {name}: {text}")),
            BuildError::Internal(text) => BuildError::Internal(format!("kernel {name}: {text}")),
            BuildError::Import(_) | BuildError::Link(_) => self,
        }
    }

    /// Adds the name of the function to the error.
    pub(crate) fn in_function(self, name: &str) -> BuildError {
        match self {
            BuildError::Limit(text) => BuildError::Limit(format!("function {name}: {text}")),
            BuildError::Internal(text) => BuildError::Internal(format!("function {name}: {text}")),
            BuildError::Import(_) | BuildError::Link(_) => self,
        }
    }
}
