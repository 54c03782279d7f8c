//! `cargo xtask apps`: real programs on this driver and on others, and `docs/applications.md`.
//!
//! A program is a directory in `tests/apps`: what it needs and what is known of it in `app.toml` ([`manifest`]), and a script
//! that runs it and says what came of each case. [`install`] gets what it needs from package registries, [`execute`] runs
//! the script in bounds of time and memory, [`outcome`] is what a run left, and [`report`] makes the page of all of them;
//! what the page says of runs whose results are not here, it goes on saying ([`kept`]).
//! How a program is added is told by `docs/add-an-application.md`. Nothing of a program is stored in this repository.

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
use manifest::App;

/// Arguments of `apps`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The programs to run: names of directories in `tests/apps`; all if none is given, or with `--quick` the selection of
    /// CI.
    names: Vec<String>,
    /// The drivers to run them on.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "clift")]
    driver: Vec<drivers::Choice>,
    /// Run the short form of each program.
    #[arg(long)]
    quick: bool,
    /// Install nothing.
    #[arg(long)]
    no_setup: bool,
    /// Only install what the programs need.
    #[arg(long, conflicts_with = "no_setup")]
    setup_only: bool,
    /// Show the programs and what the last runs of them gave; run nothing.
    #[arg(long)]
    list: bool,
    /// Write `docs/applications.md` from the results of the last whole runs; run nothing. What the page says of runs whose
    /// results are not here, it goes on saying.
    #[arg(long)]
    write: bool,
    /// A `libclift.so` that is already built, to be run instead of this tree's.
    #[arg(long)]
    library: Option<PathBuf>,
    /// Show what the programs print.
    #[arg(long)]
    verbose: bool,
}

/// Runs the programs on the drivers, or shows what earlier runs gave.
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
                let outcome = execute::run(app, target, args.quick, args.verbose)?;
                outcome.save()?;
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

/// The programs that the arguments name.
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

/// Where the programs' manifests and scripts are.
fn directory() -> PathBuf {
    sh::root().join("tests/apps")
}

/// Where programs are installed and run, and their results are.
fn work() -> PathBuf {
    sh::target_dir().join("apps")
}
