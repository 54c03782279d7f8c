//! `cargo xtask fuzz`: random OpenCL C programs, compared between the ways this driver has to run them, and other drivers.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not look for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Arguments for the program that compares: `-- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds the driver and the program that compares, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    let (library, program) = driver::build_release_with("clift-fuzz")?;
    sh::run(std::process::Command::new(program).current_dir(sh::root()).arg("--clift").arg(library).args(&args.rest))
}
