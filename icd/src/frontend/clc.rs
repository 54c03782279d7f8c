//! OpenCL C to SPIR-V with Clift's own front end, the crate `clift-clc`, in this process.

use std::path::PathBuf;
use std::sync::Arc;

use clift_clc::diagnostics::WarningOptions;
use clift_clc::options::{MacroOption, MathOptions, Options, Version};

use super::cache::DiskCache;
use super::options::Std;
use super::reflect::{ArgReflection, KernelReflection};
use super::{BuildOptions, Compiled, Failure, FrontEnd, Job, SOURCE_NAME};

/// The front end in this process.
#[derive(Debug)]
pub struct Clc;

/// Its name, and the driver's version.
const IDENTITY: &str = concat!("clift-clc ", env!("CARGO_PKG_VERSION"));

impl FrontEnd for Clc {
    fn identity(&self) -> Option<String> {
        Some(IDENTITY.to_owned())
    }

    /// One: it does not optimize.
    fn levels(&self, _: &BuildOptions) -> &'static [u8] {
        &[0]
    }

    /// `None`: compiling takes no longer than reading a result from the disk.
    fn fingerprint(&self, _: &Job<'_>) -> Option<String> {
        None
    }

    fn compile(&self, job: &Job<'_>, _: Option<&DiskCache>) -> Result<Compiled, Failure> {
        let output = clift_clc::compile(job.source, &options(job));
        let Some(words) = output.words else { return Err(Failure { log: output.log }) };
        let kernels = output.kernels.iter().map(|(name, kernel)| reflection(name, kernel)).collect();
        Ok(Compiled { words, log: output.log, kernels: Some(kernels) })
    }

    fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure> {
        self.compile(job, None).map(|compiled| compiled.kernels.unwrap_or_default())
    }
}

/// A kernel as the queries of OpenCL report it.
fn reflection(name: &str, kernel: &clift_clc::tree::Kernel) -> KernelReflection {
    let args = kernel.arguments.iter().map(ArgReflection::of);
    KernelReflection { name: name.to_owned(), args: args.collect(), attributes: kernel.attributes.clone() }
}

/// The front end's options for a job.
fn options(job: &Job<'_>) -> Options {
    let build = job.options;
    let math = build.fast_math;
    let mut options = Options {
        version: match build.language() {
            Std::Cl10 => Version::V1_0,
            Std::Cl11 => Version::V1_1,
            Std::Cl12 => Version::V1_2,
            Std::Cl20 => Version::V2_0,
            Std::Cl30 => Version::V3_0,
            Std::Cl31 => Version::V3_1,
        },
        headers: job.headers.iter().map(|header| (header.name.clone(), Arc::from(header.text.as_slice()))).collect(),
        math: MathOptions {
            denorms_are_zero: math.denorms_are_zero,
            correctly_rounded_divide_sqrt: true,
            mad_enable: math.mad_enable,
            no_signed_zeros: math.no_signed_zeros,
            unsafe_math: math.unsafe_math,
            finite_math_only: math.finite_only,
            fast_relaxed_math: math.relaxed,
            single_precision_constant: false,
        },
        optimization_disabled: build.opt_disable,
        uniform_work_group_size: build.uniform_work_groups,
        kernel_arg_info: build.kernel_arg_info,
        // Reports name variables.
        debug: build.debug
            || build.vectorize_report
            || !crate::config::config().debug.is_empty()
            || !crate::config::config().checks.is_empty(),
        whole_program: job.whole,
        main_name: SOURCE_NAME.to_owned(),
        profile: job.profile.clone(),
        ..Options::default()
    };
    for argument in &build.front_end {
        apply(&mut options, argument);
    }
    options
}

/// Applies an argument of [`super::BuildOptions::front_end`].
fn apply(options: &mut Options, argument: &str) {
    if let Some(definition) = argument.strip_prefix("-D") {
        let (name, text) = definition.split_once('=').unwrap_or((definition, "1"));
        options.macros.push(MacroOption::Define(name.to_owned(), text.to_owned()));
    } else if let Some(name) = argument.strip_prefix("-U") {
        options.macros.push(MacroOption::Undefine(name.to_owned()));
    } else if let Some(directory) = argument.strip_prefix("-I") {
        options.include_directories.push(PathBuf::from(directory));
    } else if let Some(warning) = argument.strip_prefix("-W") {
        warn(&mut options.warnings, warning);
    } else if argument == "-w" {
        options.warnings.none = true;
    } else if argument == "-cl-single-precision-constant" {
        options.math.single_precision_constant = true;
    }
}

/// Applies `-W...`.
fn warn(warnings: &mut WarningOptions, name: &str) {
    match name.strip_prefix("no-") {
        Some("error") => warnings.errors = false,
        Some(name) => warnings.groups.push((name.to_owned(), false)),
        None if name == "error" => warnings.errors = true,
        None => warnings.groups.push((name.to_owned(), true)),
    }
}
