//! `cargo xtask test`: installs what the tests need and runs `cargo test`.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::sh;

/// Arguments of `test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Arguments for `cargo test`, such as `-p clift-kir` or a test's name.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the tests.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    sh::run(&mut sh::cargo_test(&args.rest))
}
