//! OpenCL C kernels through the loader: source and expected values, swept over local sizes, by class.
//!
//! On Clift the whole set runs again in child processes with other settings of the driver ([`VARIANTS`]): those are read
//! once per process.
#![allow(unsafe_code, reason = "plain data types of the host side")]

mod arith;
mod atomics;
mod barrier_bugs;
mod barriers;
mod control;
mod convert;
mod float;
mod groups;
mod half;
mod integers;
mod launch;
mod memory;
mod vector;

use libtest_mimic::{Arguments, Failed, Trial};

/// Settings of the driver to run all kernels with: a name, and environment variables.
const VARIANTS: &[(&str, &[(&str, &str)])] =
    &[("one thread", &[("CLIFT_THREADS", "1")]), ("interpreter", &[("CLIFT_BACKEND", "interp")])];

/// Marks a child process of a variant.
const IN_VARIANT: &str = "CLIFT_TEST_VARIANT";

fn main() {
    let arguments = Arguments::from_args();
    let driver = clift_tests::driver::select();
    let cases = [
        arith::cases(),
        atomics::cases(),
        barrier_bugs::cases(),
        barriers::cases(),
        control::cases(),
        convert::cases(),
        float::cases(),
        groups::cases(),
        half::cases(),
        integers::cases(),
        launch::cases(),
        memory::cases(),
        vector::cases(),
    ];
    let mut trials: Vec<Trial> = cases.into_iter().flatten().map(clift_tests::kernel::Case::into_trial).collect();
    if driver.is_clift && std::env::var_os(IN_VARIANT).is_none() {
        trials.extend(
            VARIANTS.iter().map(|(name, env)| Trial::test(format!("all kernels: {name}"), || run_variant(env))),
        );
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs all kernels in a child process.
fn run_variant(env: &[(&str, &str)]) -> Result<(), Failed> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .env(IN_VARIANT, "1")
        .envs(env.iter().copied())
        .args(["--quiet", "--color", "never"])
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{env:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stdout)).into())
}
