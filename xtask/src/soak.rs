//! `cargo xtask soak`: what finds rare faults if it runs for long. Each step runs for the same time; all steps run, and the
//! task fails if one of them has found something.
//!
//! The steps are tests that also run for a second with the others. A failure prints how to repeat it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::packages::{self, Level};
use crate::{driver, models, sh};

/// Arguments of `soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Seconds for each step.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Only the steps whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
}

/// Tests that damage or make inputs for `CLIFT_FUZZ_MS` milliseconds: package and test.
const FUZZ_TESTS: &[(&str, &str)] = &[
    ("clift-clc", "source_fuzz"),
    ("clift-kir", "text_fuzz"),
    ("clift-jit", "import_fuzz"),
    ("clift-runtime", "printf_fuzz"),
    ("clift-icd", "input_fuzz"),
    ("clift-icd", "stale"),
    ("clift-icd", "model"),
];

/// Programs with sanitizers, for which a stable compiler is told to permit unstable options: the sanitizer, package and test.
/// The standard library is not instrumented; so the thread sanitizer, which would not see its locks, is not among them.
const SANITIZED: &[(&str, &str, &str)] = &[
    ("address", "clift-icd", "stale"),
    ("address", "clift-icd", "model"),
    ("address", "clift-icd", "lifetimes"),
    ("address", "clift-runtime", "process"),
];

/// Runs all steps.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    let milliseconds = (args.seconds * 1000).to_string();
    let mut failed = Vec::new();
    let mut step = |name: String, command: &mut dyn FnMut() -> Result<()>| {
        if name.contains(&args.only) {
            eprintln!("==== {name}");
            if let Err(error) = command() {
                eprintln!("{error:#}");
                failed.push(name);
            }
        }
    };
    for (package, test) in FUZZ_TESTS {
        step((*test).to_owned(), &mut || {
            let mut cargo = sh::cargo();
            cargo.args(["test", "--release", "-p", package, "--test", test, "--", "--test-threads=1"]);
            sh::run(cargo.env("CLIFT_FUZZ_MS", &milliseconds))
        });
    }
    step("models".to_owned(), &mut || models::check(Some(4), "", Some(args.seconds)));
    step("stress".to_owned(), &mut || {
        driver::build_release_with("clift-fuzz")?;
        let mut cargo = sh::cargo();
        cargo.args(["test", "--release", "-p", "clift-tests", "--test", "host", "stress"]);
        sh::run(cargo.env("CLIFT_STRESS_MS", &milliseconds))
    });
    step("lifetimes".to_owned(), &mut || {
        let mut cargo = sh::cargo();
        cargo.args(["test", "--release", "-p", "clift-icd", "--test", "lifetimes"]);
        sh::run(cargo.env("CLIFT_STRESS_MS", &milliseconds))
    });
    step("programs".to_owned(), &mut || {
        let (library, program) = driver::build_release_with("clift-fuzz")?;
        let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut fuzz = Command::new(program);
        fuzz.current_dir(sh::root()).arg("--clift").arg(library);
        fuzz.args(["--count", "100000000", "--first", &first.to_string(), "--seconds", &args.seconds.to_string()]);
        sh::run(&mut fuzz)
    });
    for (sanitizer, package, test) in SANITIZED {
        step(format!("{sanitizer} sanitizer: {test}"), &mut || {
            let Some(host) = host() else {
                bail!("`rustc -vV` does not name the host");
            };
            let target: PathBuf = sh::target_dir().join(format!("sanitizer-{sanitizer}"));
            let mut cargo = sh::cargo();
            cargo.args(["test", "--release", "--target", &host, "-p", package, "--test", test]);
            cargo.env("CARGO_TARGET_DIR", target).env("RUSTC_BOOTSTRAP", "1");
            cargo.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}")).env("CLIFT_FUZZ_MS", &milliseconds);
            cargo.env("CLIFT_STRESS_MS", &milliseconds);
            // Faults of kernels are ours; memory of threads that wait for the process's end is not freed.
            sh::run(cargo.env(
                "ASAN_OPTIONS",
                "handle_segv=0:handle_sigill=0:handle_sigfpe=0:allow_user_segv_handler=1:detect_leaks=0",
            ))
        });
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    eprintln!("==== nothing found");
    Ok(())
}

/// The name of the compiler's host.
fn host() -> Option<String> {
    let text = sh::output(Command::new("rustc").arg("-vV"))?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
