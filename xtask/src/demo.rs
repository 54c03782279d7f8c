//! `cargo xtask demo`: renders a picture with the driver, starting with a bare machine.

use std::path::PathBuf;

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The output file.
    #[arg(long, default_value = "out/demo.png")]
    output: PathBuf,
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// More arguments for the program: `-- --help` lists them.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Builds the driver and the program, and runs the program with the driver.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Run, false)?;
    }
    let (library, program) = driver::build_release_with("clift-demo")?;
    let mut program = std::process::Command::new(program);
    driver::select(&mut program, &library)?;
    sh::run(program.current_dir(sh::root()).arg("--output").arg(&args.output).args(&args.rest))
}
