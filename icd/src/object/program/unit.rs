//! The parts of programs: translation units, and the executable that the kernel compiler creates from them.
//!
//! A [`Unit`] is one SPIR-V module with the options it was compiled with. A compiled object has one unit, a library any number.
//! The kernel compiler links them: it takes all units at once. Everything here is immutable and independent of OpenCL objects, so
//! concurrent builds need no lock.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_jit::pipeline::REPORT;
use clift_jit::{ArgKind, BuildError, FastMath, ModuleInput, Options};
use clift_runtime::enqueue::{ChildKernel, ChildKernels, LocalArg};
use clift_runtime::pool;

use crate::caps::limits;
use crate::frontend::{Attempt, BuildOptions, Compiler, Header, Job, KernelReflection, Profile};
use crate::object::launch_info::KernelLaunches;
use crate::object::launch_limits;

/// One module and its origin.
#[derive(Debug)]
pub struct Unit {
    words: Vec<u32>,
    /// Values of specialization constants at the time of the build, by `SpecId`.
    spec_constants: Vec<(u32, Vec<u8>)>,
    /// The option string, and its parsed form.
    options_text: String,
    options: BuildOptions,
    /// Whether the module came from OpenCL C, so that the language version affects work-group sizes.
    from_source: bool,
    /// The source, to query kernels from the front end; absent if the unit came from a program binary.
    recipe: Option<Recipe>,
    kernels: OnceLock<Vec<KernelReflection>>,
}

/// A source and its headers, kept for later queries.
#[derive(Debug)]
struct Recipe {
    source: Arc<Vec<u8>>,
    headers: Vec<Header>,
    profile: Arc<Profile>,
    compiler: &'static Compiler,
    attempt: Attempt,
}

/// The environment in which a source is compiled.
#[derive(Clone, Debug)]
pub struct FrontEndContext {
    /// The compiler.
    pub compiler: &'static Compiler,
    /// The device's profile.
    pub profile: Arc<Profile>,
}

impl Unit {
    /// Compiles OpenCL C in one way, as a whole program or a part of one. Returns the unit and the warnings.
    ///
    /// # Errors
    /// The build log of a failed compilation.
    pub fn from_source(
        context: &FrontEndContext,
        source: Arc<Vec<u8>>,
        headers: Vec<Header>,
        options_text: String,
        options: BuildOptions,
        (attempt, whole): (Attempt, bool),
    ) -> Result<(Self, String), String> {
        let (profile, level) = (&context.profile, attempt.level);
        let job = Job { source: &source, headers: &headers, options: &options, profile, level, whole };
        let started = Instant::now();
        let compiled = context.compiler.compile(&job, attempt);
        let micros = started.elapsed().as_micros() as u64;
        tracing::debug!(target: "clift::time", stage = "front end", what = context.compiler.name(attempt), micros);
        let compiled = compiled.map_err(|failure| failure.log)?;
        let recipe = Recipe { source, headers, profile: profile.clone(), compiler: context.compiler, attempt };
        let unit = Self {
            words: compiled.words,
            spec_constants: Vec::new(),
            options_text,
            options,
            from_source: true,
            recipe: Some(recipe),
            kernels: compiled.kernels.map(OnceLock::from).unwrap_or_default(),
        };
        Ok((unit, compiled.log))
    }

    /// A unit from a given SPIR-V module.
    pub fn from_il(
        words: Vec<u32>,
        spec_constants: Vec<(u32, Vec<u8>)>,
        options_text: String,
        options: BuildOptions,
    ) -> Self {
        Self {
            words,
            spec_constants,
            options_text,
            options,
            from_source: false,
            recipe: None,
            kernels: OnceLock::from(Vec::new()),
        }
    }

    /// A unit from a program binary.
    pub(super) fn from_binary(
        words: Vec<u32>,
        spec_constants: Vec<(u32, Vec<u8>)>,
        options_text: String,
        options: BuildOptions,
        from_source: bool,
        kernels: Vec<KernelReflection>,
    ) -> Self {
        Self {
            words,
            spec_constants,
            options_text,
            options,
            from_source,
            recipe: None,
            kernels: OnceLock::from(kernels),
        }
    }

    /// The module.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Values of specialization constants.
    pub fn spec_constants(&self) -> &[(u32, Vec<u8>)] {
        &self.spec_constants
    }

    /// The option string it was compiled with.
    pub fn options_text(&self) -> &str {
        &self.options_text
    }

    /// Whether the module came from OpenCL C.
    pub fn is_from_source(&self) -> bool {
        self.from_source
    }

    /// Whether the application requested argument information.
    pub fn has_arg_info(&self) -> bool {
        self.options.kernel_arg_info
    }

    /// Whether its kernels require work-groups of uniform size.
    pub fn needs_uniform_work_groups(&self) -> bool {
        self.options.uniform_work_groups || (self.from_source && !self.options.language().non_uniform_work_groups())
    }

    /// What the source declares about its kernels, queried from the front end the first time. Empty for modules that did not come
    /// from OpenCL C, and when the front end fails.
    pub fn kernels(&self) -> &[KernelReflection] {
        self.kernels.get_or_init(|| {
            let Some(recipe) = &self.recipe else { return Vec::new() };
            let job = Job {
                source: &recipe.source,
                headers: &recipe.headers,
                options: &self.options,
                profile: &recipe.profile,
                level: 0,
                whole: false,
            };
            recipe.compiler.describe(&job, recipe.attempt).unwrap_or_else(|failure| {
                tracing::warn!(target: "clift::build", "kernels could not be described: {failure}");
                Vec::new()
            })
        })
    }

    /// Checks the module without generating code.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, base: &Options) -> Result<(), BuildError> {
        let options = combined(base, &[self], None);
        clift_jit::check(&self.input(), &options).map(drop)
    }

    fn input(&self) -> ModuleInput<'_> {
        ModuleInput { words: &self.words, spec_constants: &self.spec_constants, compiled_here: self.from_source }
    }
}

/// An executable program.
#[derive(Debug)]
pub struct Executable {
    /// The code, and information about it.
    pub program: clift_jit::Program,
    /// By kernel, its launches so far.
    pub launches: Vec<KernelLaunches>,
    /// The kernels that its kernels enqueue.
    pub children: Arc<ChildKernels>,
    /// The units it was linked from.
    pub units: Vec<Arc<Unit>>,
    /// Whether its kernels require work-groups of uniform size.
    pub uniform_work_groups: bool,
}

impl Executable {
    /// Compiles units to code. Returns the executable and remarks for the log.
    ///
    /// # Errors
    /// An error in the units, or an internal error.
    pub fn link(
        units: Vec<Arc<Unit>>,
        link_options: Option<&BuildOptions>,
        base: &Options,
    ) -> Result<(Self, String), BuildError> {
        let parts: Vec<&Unit> = units.iter().map(Arc::as_ref).collect();
        let options = combined(base, &parts, link_options);
        let inputs: Vec<ModuleInput<'_>> = parts.iter().map(|unit| unit.input()).collect();
        clift_runtime::fault::keep_handlers();
        let mut program = clift_jit::compile(&inputs, &options)?;
        let log = std::mem::take(&mut program.log);
        let uniform_work_groups = options.uniform_work_groups;
        let debug = link_options.is_some_and(|options| options.debug) || units.iter().any(|unit| unit.options.debug);
        let children = Arc::new(children(&program, uniform_work_groups, debug));
        let launches = program.kernels.iter().map(KernelLaunches::none).collect();
        Ok((Self { program, launches, children, units, uniform_work_groups }, log))
    }

    /// Index of a kernel by its name.
    pub fn kernel_index(&self, name: &[u8]) -> Option<usize> {
        self.program.kernels.iter().position(|kernel| kernel.name.as_bytes() == name)
    }

    /// What the source declares about a kernel, and whether argument information was requested.
    pub fn describe(&self, name: &str) -> Option<(&KernelReflection, bool)> {
        self.units
            .iter()
            .filter(|unit| unit.is_from_source())
            .find_map(|unit| Some((unit.kernels().iter().find(|kernel| kernel.name == name)?, unit.has_arg_info())))
    }
}

/// The child kernels of a program in the runtime's form.
fn children(program: &clift_jit::Program, uniform: bool, precise_errors: bool) -> ChildKernels {
    let limits = limits();
    let locals = |kernel: &clift_jit::Kernel| {
        let places = kernel.args.iter().filter_map(|arg| match arg.kind {
            ArgKind::LocalPointer { align } => Some(LocalArg { offset: arg.slot.offset, align }),
            ArgKind::Value
            | ArgKind::GlobalPointer
            | ArgKind::ConstantPointer
            | ArgKind::Image { .. }
            | ArgKind::Sampler
            | ArgKind::Pipe
            | ArgKind::Queue => None,
        });
        places.collect()
    };
    let list = program.children.iter().map(|kernel| ChildKernel {
        entry: kernel.entry,
        resources: kernel.resources,
        captures_bytes: kernel.args.first().map_or(0, |captures| captures.slot.size),
        locals: locals(kernel),
        demands: launch_limits::demands(kernel, uniform, pool::worker_count(), limits),
        preferred_multiple: limits.preferred_multiple().max(kernel.resources.width as usize) as u64,
        enqueues: kernel.enqueues,
        cost: Arc::default(),
    });
    ChildKernels { list: list.collect(), precise_errors, max_local_bytes: limits.local_mem_size }
}

/// The kernel compiler's options for a set of units: fast-math flags that all of them or the link options set, and restrictions
/// that any of them requests. `base` contains the options that do not come from the application.
fn combined(base: &Options, units: &[&Unit], link: Option<&BuildOptions>) -> Options {
    let all = |grants: fn(&FastMath) -> bool| {
        let by_units = !units.is_empty() && units.iter().all(|unit| grants(&unit.options.fast_math));
        by_units || link.is_some_and(|options| grants(&options.fast_math))
    };
    let mut dump = base.dump.clone();
    let asked = link.is_some_and(|options| options.vectorize_report);
    if (asked || units.iter().any(|unit| unit.options.vectorize_report)) && !dump.iter().any(|name| name == REPORT) {
        dump.push(REPORT.to_owned());
    }
    Options {
        opt_disable: link.is_some_and(|options| options.opt_disable)
            || units.iter().any(|unit| unit.options.opt_disable),
        fast_math: FastMath {
            mad_enable: all(|math| math.mad_enable),
            no_signed_zeros: all(|math| math.no_signed_zeros),
            unsafe_math: all(|math| math.unsafe_math),
            finite_only: all(|math| math.finite_only),
            denorms_are_zero: all(|math| math.denorms_are_zero),
            relaxed: all(|math| math.relaxed),
        },
        uniform_work_groups: units.iter().any(|unit| unit.needs_uniform_work_groups()),
        dependent_sub_groups: link.is_some_and(|options| options.dependent_sub_groups)
            || !units.is_empty() && units.iter().all(|unit| unit.options.dependent_sub_groups),
        arg_info: base.arg_info || units.iter().any(|unit| unit.has_arg_info()),
        dump,
        ..base.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, combined};
    use crate::frontend::BuildOptions;
    use crate::frontend::options::BuildCall;
    use clift_jit::Options;

    fn unit(options: &str, from_source: bool) -> Unit {
        let parsed = BuildOptions::parse(options, BuildCall::Compile).unwrap();
        Unit::from_binary(Vec::new(), Vec::new(), options.to_owned(), parsed, from_source, Vec::new())
    }

    #[test]
    fn work_group_sizes_follow_language_and_option() {
        assert!(unit("", true).needs_uniform_work_groups());
        assert!(!unit("-cl-std=CL2.0", true).needs_uniform_work_groups());
        assert!(!unit("-cl-std=CL3.0", true).needs_uniform_work_groups());
        assert!(unit("-cl-std=CL3.0 -cl-uniform-work-group-size", true).needs_uniform_work_groups());
        assert!(!unit("", false).needs_uniform_work_groups());
        assert!(unit("-cl-uniform-work-group-size", false).needs_uniform_work_groups());
    }

    #[test]
    fn fast_math_flags_need_all_units_and_restrictions_one() {
        let (fast, exact) = (unit("-cl-fast-relaxed-math", false), unit("-cl-mad-enable", false));
        let base = Options { width: Some(4), ..Options::default() };
        let both = combined(&base, &[&fast, &exact], None);
        assert!(both.fast_math.mad_enable && !both.fast_math.relaxed && !both.uniform_work_groups);
        assert_eq!(both.width, Some(4));
        let link = BuildOptions::parse("-cl-finite-math-only", BuildCall::Link).unwrap();
        assert!(combined(&base, &[&exact], Some(&link)).fast_math.finite_only);
        let old = unit("-cl-std=CL1.2 -cl-opt-disable -cl-kernel-arg-info", true);
        let mixed = combined(&base, &[&fast, &old], None);
        assert!(mixed.uniform_work_groups && mixed.opt_disable && mixed.arg_info);
    }
}
