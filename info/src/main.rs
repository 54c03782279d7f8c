//! `clift-info`: what the installed driver found, and whether it works.
//!
//! It is an ordinary OpenCL program: it opens the loader (or, with `--library`, the driver itself) at run time, so that it can
//! also say that something is missing. `opencl` holds the calls, `installation` looks for the reason when there is no platform,
//! `selftest` runs a kernel. The exit status is that of the self-test.

mod installation;
mod opencl;
mod report;
mod selftest;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use opencl::OpenCl;

/// Shows what the Clift OpenCL driver found on this machine, and tests it.
#[derive(Parser)]
#[command(name = "clift-info", version)]
struct Cli {
    /// Open this driver itself, not through the OpenCL loader.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Print only the verdict.
    #[arg(long, short)]
    quiet: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (verdict, status) = match examine(&cli) {
        Ok(passed) => (passed, ExitCode::SUCCESS),
        Err(error) => (format!("FAILED: {error:#}"), ExitCode::FAILURE),
    };
    println!("{}", report::line("self-test", &verdict));
    status
}

/// Prints the report and runs the self-test; returns what passed.
fn examine(cli: &Cli) -> Result<String> {
    let opencl = match &cli.library {
        Some(path) => OpenCl::of_driver(path)?,
        None => OpenCl::of_loader()?,
    };
    let device = opencl.device().map_err(|missing| match &cli.library {
        Some(_) => missing,
        None => installation::explain(missing),
    })?;
    if !cli.quiet {
        report::print(&device);
    }
    selftest::run(&device)
}
