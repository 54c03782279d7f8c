//! `cargo xtask cts`: runs the Khronos conformance tests, built elsewhere, on the optimized driver.
//!
//! The suite's README explains how to build it. A runner script that the caller names runs one process per subtest, with time
//! limits, and writes the results as JSON.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::{driver, sh};

/// The suites that the driver is expected to pass.
const SUITES: &[&str] = &[
    "computeinfo",
    "basic",
    "api",
    "buffers",
    "events",
    "profiling",
    "thread_dimensions",
    "non_uniform_work_group",
    "atomics",
    "vectors",
    "mem_host_flags",
    "multiples",
    "device_timer",
];

/// Arguments of `cts`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The suite's build directory (the one that holds `basic/test_basic`, ...).
    #[arg(long)]
    cts: PathBuf,
    /// The runner script.
    #[arg(long, default_value = "../shared/tools/cts.py")]
    runner: PathBuf,
    /// The output file for the results, as JSON.
    #[arg(long, default_value = "out/cts.json")]
    out: PathBuf,
    /// Give the driver SPIR-V, compiled offline by its front end, instead of OpenCL C.
    #[arg(long)]
    spirv: bool,
    /// Suites to run, `suite` or `suite:pattern,pattern`; default: the usual ones.
    suites: Vec<String>,
    /// More arguments for the runner.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs the suites.
pub(crate) fn run(args: &Args) -> Result<()> {
    let runner = sh::root().join(&args.runner);
    ensure!(runner.is_file(), "no runner at {}: name it with --runner", runner.display());
    let library = driver::build_release_for_tests()?;
    let out = sh::root().join(&args.out);
    if let Some(dir) = out.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut command = std::process::Command::new("python3");
    command.arg(runner).arg("--cts").arg(&args.cts).arg("--icd").arg(library).arg("--out").arg(out).args(&args.rest);
    if args.spirv {
        let compiler = driver::build_offline_compiler()?;
        let directory = compiler.parent().context("the compiler's path has no directory")?;
        command.args(["--mode", "spir-v"]).env("PATH", sh::path_before(directory)?);
    }
    if args.suites.is_empty() {
        command.args(SUITES);
    } else {
        command.args(&args.suites);
    }
    sh::run(&mut command)
}
