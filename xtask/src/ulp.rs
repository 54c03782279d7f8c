//! `cargo xtask ulp`: the largest errors of the transcendental functions.
//!
//! The test `ulp` of the compiler with more arguments than a test may take, and optimized, as the references take most of the time.

use anyhow::Result;

use crate::sh;

/// Arguments of `ulp`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Every float, for functions of one: a minute or two for each.
    #[arg(long)]
    all: bool,
    /// So many times the arguments of the test.
    #[arg(long, default_value_t = 64)]
    times: u64,
    /// Arguments for the test, such as a function's name.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Sweeps and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let effort = if args.all { "all".to_owned() } else { args.times.to_string() };
    let mut cargo = sh::cargo();
    cargo
        .args(["test", "--release", "-p", "clift-jit", "--test", "ulp", "--"])
        .args(&args.rest)
        .env("CLIFT_ULP", effort);
    sh::run(&mut cargo)
}
