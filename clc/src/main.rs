//! `clift-clc`: compiles OpenCL C to SPIR-V.
//!
//! ```text
//! clift-clc FILE.cl -o FILE.spv [-cl-std=CL3.0] [-D NAME=VALUE] [-I DIRECTORY]...    compile; `-` is standard input
//! clift-clc -E FILE.cl                                                               preprocess
//! clift-clc --emit spvasm FILE.cl                                                    compile, and show the module as text
//! ```
//!
//! Options are those of `clBuildProgram`, and a few of clang's. The device is one that has everything.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use clift_clc::diagnostics::WarningOptions;
use clift_clc::options::{MacroOption, MathOptions, Options, Profile, Version};

/// Compiles OpenCL C to SPIR-V.
#[derive(Parser)]
#[command(name = "clift-clc", version, args_override_self = true)]
struct Arguments {
    /// The source; `-` is standard input.
    file: PathBuf,
    /// Where the result goes; `-` is standard output, and the default for text.
    #[arg(short)]
    output: Option<PathBuf>,
    /// Only preprocess.
    #[arg(short = 'E')]
    preprocess: bool,
    /// Leave out line markers.
    #[arg(short = 'P')]
    no_line_markers: bool,
    /// What to write.
    #[arg(long, value_enum, default_value = "spv")]
    emit: Emit,
    /// Define a macro: NAME, NAME=TEXT or NAME(PARAMETERS)=TEXT.
    #[arg(short = 'D', value_name = "MACRO")]
    define: Vec<String>,
    /// Undefine a macro.
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    /// Search a directory for included files.
    #[arg(short = 'I', value_name = "DIRECTORY")]
    include_directory: Vec<PathBuf>,
    /// Include a file before the source (-include FILE).
    #[arg(long, value_name = "FILE")]
    include: Vec<String>,
    /// The language version (-cl-std=VERSION): CL1.0, CL1.1, CL1.2, CL2.0, CL3.0, CL3.1.
    #[arg(long, value_name = "VERSION", default_value = "CL1.2", value_parser = version)]
    cl_std: Version,
    /// Bits of a pointer.
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(32..=64))]
    spir_target: u32,
    /// No warnings.
    #[arg(short = 'w')]
    no_warnings: bool,
    /// -Werror, -WNAME, -Wno-NAME.
    #[arg(short = 'W', value_name = "WARNING")]
    warning: Vec<String>,
    /// Names of variables, too.
    #[arg(short = 'g')]
    debug: bool,
    /// Ignored: the optimizer is not here.
    #[arg(short = 'O', value_name = "LEVEL", num_args = 0..=1)]
    optimize: Option<String>,
    /// Ignored: the language is OpenCL C.
    #[arg(short = 'x', value_name = "LANGUAGE")]
    language: Option<String>,
    /// The module is one of several: all functions with external linkage are kept.
    #[arg(short = 'c')]
    library: bool,
    #[arg(long)]
    cl_single_precision_constant: bool,
    #[arg(long)]
    cl_denorms_are_zero: bool,
    #[arg(long)]
    cl_fp32_correctly_rounded_divide_sqrt: bool,
    #[arg(long)]
    cl_opt_disable: bool,
    #[arg(long)]
    cl_strict_aliasing: bool,
    #[arg(long)]
    cl_uniform_work_group_size: bool,
    #[arg(long)]
    cl_no_subgroup_ifp: bool,
    #[arg(long)]
    cl_mad_enable: bool,
    #[arg(long)]
    cl_no_signed_zeros: bool,
    #[arg(long)]
    cl_unsafe_math_optimizations: bool,
    #[arg(long)]
    cl_finite_math_only: bool,
    #[arg(long)]
    cl_fast_relaxed_math: bool,
    #[arg(long)]
    cl_kernel_arg_info: bool,
    /// Print how long it took.
    #[arg(long)]
    time: bool,
}

/// What to write.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// A SPIR-V module.
    Spv,
    /// A SPIR-V module as text.
    Spvasm,
    /// The typed tree as text.
    Tree,
    /// Nothing: only diagnostics.
    Nothing,
}

/// The version of a `-cl-std`.
fn version(text: &str) -> Result<Version, String> {
    let number = text.strip_prefix("CL").or_else(|| text.strip_prefix("cl")).unwrap_or(text);
    Ok(match number {
        "1.0" => Version::V1_0,
        "" | "1.1" => Version::V1_1,
        "1.2" => Version::V1_2,
        "2.0" => Version::V2_0,
        "3.0" => Version::V3_0,
        "3.1" => Version::V3_1,
        _ => return Err(format!("unknown language version '{text}'")),
    })
}

/// Options of compilers have one dash before long names. Clap wants two.
fn with_two_dashes(word: String) -> String {
    let is_long = ["-cl-", "-include", "-spir-"].iter().any(|start| word.starts_with(start));
    if is_long { format!("-{word}") } else { word }
}

impl Arguments {
    /// The options that they mean.
    fn options(&self, main_name: &str) -> Options {
        let define = self.define.iter().map(|text| match text.split_once('=') {
            Some((name, value)) => MacroOption::Define(name.to_owned(), value.to_owned()),
            None => MacroOption::Define(text.clone(), "1".to_owned()),
        });
        let undefine = self.undefine.iter().map(|name| MacroOption::Undefine(name.clone()));
        let groups = self.warning.iter().filter(|name| *name != "error").map(|name| match name.strip_prefix("no-") {
            Some(name) => (name.to_owned(), false),
            None => (name.clone(), true),
        });
        let fast = self.cl_fast_relaxed_math;
        let unsafe_math = self.cl_unsafe_math_optimizations || fast;
        Options {
            version: self.cl_std,
            macros: define.chain(undefine).collect(),
            include_directories: self.include_directory.clone(),
            headers: Vec::new(),
            forced_includes: self.include.clone(),
            warnings: WarningOptions {
                none: self.no_warnings,
                errors: self.warning.iter().any(|name| name == "error"),
                groups: groups.collect(),
            },
            math: MathOptions {
                single_precision_constant: self.cl_single_precision_constant,
                denorms_are_zero: self.cl_denorms_are_zero || unsafe_math,
                correctly_rounded_divide_sqrt: self.cl_fp32_correctly_rounded_divide_sqrt,
                mad_enable: self.cl_mad_enable || unsafe_math,
                no_signed_zeros: self.cl_no_signed_zeros || unsafe_math,
                unsafe_math,
                finite_math_only: self.cl_finite_math_only || fast,
                fast_relaxed_math: fast,
            },
            optimization_disabled: self.cl_opt_disable || self.optimize.as_deref() == Some("0"),
            uniform_work_group_size: self.cl_uniform_work_group_size,
            kernel_arg_info: true,
            debug: self.debug,
            whole_program: !self.library,
            main_name: main_name.to_owned(),
            profile: Arc::new(Profile { bits_64: self.spir_target == 64, ..Profile::full() }),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse_from(std::env::args().map(with_two_dashes));
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("clift-clc: error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads, compiles and writes.
fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let (source, name) = read(&arguments.file)?;
    let options = arguments.options(&name);
    let start = std::time::Instant::now();
    let (result, log) = if arguments.preprocess {
        let (text, log) = clift_clc::preprocess_to_text(&source, &options, !arguments.no_line_markers);
        (Some(text), log)
    } else if arguments.emit == Emit::Tree {
        let (text, log) = clift_clc::tree_to_text(&source, &options);
        (text.map(String::into_bytes), log)
    } else {
        let output = clift_clc::compile(&source, &options);
        let words = output.words.as_deref();
        let result = match arguments.emit {
            Emit::Spv => words.map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect()),
            Emit::Spvasm => words.map(disassemble).transpose()?,
            Emit::Tree | Emit::Nothing => words.map(|_| Vec::new()),
        };
        (result, output.log)
    };
    let time = start.elapsed();
    eprint!("{log}");
    if arguments.time {
        eprintln!("clift-clc: {:.3} ms", time.as_secs_f64() * 1e3);
    }
    let Some(bytes) = result else { return Ok(ExitCode::FAILURE) };
    let is_text = arguments.preprocess || arguments.emit != Emit::Spv;
    let default = if is_text { PathBuf::from("-") } else { arguments.file.with_extension("spv") };
    write(arguments.output.as_deref().unwrap_or(&default), &bytes)?;
    let failed = arguments.preprocess && log.contains("error:");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The source and its name.
fn read(path: &Path) -> Result<(Vec<u8>, String), String> {
    if path == Path::new("-") {
        let mut source = Vec::new();
        std::io::stdin().read_to_end(&mut source).map_err(|error| format!("cannot read standard input: {error}"))?;
        return Ok((source, "<stdin>".to_owned()));
    }
    let name = path.display().to_string();
    Ok((std::fs::read(path).map_err(|error| format!("cannot read '{name}': {error}"))?, name))
}

/// Writes the result.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = if path == Path::new("-") { std::io::stdout().write_all(bytes) } else { std::fs::write(path, bytes) };
    written.map_err(|error| format!("cannot write '{}': {error}", path.display()))
}

/// A module as text.
fn disassemble(words: &[u32]) -> Result<Vec<u8>, String> {
    use rspirv::binary::Disassemble;
    let module = rspirv::dr::load_words(words).map_err(|error| format!("the module cannot be read: {error}"))?;
    Ok((module.disassemble() + "\n").into_bytes())
}
