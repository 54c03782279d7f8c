//! Clift's kernel compiler.
//!
//! [`compile`] takes SPIR-V modules and returns a [`Program`]. For each kernel the program has an entry in the form of
//! [`clift_include::abi`], a description of the arguments, and the memory that a launch needs. The steps are: import (`spirv/`),
//! canonical passes (`passes/`), checks of accesses on request (`check/`), work-items to loops and lanes (`spmd/`),
//! legalization and machine code (`codegen/`). `pipeline/` fixes their order.
//!
//! Deliberately not here: OpenCL handles, queues and threads.

pub mod builtins;
#[cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]
mod check;
#[cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]
pub(crate) mod codegen;
pub(crate) mod guard;
pub mod options;
#[cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]
pub mod passes;
pub mod pipeline;
pub mod program;
pub mod specialize;
#[cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]
pub mod spirv;
#[cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]
pub mod spmd;
pub mod target;
#[cfg(feature = "testing")]
pub mod testing;

pub use codegen::code_map::{contains as is_code, place as place_of_code};
pub use codegen::process_lock::{ForkLocks, lock_for_fork};
pub use codegen::symbols::{SymbolReaders, publish_symbols};
pub use options::{BackendChoice, Checks, FastMath, Options, Parallel};
pub use program::{
    AccessQualifier, AddressQualifier, ArgInfo, ArgKind, BuildError, ImportError, Kernel, ModuleSummary, Program,
    SpecConstant, TypeQualifiers,
};
pub use specialize::{ArgFacts, DecidingConstants, LaunchConstants};
pub use spmd::report::work::{Work, WorkEstimate};

/// One SPIR-V module of a build.
#[derive(Clone, Debug)]
pub struct ModuleInput<'a> {
    /// The module's words in host byte order.
    pub words: &'a [u32],
    /// Values of specialization constants by `SpecId`: little-endian bytes as passed to `clSetProgramSpecializationConstant`. A
    /// constant that is not listed keeps its default.
    pub spec_constants: &'a [(u32, Vec<u8>)],
    /// Whether our own front end made the module with LLVM's SPIR-V back end. Such modules are known better: a call that in other
    /// producers' modules means OpenCL C's `convert_float` stands here for one of LLVM's instructions.
    pub compiled_here: bool,
}

impl<'a> ModuleInput<'a> {
    /// A module of any producer, with default values for its specialization constants.
    pub fn new(words: &'a [u32]) -> Self {
        ModuleInput { words, spec_constants: &[], compiled_here: false }
    }
}

/// Reads as much of a module as `clCreateProgramWithIL` needs: the header, the version, the lengths of instructions, and the
/// specialization constants. Accepts exactly the versions in [`SPIRV_VERSIONS`].
///
/// # Errors
/// [`ImportError::Malformed`] when the words are not a SPIR-V module of a supported version.
pub fn inspect(words: &[u32]) -> Result<ModuleSummary, ImportError> {
    spirv::inspect(words)
}

/// Checks one module completely without generating code. `clCompileProgram` and the linking of libraries use this. Unresolved
/// imports are allowed.
///
/// # Errors
/// As [`compile`].
pub fn check(input: &ModuleInput<'_>, options: &Options) -> Result<ModuleSummary, BuildError> {
    spirv::check(input, options)
}

/// Builds an executable program: links `inputs` (exports resolve imports) and compiles every kernel.
///
/// # Errors
/// [`BuildError`] says what is at fault and where; its `Display` text goes into the build log.
pub fn compile(inputs: &[ModuleInput<'_>], options: &Options) -> Result<Program, BuildError> {
    pipeline::run(inputs, options)
}

/// SPIR-V versions accepted, as (major, minor), oldest first.
pub const SPIRV_VERSIONS: &[(u8, u8)] = &[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)];

/// Sub-group sizes that the vectorizer may choose, in ascending order. A kernel can require others.
pub const SUB_GROUP_SIZES: &[u32] = &[1, 4, 8, 16, 32];
