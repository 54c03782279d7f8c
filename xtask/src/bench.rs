//! `cargo xtask bench`: compares this driver with others in one run.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::{driver, peers, sh};

/// The benchmark's option that needs the offline compiler.
const LEVELS: &str = "--levels";

/// Arguments of `bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
    /// Fetch Intel's driver from PyPI if it is missing (about 800 MB, into the target directory).
    #[arg(long)]
    intel: bool,
    /// Arguments for the benchmark, after the ones above: `-- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds and runs the driver and the benchmark; the results are also stored in the target directory.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Bench, false)?;
    }
    if args.intel {
        peers::fetch_intel()?;
    }
    let (library, program) = driver::build_release_with("clift-bench")?;
    let results = sh::target_dir().join("bench");
    std::fs::create_dir_all(&results)?;
    let mut program = std::process::Command::new(program);
    if let Some(library) = peers::intel() {
        program.env(peers::INTEL_VARIABLE, library);
    }
    program.current_dir(sh::root()).arg("--clift").arg(library).args(&args.rest);
    if args.rest.iter().any(|arg| arg.starts_with(LEVELS)) {
        program.arg("--compiler").arg(driver::build_offline_compiler()?);
    }
    for (option, file) in [("--json", "results.json"), ("--plot", "ratios.svg")] {
        if !args.rest.iter().any(|arg| arg == option || arg.starts_with(&format!("{option}="))) {
            program.arg(option).arg(results.join(file));
        }
    }
    sh::run(&mut program)
}
