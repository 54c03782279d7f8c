//! `cargo xtask models`: runs the concurrent parts of the driver in all orders of their threads' steps, by the model checker
//! loom. The models are tests of the packages; the feature `loom` replaces what threads synchronize with, so only they can run
//! with it.

use anyhow::Result;

use crate::sh;

/// Arguments of `models`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Interrupt a thread so many times in an execution. More find rarer faults and take much longer; the default depends on
    /// the model.
    #[arg(long)]
    preemptions: Option<usize>,
    /// Only the models whose names contain this.
    #[arg(default_value = "")]
    name: String,
}

/// Packages that have models.
const PACKAGES: &[&str] = &["clift-runtime", "clift-icd"];

/// Runs the models.
pub(crate) fn run(args: &Args) -> Result<()> {
    check(args.preemptions, &args.name, None)
}

/// Runs the models whose names contain `name`, each for at most so many seconds.
pub(crate) fn check(preemptions: Option<usize>, name: &str, seconds: Option<u64>) -> Result<()> {
    for package in PACKAGES {
        let mut cargo = sh::cargo();
        cargo.args(["test", "-p", package, "--features", "loom", "--lib", &format!("models::{name}")]);
        if let Some(preemptions) = preemptions {
            cargo.env("LOOM_MAX_PREEMPTIONS", preemptions.to_string());
        }
        if let Some(seconds) = seconds {
            cargo.env("LOOM_MAX_DURATION", seconds.to_string());
        }
        sh::run(&mut cargo)?;
    }
    Ok(())
}
