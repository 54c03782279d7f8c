//! `cargo xtask bless`: rewrites the golden files from what the code does now.
//!
//! Every golden file is written by the test that reads it: with `CLIFT_BLESS=1` in the environment the test stores what it
//! got instead of comparing. Look at `git diff` afterwards: blessing is a claim that the new output is right.

use anyhow::Result;

use crate::sh;

/// Arguments of `bless`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Arguments for `cargo test`, such as `-p clift-kir` or a test's name; all tests otherwise.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the tests in blessing mode.
pub(crate) fn run(args: &Args) -> Result<()> {
    sh::run(sh::cargo().args(["test", "--workspace"]).args(&args.rest).env("CLIFT_BLESS", "1"))
}
