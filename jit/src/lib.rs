//! Clift's kernel compiler.
//!
//! [`compile`] takes SPIR-V modules and gives a [`Program`]: for each kernel an entry in the form of
//! [`clift_include::abi`], what its arguments are, and what it needs. On the way: import (`spirv/`), canonical passes
//! (`passes/`), work-items to loops and lanes (`spmd/`), legalization and machine code (`codegen/`), in the order that
//! `pipeline.rs` states. The crate knows nothing of OpenCL handles, queues or threads.

pub mod builtins;
pub(crate) mod codegen;
pub(crate) mod guard;
pub mod options;
pub mod passes;
pub mod pipeline;
pub mod program;
pub mod specialize;
pub mod spirv;
pub mod spmd;
pub mod target;
#[cfg(feature = "testing")]
pub mod testing;

pub use options::{Backend, FastMath, Options};
pub use program::{
    AccessQualifier, AddressQualifier, ArgInfo, ArgKind, BuildError, ImportError, Kernel, ModuleSummary, Program,
    SpecConstant, TypeQualifiers,
};

/// One SPIR-V module that takes part in a build.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The module's words in host byte order.
    pub words: &'a [u32],
    /// Values of specialization constants by `SpecId`: little-endian bytes as `clSetProgramSpecializationConstant` got
    /// them. A constant not named keeps its default.
    pub spec_constants: &'a [(u32, Vec<u8>)],
    /// Whether our own front end made the module. Of what LLVM's SPIR-V back end wrote there more is known: what is a call of
    /// OpenCL C's `convert_float` to other producers is one of LLVM's instructions.
    pub compiled_here: bool,
}

impl<'a> Input<'a> {
    /// A module of any producer, with the defaults of its specialization constants.
    pub fn new(words: &'a [u32]) -> Self {
        Input { words, spec_constants: &[], compiled_here: false }
    }
}

/// Reads a module far enough for `clCreateProgramWithIL`: header, version, the instruction stream's shape, and the
/// specialization constants it declares. Accepts exactly the versions that [`SPIRV_VERSIONS`] lists.
///
/// # Errors
/// [`ImportError::Malformed`] when the words are no SPIR-V module of a supported version.
pub fn inspect(words: &[u32]) -> Result<ModuleSummary, ImportError> {
    spirv::inspect(words)
}

/// Checks one module completely without generating code: what `clCompileProgram` and a library link need. Unresolved
/// imports are allowed.
///
/// # Errors
/// As [`compile`].
pub fn check(input: &Input<'_>, options: &Options) -> Result<ModuleSummary, BuildError> {
    spirv::check(input, options)
}

/// Builds an executable program: links `inputs` (exports resolve imports), compiles every kernel.
///
/// # Errors
/// [`BuildError`] says whose fault it is and where; its `Display` is what goes into the build log.
pub fn compile(inputs: &[Input<'_>], options: &Options) -> Result<Program, BuildError> {
    pipeline::run(inputs, options)
}

/// SPIR-V versions accepted, as (major, minor), oldest first.
pub const SPIRV_VERSIONS: &[(u8, u8)] = &[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)];

/// Work-items that sub-groups of kernels may have, ascending: the lanes of packs, chosen where a kernel does not demand one.
pub const SUB_GROUP_SIZES: &[u32] = &[1, 4, 8, 16, 32];
