//! `clift-report`: a page that shows what a trace (`CLIFT_TRACE`) contains.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use clift_info::opencl::OpenCl;
use clift_info::page;
use clift_info::peaks::Peaks;
use clift_info::trace::events::Trace;
use clift_info::units::metric;

/// Makes a page from a file that CLIFT_TRACE=FILE has written: a time line, a table of kernels, a roofline, and slow paths with
/// their source lines.
#[derive(Parser)]
#[command(name = "clift-report", version)]
struct Cli {
    /// The file of CLIFT_TRACE. Without it, --peaks measures and prints.
    #[arg(required_unless_present = "peaks")]
    trace: Option<PathBuf>,
    /// The page: one file of HTML, which needs no other. Standard output if it is not given.
    #[arg(long, short, value_name = "FILE", requires = "trace")]
    output: Option<PathBuf>,
    /// Compares kernels with what the machine can do, which is measured now, or given as billions of operations and of bytes per
    /// second.
    #[arg(long, value_name = "GFLOPS,GBS", num_args = 0..=1, require_equals = true)]
    peaks: Option<Option<Peaks>>,
    /// Measures with this driver, not through the OpenCL loader.
    #[arg(long, value_name = "FILE", requires = "peaks")]
    library: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("clift-report: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let trace = cli.trace.as_ref().map(|path| {
        let read = fs::read(path).map_err(anyhow::Error::from).and_then(|text| Trace::read(&text));
        read.with_context(|| path.display().to_string())
    });
    let trace = trace.transpose()?;
    let peaks = match cli.peaks {
        None => None,
        Some(Some(given)) => Some(given),
        Some(None) => Some(measure(cli)?),
    };
    let (Some(trace), Some(path)) = (trace, &cli.trace) else {
        return match peaks {
            Some(Peaks { operations, bandwidth }) => {
                let mut out = std::io::stdout();
                writeln!(out, "operations  {}FLOP/s (32-bit multiply-adds)", metric(operations))?;
                writeln!(out, "memory      {}B/s (triad)", metric(bandwidth))?;
                writeln!(out, "            --peaks={:.1},{:.1}", operations / 1e9, bandwidth / 1e9)?;
                Ok(())
            }
            None => Ok(()),
        };
    };
    for problem in &trace.problems {
        eprintln!("clift-report: {}: {problem}", path.display());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let page = page::of(&trace, &name, peaks);
    match &cli.output {
        Some(output) => fs::write(output, page).with_context(|| output.display().to_string()),
        None => Ok(std::io::stdout().write_all(page.as_bytes())?),
    }
}

/// Measures what this machine can do.
fn measure(cli: &Cli) -> Result<Peaks> {
    let opencl = match &cli.library {
        Some(path) => OpenCl::of_driver(path)?,
        None => OpenCl::of_loader()?,
    };
    Peaks::measure(&opencl.device()?).context("the peaks cannot be measured")
}
