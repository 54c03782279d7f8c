//! `cl_offline_compiler`: compiles OpenCL C to SPIR-V with the driver's own front end, without a device.
//!
//! The command line is the one with which the Khronos conformance tests call a program of this name when they test the driver
//! with SPIR-V (`--compilation-mode spir-v`):
//!
//! ```text
//! cargo build --release -p clift-icd --example cl_offline_compiler
//! cl_offline_compiler --mode=spir-v --source=FILE.cl --output=FILE.spv [--cl-device-info=FILE] [--level=N] [-- BUILD OPTIONS]
//! ```

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, ValueEnum};
use clift::caps;
use clift::frontend::options::BuildCall;
use clift::frontend::{BuildOptions, Compiler, Job};

/// Compiles OpenCL C to SPIR-V as the driver does.
#[derive(Parser)]
struct Args {
    /// The kind of output.
    #[arg(long, value_enum, default_value = "spir-v")]
    mode: Mode,
    /// The source file.
    #[arg(long)]
    source: PathBuf,
    /// The output file.
    #[arg(long)]
    output: PathBuf,
    /// A description of the device to compile for: ignored.
    #[arg(long)]
    cl_device_info: Option<PathBuf>,
    /// The only optimization level of a front end to try.
    #[arg(long)]
    level: Option<u8>,
    /// Options as for `clCompileProgram`.
    #[arg(last = true)]
    options: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// A SPIR-V module.
    SpirV,
}

/// Options that concern linking, which happens when the driver loads the module.
const LINKING: [&str; 2] = ["-create-library", "-enable-link-options"];

fn main() -> Result<()> {
    let Args { mode: Mode::SpirV, source, output, cl_device_info: _, level, options } = Args::parse();
    let text = std::fs::read(&source).with_context(|| format!("{}", source.display()))?;
    let words = options.iter().map(String::as_str).filter(|option| !LINKING.contains(option));
    let options =
        BuildOptions::parse(&shlex::try_join(words)?, BuildCall::Compile).map_err(|reason| anyhow!(reason))?;
    let compiler = Compiler::get();
    let mut result = Err(anyhow!("no front end"));
    for attempt in compiler.attempts(&options).filter(|attempt| level.is_none_or(|level| level == attempt.level)) {
        let (profile, level) = (caps::profile(), attempt.level);
        let job = Job { source: &text, headers: &[], options: &options, profile, level, whole: false };
        result = compiler.compile(&job, attempt).map_err(anyhow::Error::from);
        if result.is_ok() {
            break;
        }
    }
    let compiled = result?;
    eprint!("{}", compiled.log);
    let bytes: Vec<u8> = compiled.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&output, bytes).with_context(|| format!("{}", output.display()))
}
