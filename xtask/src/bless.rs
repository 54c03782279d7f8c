//! `cargo xtask bless`: rewrites the golden files from the current results.
//!
//! The test that reads a golden file also writes it: with `CLIFT_BLESS=1` in the environment the test stores its result instead
//! of comparing it. Check `git diff` afterwards: blessing states that the new output is correct.

use anyhow::Result;

use crate::sh;

/// Arguments of `bless`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Arguments for `cargo test`, such as `-p clift-kir` or a test's name; default: all tests.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the tests in blessing mode.
pub(crate) fn run(args: &Args) -> Result<()> {
    sh::run(sh::cargo_test(&args.rest).env("CLIFT_BLESS", "1"))
}
