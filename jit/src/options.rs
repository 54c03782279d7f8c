//! What a build may choose. The front end maps OpenCL's `-cl-*` strings to this; nothing below parses strings.

/// Options of one build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `-cl-opt-disable`: only the passes that correctness needs.
    pub opt_disable: bool,
    /// Liberties with floating point.
    pub fast_math: FastMath,
    /// `-cl-uniform-work-group-size`, or a language version without non-uniform groups: every group is full.
    pub uniform_work_groups: bool,
    /// Keep argument names and types for `clGetKernelArgInfo`.
    pub arg_info: bool,
    /// What executes the kernels.
    pub backend: Backend,
    /// Lanes per pack, when forced (`CLIFT_WIDTH`).
    pub width: Option<u32>,
    /// Stages to print to the log, by name (`CLIFT_DEBUG`).
    pub dump: Vec<String>,
}

/// Floating-point liberties a build grants, each an OpenCL build option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastMath {
    /// `-cl-mad-enable`: multiply-add may contract or not.
    pub mad_enable: bool,
    /// `-cl-no-signed-zeros`.
    pub no_signed_zeros: bool,
    /// `-cl-unsafe-math-optimizations`.
    pub unsafe_math: bool,
    /// `-cl-finite-math-only`.
    pub finite_only: bool,
    /// `-cl-denorms-are-zero`: permission, not a demand; ignored where keeping denormals is as fast.
    pub denorms_are_zero: bool,
    /// `-cl-fast-relaxed-math`.
    pub relaxed: bool,
}

/// What executes a program's kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Machine code with vectors of 512 bits where the machine has them, else by Cranelift.
    #[default]
    Auto,
    /// Machine code by Cranelift.
    Clif,

    /// The reference interpreter (`CLIFT_BACKEND=interp`): slow, observes undefined behaviour.
    Interp,
}

impl Backend {
    /// Bytes of the longest vectors that it uses on this machine.
    pub fn vector_bytes(self) -> u32 {
        const OF_CRANELIFT: u32 = 16;
        match self {
            Backend::Auto => super::codegen::x86::vector_bytes().unwrap_or(OF_CRANELIFT),
            Backend::Clif | Backend::Interp => OF_CRANELIFT,
        }
    }
}
