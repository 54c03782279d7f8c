//! `cargo xtask ulp`: measures the largest errors of the transcendental functions.
//!
//! It runs the compiler's test `ulp` with more arguments than in a test run, and optimized, because the references take most of
//! the time.

use anyhow::Result;

use crate::sh;

/// Arguments of `ulp`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Every float, for functions of one argument: a minute or two for each function.
    #[arg(long)]
    all: bool,
    /// Multiplies the number of the test's arguments.
    #[arg(long, default_value_t = 64)]
    times: u64,
    /// Arguments for the test, such as a function's name.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let effort = if args.all { "all".to_owned() } else { args.times.to_string() };
    let mut cargo = sh::cargo();
    cargo
        .args(["test", "--release", "-p", "clift-jit", "--test", "ulp", "--"])
        .args(&args.rest)
        .env("CLIFT_ULP", effort);
    sh::run(&mut cargo)
}
