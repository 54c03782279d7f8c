//! `kirc`: any stage of the compiler on any input, for work on the compiler.
//!
//! ```text
//! cargo run --release -p kirc -- import FILE.spv... [--link] [--print]       read and verify modules
//! cargo run --release -p kirc -- compile FILE [--print STAGE]...             all stages; prints what is asked for
//! cargo run --release -p kirc -- run FILE.kir [--times N]                    the launches that the file describes
//! cargo run --release -p kirc -- minimize FILE -- COMMAND...                 a smaller file with which the command still succeeds
//! cargo run --release -p kirc -- digest FILE...                              one line for each function of machine code
//! cargo run --release -p kirc -- costs                                       the vectorizer's cost figures, measured here
//! ```
//!
//! Inputs are SPIR-V modules (`.spv`, words in host byte order) and kernel IR (`.kir`, at whatever stage its functions are).
//! Digests are for comparing two compilers: equal lines mean equal machine code, addresses of this process aside.

mod costs;
mod digest;
mod input;
mod minimize;
mod times;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clift_jit::testing::launch::{Launch, make};
use clift_jit::{BackendChoice, Checks, Options, Program, pipeline};
use clift_kir::testing::filetest::FileTest;
use clift_kir::testing::run::RunCase;

use input::Source;
use minimize::Question;

/// Runs any stage of Clift's compiler on any input.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Read and verify SPIR-V modules.
    Import {
        /// SPIR-V modules.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The files are one program.
        #[arg(long)]
        link: bool,
        /// Show the kernel IR and the descriptions of the kernels.
        #[arg(long)]
        print: bool,
    },
    /// Compile a file: what the vectorizer did, what the kernels need, and the stages asked for.
    Compile {
        /// A SPIR-V module or kernel IR.
        file: PathBuf,
        /// Stages to print.
        #[arg(long = "print", value_name = "STAGE", value_parser = clap::builder::PossibleValuesParser::new(pipeline::DUMPS))]
        stages: Vec<String>,
        /// Compile as often, and give the processor times, also of each stage in the fastest build.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
        #[command(flatten)]
        how: How,
    },
    /// Compile a file of kernel IR and run the launches that its `run` lines describe.
    Run {
        /// Kernel IR.
        file: PathBuf,
        /// Run each launch as often, and give the fastest.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
        #[command(flatten)]
        how: How,
    },
    /// Make a smaller file with the fault of a file, which a command finds.
    Minimize {
        /// A SPIR-V module or kernel IR.
        file: PathBuf,
        /// Where the smaller file goes [default: `.small` before the file's extension].
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// The command does not find the fault if it takes longer, in seconds.
        #[arg(long, default_value_t = 60)]
        limit: u64,
        /// The command; the name of a file is appended. It has to succeed if the file has the fault.
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
    /// Print a digest of each function's machine code.
    Digest {
        /// SPIR-V modules or kernel IR.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Measure the vectorizer's cost figures on this machine, beside those of its table.
    Costs,
}

/// How to compile.
#[derive(Args, Clone)]
struct How {
    /// What executes the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    backend: Executor,
    /// Lanes per pack, instead of the compiler's choice.
    #[arg(long)]
    width: Option<u32>,
    /// Rows of a work-group that are executed together, instead of the compiler's choice.
    #[arg(long)]
    rows: Option<u32>,
    /// Iterations of a loop that are executed together in kernels with one lane, instead of the compiler's choice.
    #[arg(long)]
    loop_width: Option<u32>,
    /// The most instructions of a kernel into which all functions are inlined.
    #[arg(long)]
    inline: Option<usize>,
    /// Only the passes that correctness needs, as with `-cl-opt-disable`.
    #[arg(long)]
    opt_disable: bool,
    /// What kernels check while they run, separated by commas, as `CLIFT_CHECK`.
    #[arg(long, value_delimiter = ',')]
    check: Vec<CheckedClass>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckedClass {
    Memory,
    Uninit,
    Race,
    Barrier,
}

#[derive(Clone, Copy, ValueEnum)]
enum Executor {
    /// Machine code with the longest vectors of the machine.
    Auto,
    /// Machine code for at most the AVX-512 of Skylake.
    Skylake,
    /// Machine code for at most AVX2.
    Avx2,
    /// Machine code by Cranelift.
    #[value(alias = "clif")]
    Cranelift,
    /// The reference interpreter.
    Interp,
}

impl How {
    /// The options of a build that prints `dump`.
    fn options(&self, dump: Vec<String>) -> Options {
        let backend = match self.backend {
            Executor::Auto => BackendChoice::Auto,
            Executor::Skylake => BackendChoice::Skylake,
            Executor::Avx2 => BackendChoice::Avx2,
            Executor::Cranelift => BackendChoice::Cranelift,
            Executor::Interp => BackendChoice::Interp,
        };
        let has = |class: CheckedClass| self.check.contains(&class);
        Options {
            backend,
            checks: Checks {
                memory: has(CheckedClass::Memory),
                uninit: has(CheckedClass::Uninit),
                race: has(CheckedClass::Race),
                barrier: has(CheckedClass::Barrier),
            },
            width: self.width,
            separate_args: true,
            rows: self.rows,
            loop_lanes: self.loop_width,
            inline_limit: self.inline,
            opt_disable: self.opt_disable,
            dump,
            ..Options::default()
        }
    }
}

fn main() -> ExitCode {
    let out = &mut std::io::stdout().lock();
    let done = match Arguments::parse().task {
        Task::Import { files, link, print } => import(out, &files, link, print),
        Task::Compile { file, stages, times, how } => compile(out, &file, stages, times, &how),
        Task::Run { file, times, how } => run(out, &file, times, &how),
        Task::Minimize { file, output, limit, command } => smaller(out, &file, output, limit, &command),
        Task::Digest { files, how } => digest::all(out, &files, &how),
        Task::Costs => costs::all(out).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        // Whoever reads the output, such as `head`, may have enough of it.
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        eprintln!("kirc: {error:#}");
        ExitCode::FAILURE
    })
}

fn smaller(
    out: &mut impl Write,
    file: &Path,
    output: Option<PathBuf>,
    limit: u64,
    command: &[String],
) -> Result<ExitCode> {
    let output = output.unwrap_or_else(|| minimize::beside(file));
    let question = Question { command, limit: Duration::from_secs(limit) };
    let (before, after) = minimize::minimize(file, &output, &question)?;
    writeln!(out, "{}: {after} of {before} pieces", output.display())?;
    Ok(ExitCode::SUCCESS)
}

fn import(out: &mut impl Write, files: &[PathBuf], link: bool, print: bool) -> Result<ExitCode> {
    let programs: Vec<&[PathBuf]> = if link { vec![files] } else { files.chunks(1).collect() };
    let mut failed = 0;
    for program in &programs {
        match input::import(program) {
            Ok(imported) if print => {
                writeln!(out, "{}", imported.module)?;
                for kernel in &imported.kernels {
                    writeln!(out, "; {kernel:?}")?;
                }
            }
            Ok(_) => {}
            Err(reason) => {
                failed += 1;
                let names: Vec<_> = program.iter().map(|path| path.display().to_string()).collect();
                writeln!(out, "{}: {reason:#}", names.join(" "))?;
            }
        }
    }
    writeln!(out, "{} of {} imported", programs.len() - failed, programs.len())?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compile(out: &mut impl Write, file: &Path, mut stages: Vec<String>, times: u32, how: &How) -> Result<ExitCode> {
    let source = Source::read(file)?;
    stages.push(pipeline::REPORT.to_owned());
    let program = source.compile(&how.options(stages))?;
    print_program(out, &program)?;
    if times > 1 {
        let options = how.options(Vec::new());
        times::collect();
        let mut took: Vec<(Duration, String)> = Vec::new();
        for _ in 0..times {
            let started = times::processor_time();
            source.compile(&options)?;
            took.push((times::processor_time() - started, times::take()));
        }
        took.sort();
        let ((fastest, stages), (median, _)) = (&took[0], &took[took.len() / 2]);
        writeln!(out, "of {times} builds: fastest {fastest:?}, median {median:?}")?;
        writeln!(out, "stages: {stages}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_program(out: &mut impl Write, program: &Program) -> Result<()> {
    write!(out, "{}", program.log)?;
    for kernel in &program.kernels {
        writeln!(out, "kernel {}: {:?}, barrier {}", kernel.name, kernel.resources, kernel.has_barrier)?;
    }
    Ok(())
}

fn run(out: &mut impl Write, file: &Path, times: u32, how: &How) -> Result<ExitCode> {
    let test = FileTest::load(file).map_err(|reason| anyhow!(reason))?;
    let module = test.module().map_err(|reason| anyhow!(reason))?;
    let program = make(module, &how.options(Vec::new())).map_err(|reason| anyhow!(reason))?;
    let cases = RunCase::parse_all(&test).map_err(|reason| anyhow!(reason))?;
    let mut failed = false;
    for case in cases {
        let kernel = program.kernels.iter().find(|kernel| kernel.name == case.kernel);
        let kernel = kernel.with_context(|| format!("there is no kernel `{}`", case.kernel))?;
        let mut best = Duration::MAX;
        for _ in 0..times {
            let mut launch = Launch::new(kernel, &case).map_err(|reason| anyhow!(reason))?;
            let started = Instant::now();
            launch.run(u64::MAX);
            best = best.min(started.elapsed());
            if let Err(reason) = launch.result().and_then(|result| case.check(&result)) {
                writeln!(out, "{}: {reason}", case.kernel)?;
                failed = true;
                break;
            }
        }
        let items: u64 = case.geometry.global_size.iter().product();
        writeln!(out, "{}: {best:?}, {:.3} ns per work-item", case.kernel, best.as_nanos() as f64 / items as f64)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
