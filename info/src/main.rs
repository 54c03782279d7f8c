//! `clift-info`: what the installed driver found, and whether it works.
//!
//! It is an ordinary OpenCL program: it opens the loader (or, with `--library`, the driver itself) at run time, so that it can
//! also say that something is missing. The exit status is that of the self-test. With `--watch`, it shows what running
//! processes do instead.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use clift_info::opencl::OpenCl;
use clift_info::{installation, report, selftest, watch};

/// Shows what the Clift OpenCL driver found on this machine, and tests it; or what processes do that use it.
#[derive(Parser)]
#[command(name = "clift-info", version)]
struct Cli {
    /// Open this driver itself, not through the OpenCL loader.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Print only the verdict.
    #[arg(long, short)]
    quiet: bool,
    /// Show, once a second, what the processes of this user do that have CLIFT_WATCH=1.
    #[arg(long, conflicts_with_all = ["library", "quiet"])]
    watch: bool,
    /// Show it once, for scripts.
    #[arg(long, requires = "watch")]
    once: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.watch {
        return match watch::run(cli.once) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("clift-info: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let (verdict, status) = match examine(&cli) {
        Ok(passed) => (passed, ExitCode::SUCCESS),
        Err(error) => (format!("FAILED: {error:#}"), ExitCode::FAILURE),
    };
    show(&format!("{}\n", report::line("self-test", &verdict)));
    status
}

/// Prints a text. Whoever reads it, such as `head`, may have enough of it: the status is that of the self-test all the same.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
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
        show(&report::text(&device));
    }
    selftest::run(&device)
}
