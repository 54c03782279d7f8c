//! Runs the kernels of folders of OpenCL C with generated arguments, in several configurations of this driver and on other
//! drivers, and compares the results.
//!
//! For each source, a child of this program plans launches and runs them with all checks of the driver; launches without a
//! report are then run by a child for each way, and the parent compares what they changed. [`plan`] describes arguments and
//! launches, [`source`] how a file is built, [`report`] what is printed. Deliberately not there: sources that are parts of a
//! larger text, pipes and device queues.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod child;
mod compare;
mod memory;
mod parent;
mod plan;
mod report;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use clap::Parser;

/// The variable of the driver that names the file of reports.
pub(crate) const CHECK_OUTPUT: &str = "CLIFT_CHECK_OUTPUT";

/// Runs the kernels of folders of OpenCL C and compares the results of several configurations and drivers.
#[derive(Parser)]
pub(crate) struct Args {
    /// Sources, and folders of sources.
    paths: Vec<PathBuf>,
    /// The driver's library; default: the one built beside this program.
    #[arg(long)]
    clift: Option<PathBuf>,
    /// Other drivers to compare with: NAME=LIBRARY.
    #[arg(long)]
    peer: Vec<String>,
    /// The configurations of this driver, by name.
    #[arg(long, value_delimiter = ',', default_value = "interp,1,auto,cranelift")]
    ways: Vec<String>,
    /// Only kernels of this name.
    #[arg(long)]
    kernel: Option<String>,
    /// Build options.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    options: String,
    /// Measure each way's large launches for this time, in milliseconds.
    #[arg(long, default_value_t = 0)]
    measure: u64,
    /// Report kernels that are this many times slower than the fastest other driver.
    #[arg(long, default_value_t = 1.5)]
    slower: f64,
    /// Report builds that take longer than this, in seconds.
    #[arg(long, default_value_t = 2.0)]
    slow_build: f64,
    /// Time limit of a build or a launch, in seconds.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// Sources that are processed at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Take every N-th source only.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// The task of a child process.
    #[arg(long, hide = true)]
    task: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(task) = &args.task {
        child::run(task)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut files = Vec::new();
    for path in &args.paths {
        source::find(&path.canonicalize()?, &mut files)?;
    }
    let files: Vec<PathBuf> = files.into_iter().step_by(args.every).collect();
    let ways = parent::Ways::new(&args)?;
    let (next, summary) = (AtomicUsize::new(0), Mutex::new(report::Summary::default()));
    let worker = || -> Result<()> {
        let scratch = tempfile::Builder::new().prefix("clift-corpus-").tempdir()?;
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = parent::process(&args, &ways, file, scratch.path())?;
            summary.lock().expect("no thread panics").add(&args, file, &result);
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })?;
    let summary = summary.into_inner().expect("no thread panics");
    summary.print();
    Ok(if summary.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
