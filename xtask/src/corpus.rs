//! `cargo xtask corpus`: runs the kernels of folders of OpenCL C in the configurations of this driver and on other drivers.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `corpus`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Folders and arguments for the program: `-- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds the driver and the program, and runs it where the paths in its arguments are valid.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    let (library, program) = driver::build_release_with("clift-corpus")?;
    sh::run(std::process::Command::new(program).arg("--clift").arg(library).args(&args.rest))
}
