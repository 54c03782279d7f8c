//! `cargo xtask fuzz`: compares random OpenCL C programs between the configurations of this driver, and with other drivers.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Arguments for the fuzzer: `-- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds the driver and the fuzzer, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    let (library, program) = driver::build_release_with("clift-fuzz")?;
    sh::run(std::process::Command::new(program).current_dir(sh::root()).arg("--clift").arg(library).args(&args.rest))
}
