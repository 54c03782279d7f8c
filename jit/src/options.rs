//! The options of a build. The front end maps OpenCL's `-cl-*` strings to these; nothing below it parses strings.

use crate::codegen::x86::{Level, X86Backend};
use crate::pipeline::REPORT;

/// Options of one build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `-cl-opt-disable`: only the passes that correctness needs.
    pub opt_disable: bool,
    /// Fast-math flags.
    pub fast_math: FastMath,
    /// `-cl-uniform-work-group-size`, or a language version without non-uniform groups: every group is full.
    pub uniform_work_groups: bool,
    /// The runtime asks for other code ([`crate::specialize`]) for launches in which the memory of several pointer arguments
    /// overlaps: all other code takes their accesses for independent.
    pub separate_args: bool,
    /// `-cl-no-subgroup-ifp`: no sub-group waits in a loop for another one of its work-group.
    pub dependent_sub_groups: bool,
    /// Keep argument names and types for `clGetKernelArgInfo`.
    pub arg_info: bool,
    /// What executes the kernels.
    pub backend: BackendChoice,
    /// Lanes per pack, when forced (`CLIFT_WIDTH`).
    pub width: Option<u32>,
    /// Rows of a work-group that are executed together wherever that is possible, a power of two, when forced (`CLIFT_ROWS`).
    pub rows: Option<u32>,
    /// Iterations of a loop that are executed together wherever that is possible in kernels with one lane, a power of two, when
    /// forced (`CLIFT_LOOP_WIDTH`); with 1 none are.
    pub loop_lanes: Option<u32>,
    /// The most instructions of a kernel into which all functions are inlined, instead of the usual number (`CLIFT_INLINE`).
    /// With 0, every function is called for which that is possible.
    pub inline_limit: Option<usize>,
    /// Bytes of memory that the build of a kernel may take; `None` for any number.
    pub build_memory: Option<u64>,
    /// The code is for launches with work-groups of one work-item only. The pipeline sets it for specializations.
    pub single_items: bool,
    /// What the code of kernels checks while it runs (`CLIFT_CHECK`).
    pub checks: Checks,
    /// Stages to print to the log, by name (`CLIFT_DEBUG`).
    pub dump: Vec<String>,
    /// How the kernels of a large module are compiled at the same time.
    pub parallel: Parallel,
}

/// What does pieces of work at the same time; by default, the calling thread does one after the other. The result of a build
/// does not depend on it.
#[derive(Clone, Copy)]
pub struct Parallel(
    /// Does the work for all numbers below the first argument, each once, and returns when all of it is done.
    pub fn(usize, &(dyn Fn(usize) + Sync)),
);

impl Default for Parallel {
    fn default() -> Parallel {
        Parallel(|count, work| (0..count).for_each(work))
    }
}

impl std::fmt::Debug for Parallel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parallel")
    }
}

impl PartialEq for Parallel {
    fn eq(&self, _: &Parallel) -> bool {
        true
    }
}

impl Eq for Parallel {}

/// Bytes that a build takes for an instruction of the kernel after inlining, measured with the kernels of `growth` (an example of
/// `clift-icd`).
const BYTES_PER_INST: u64 = 5 << 10;
/// A kernel with more instructions takes minutes to build, however much memory there is.
const MAX_INSTS: usize = 4_000_000;
/// Every machine can build kernels of so many instructions.
const MIN_INSTS: usize = 100_000;

impl Options {
    /// The most instructions of a kernel after inlining.
    pub(crate) fn most_insts(&self) -> usize {
        let by_memory = self.build_memory.map_or(MAX_INSTS, |bytes| (bytes / BYTES_PER_INST) as usize);
        by_memory.clamp(MIN_INSTS, MAX_INSTS)
    }

    /// Whether the log contains the vectorizer's report.
    pub(crate) fn reports_vectorization(&self) -> bool {
        self.dump.iter().any(|name| name == REPORT)
    }

    /// Whether the log contains code of some stage.
    pub(crate) fn dumps_code(&self) -> bool {
        self.dump.iter().any(|name| name != REPORT)
    }
}

/// What the code of kernels checks while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Accesses against the objects that their pointers belong to.
    pub memory: bool,
    /// Uses of local and private memory that has not been written.
    pub uninit: bool,
    /// Accesses of several work-items of a group to the same memory that no barrier orders.
    pub race: bool,
    /// Barriers that not all work-items reach together.
    pub barrier: bool,
}

impl Checks {
    /// Whether nothing is checked.
    pub fn is_empty(self) -> bool {
        self == Checks::default()
    }

    /// About how many instructions the checks add to each access to memory that is not private.
    pub(crate) fn insts_of_access(self) -> u64 {
        let of = |checked: bool, insts: u64| if checked { insts } else { 0 };
        of(self.memory || self.race, 8) + of(self.uninit, 4) + of(self.race, 16)
    }

    /// Whether the work-items of a group are observed together.
    pub fn concern_groups(self) -> bool {
        self.race || self.barrier
    }
}

/// Fast-math flags of a build. Each one is an OpenCL build option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastMath {
    /// `-cl-mad-enable`: a multiplication and an addition may be fused.
    pub mad_enable: bool,
    /// `-cl-no-signed-zeros`.
    pub no_signed_zeros: bool,
    /// `-cl-unsafe-math-optimizations`.
    pub unsafe_math: bool,
    /// `-cl-finite-math-only`.
    pub finite_only: bool,
    /// `-cl-denorms-are-zero`. This is a permission; it is ignored where preserving denormals costs nothing.
    pub denorms_are_zero: bool,
    /// `-cl-fast-relaxed-math`.
    pub relaxed: bool,
}

/// The user's choice of what executes the kernels of a program (`CLIFT_BACKEND`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The x86 backend where the machine has AVX-512 (512-bit vectors) or AVX2 (256-bit vectors), else Cranelift.
    #[default]
    Auto,
    /// The x86 backend as on a processor with the AVX-512 of Skylake: without byte permutations and population counts.
    Skylake,
    /// The x86 backend as on a processor without AVX-512: 256-bit vectors.
    Avx2,
    /// Cranelift: machine code with 128-bit vectors.
    Cranelift,
    /// The reference interpreter: slow, but reports undefined behaviour.
    Interp,
}

impl BackendChoice {
    /// All choices by the names that users give them.
    pub const NAMES: [(&'static str, BackendChoice); 5] = [
        ("auto", BackendChoice::Auto),
        ("skylake", BackendChoice::Skylake),
        ("avx2", BackendChoice::Avx2),
        ("cranelift", BackendChoice::Cranelift),
        ("interp", BackendChoice::Interp),
    ];

    /// Whether this choice executes kernels in another way than the ones before it do on this machine.
    pub fn is_distinct(self) -> bool {
        // Without a level, it is Cranelift or the interpreter.
        let way = |choice| (X86Backend::level(choice), choice == BackendChoice::Interp);
        let mut before = Self::NAMES.iter().map(|&(_, choice)| choice).take_while(|&choice| choice != self);
        !before.any(|other| way(other) == way(self))
    }

    /// Bytes of the longest vectors that the choice uses on this machine.
    pub fn vector_bytes(self) -> u32 {
        const OF_CRANELIFT: u32 = 16;
        match self {
            BackendChoice::Auto | BackendChoice::Skylake | BackendChoice::Avx2 => {
                X86Backend::level(self).map_or(OF_CRANELIFT, Level::vector_bytes)
            }
            BackendChoice::Cranelift | BackendChoice::Interp => OF_CRANELIFT,
        }
    }
}
