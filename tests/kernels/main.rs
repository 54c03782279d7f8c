//! OpenCL C kernels through the loader: source and expected values, swept over local sizes, by class.
//!
//! With Clift the whole set also runs in child processes in other configurations ([`VARIANTS`]), because the driver reads its
//! settings once per process.
#![allow(unsafe_code, reason = "plain data types of the host side")]

mod arith;
mod atomics;
mod barrier_bugs;
mod barriers;
mod borders;
mod bytes;
mod clamped;
mod control;
mod convert;
mod float;
mod forward_progress;
mod groups;
mod guards;
mod half;
mod idioms;
mod integers;
mod launch;
mod leaders;
mod locks;
mod memory;
mod partial_records;
mod private_arrays;
mod private_pointers;
mod ragged;
mod relatives;
mod rows;
mod runs;
mod searches;
mod single_items;
mod tables;
mod tasks;
mod transposed;
mod vector;

use clift_tests::translator;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Another configuration in which to run all kernels.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    /// The environment variable that selects it, for the driver or for the harness.
    env: (&'static str, &'static str),
}

/// All variants.
const VARIANTS: &[Variant] = &[
    Variant { name: "one thread", env: ("CLIFT_THREADS", "1") },
    Variant { name: "interpreter", env: ("CLIFT_BACKEND", "interp") },
    Variant { name: "translated SPIR-V, not optimized", env: (translator::LEVEL, "-O0") },
    Variant { name: "translated SPIR-V, optimized", env: (translator::LEVEL, "-O2") },
];

/// One kernel in this many may be beyond the tools of a variant: version 15 of the SPIR-V-LLVM translator cannot write `freeze`,
/// which occurs in optimized divisions and comparisons.
const LEFT_OUT: usize = 6;

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
        borders::cases(),
        bytes::cases(),
        clamped::cases(),
        control::cases(),
        convert::cases(),
        float::cases(),
        forward_progress::cases(),
        groups::cases(),
        guards::cases(),
        half::cases(),
        idioms::cases(),
        integers::cases(),
        launch::cases(),
        leaders::cases(),
        locks::cases(),
        memory::cases(),
        partial_records::cases(),
        private_arrays::cases(),
        private_pointers::cases(),
        ragged::cases(),
        relatives::cases(),
        rows::cases(),
        runs::cases(),
        searches::cases(),
        single_items::cases(),
        tables::cases(),
        tasks::cases(),
        transposed::cases(),
        vector::cases(),
    ];
    let count = cases.iter().map(Vec::len).sum();
    let mut trials: Vec<Trial> = cases.into_iter().flatten().map(clift_tests::kernel::Case::into_trial).collect();
    if driver.is_clift && std::env::var_os(IN_VARIANT).is_none() {
        trials.extend(VARIANTS.iter().map(|&variant| {
            Trial::ignorable_test(format!("all kernels: {}", variant.name), move || run_variant(variant, count))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs all kernels in a child process.
fn run_variant(Variant { env, .. }: Variant, count: usize) -> Result<Completion, Failed> {
    if env.0 == translator::LEVEL
        && let Err(missing) = translator::is_installed()
    {
        return Ok(Completion::ignored_with(missing));
    }
    let output = std::process::Command::new(std::env::current_exe()?)
        .env(IN_VARIANT, "1")
        .env(env.0, env.1)
        .args(["--quiet", "--color", "never"])
        .output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{env:?}: {}\n{told}", output.status).into());
    }
    let ignored = told.split("; ").find_map(|part| part.strip_suffix(" ignored")?.parse::<usize>().ok());
    match ignored {
        Some(ignored) if ignored * LEFT_OUT <= count => Ok(Completion::Completed),
        _ => Err(format!("{env:?}: too many of {count} kernels were left out\n{told}").into()),
    }
}
