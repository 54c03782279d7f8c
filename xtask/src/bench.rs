//! `cargo xtask bench`: latencies of this driver and of another one, in one run.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not look for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Arguments for the benchmark: `-- --help` lists them.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Builds the driver and the benchmark, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Bench, false)?;
    }
    let library = driver::build_release()?;
    sh::run(sh::cargo().args(["build", "--release", "--package", "clift-tests", "--bin", "clift-bench"]))?;
    let mut program = std::process::Command::new(sh::target_dir().join("release/clift-bench"));
    sh::run(program.current_dir(sh::root()).arg("--clift").arg(library).args(&args.rest))
}
