//! `cargo xtask apps`: runs real programs on this driver and on others, and writes `docs/applications.md`.
//!
//! A program is a directory in `tests/apps`: its requirements and known failures are in `app.toml` ([`manifest`]), and a script
//! runs it and reports the result of each case. [`install`] gets the requirements from package registries, [`execute`] runs the
//! script with limits on time and memory, [`checked`] shows what checked kernels reported, [`outcome`] is the result of a run,
//! and [`report`] writes the page with all results. Rows of the page for runs whose results are not on this machine are
//! preserved ([`kept`]). `docs/add-an-application.md` explains how to add a program. Nothing of a program is stored in this
//! repository.

mod checked;
mod drivers;
mod execute;
mod install;
mod kept;
mod manifest;
mod outcome;
mod report;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::sh;
use drivers::Driver;
use execute::Mode;
use manifest::App;

/// Arguments of `apps`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The programs to run: names of directories in `tests/apps`. Default: all, or with `--quick` the selection of CI.
    names: Vec<String>,
    /// The drivers to run them on.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "clift")]
    driver: Vec<drivers::Choice>,
    /// Run the short form of each program.
    #[arg(long)]
    quick: bool,
    /// Stop each run after so many seconds by the clock; the page says so. For peers that take far longer.
    #[arg(long, value_name = "SECONDS")]
    stop: Option<u64>,
    /// Install nothing.
    #[arg(long)]
    no_setup: bool,
    /// Install what the programs need and exit.
    #[arg(long, conflicts_with = "no_setup")]
    setup_only: bool,
    /// Show the programs and the results of their last runs, and exit.
    #[arg(long)]
    list: bool,
    /// Write `docs/applications.md` from the results of the last complete runs, and exit. Rows for runs whose results are not
    /// on this machine are preserved.
    #[arg(long)]
    write: bool,
    /// A `libclift.so` that is already built, to be used instead of building this tree's.
    #[arg(long)]
    library: Option<PathBuf>,
    /// Run the programs with checked kernels (`CLIFT_CHECK`; on Clift only) and show what was reported: a case may not depend
    /// on undefined values. Time limits are 30 times longer, and results are not kept.
    #[arg(long, value_name = "WORDS", num_args = 0..=1, require_equals = true, default_missing_value = "memory,uninit")]
    check: Option<String>,
    /// Show the programs' output.
    #[arg(long)]
    verbose: bool,
}

/// Runs the programs on the drivers, or shows earlier results.
pub(crate) fn run(args: &Args) -> Result<()> {
    let apps = manifest::read_all(&directory())?;
    if args.write {
        return report::write(&apps);
    }
    let chosen = choose(apps, args)?;
    if args.list {
        return report::list(&chosen);
    }
    let mut missing = Vec::new();
    let mut ready = Vec::new();
    for app in chosen {
        match if args.no_setup { Ok(()) } else { install::ensure(&app) } {
            Ok(()) => ready.push(app),
            Err(error) => {
                eprintln!("{}: cannot be installed: {error:#}", app.name);
                missing.push(app.name);
            }
        }
    }
    let mut failing = Vec::new();
    if !args.setup_only {
        let targets = drivers::targets(&args.driver, args.library.as_deref(), args.no_setup)?;
        for app in &ready {
            for target in &targets {
                let checks = args.check.as_deref().filter(|_| target.driver == Driver::Clift);
                let outcome = execute::run(
                    app,
                    target,
                    &Mode { quick: args.quick, verbose: args.verbose, checks, stop: args.stop },
                )?;
                if args.check.is_none() {
                    outcome.save()?;
                }
                report::say(app, &outcome);
                if target.driver == Driver::Clift && outcome.counts(app).failed > 0 {
                    failing.push(app.name.clone());
                }
            }
        }
    }
    ensure!(missing.is_empty(), "not installed: {}", missing.join(", "));
    ensure!(failing.is_empty(), "cases failed that are not known to: {}", failing.join(", "));
    Ok(())
}

/// The programs selected by the arguments.
fn choose(mut apps: Vec<App>, args: &Args) -> Result<Vec<App>> {
    for name in &args.names {
        ensure!(apps.iter().any(|app| app.name == *name), "no program {name}; `--list` shows them");
    }
    if !args.names.is_empty() {
        apps.retain(|app| args.names.contains(&app.name));
    } else if args.quick && !args.list {
        apps.retain(|app| app.manifest.quick);
    }
    Ok(apps)
}

/// The directory of the programs' manifests and scripts.
fn directory() -> PathBuf {
    sh::root().join("tests/apps")
}

/// The directory where programs are installed and run, and which contains their results.
fn work() -> PathBuf {
    sh::target_dir().join("apps")
}
