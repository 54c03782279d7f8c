//! `cargo xtask piglit`: runs Debian's piglit on the optimized driver.
//!
//! `tests/piglit/passing.txt` lists the programs of which every subtest passes. By default, exactly these programs are run, and
//! the task fails when one does not pass. `--all` runs every program and reports by group. `--bless` does so too and rewrites the
//! list, which may only grow: removing a program needs `--allow-shrink`, and a reason in the commit message.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::packages::{self, Level};
use crate::{driver, sh};

/// Arguments of `piglit`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run every program, not only those listed as passing.
    #[arg(long)]
    all: bool,
    /// Run every program and rewrite the list.
    #[arg(long)]
    bless: bool,
    /// Let `--bless` remove programs from the list.
    #[arg(long, requires = "bless")]
    allow_shrink: bool,
    /// Run only programs whose name contains this regular expression.
    #[arg(long)]
    matching: Option<String>,
    /// Time limit of a program in seconds.
    #[arg(long, default_value_t = 60)]
    timeout: u32,
    /// Number of programs at the same time; default: the number of cores.
    #[arg(long)]
    jobs: Option<u32>,
    /// The library of another driver to run instead of this one.
    #[arg(long, conflicts_with = "bless")]
    icd: Option<PathBuf>,
    /// The output directory for the results.
    #[arg(long, default_value = "out/piglit")]
    out: PathBuf,
    /// Name every subtest that did not pass.
    #[arg(long)]
    verbose: bool,
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
}

/// The relevant part of piglit's `results.json`.
#[derive(Deserialize)]
struct Results {
    tests: BTreeMap<String, Program>,
}

/// One test program.
#[derive(Deserialize)]
struct Program {
    result: String,
    #[serde(default)]
    subtests: BTreeMap<String, String>,
}

impl Program {
    /// Status by subtest. A program without subtests has one that represents the program.
    fn statuses(&self) -> Vec<(&str, &str)> {
        // Piglit stores the type of its own object among the subtests.
        let subtests: Vec<_> = self.subtests.iter().filter(|(name, _)| *name != "__type__").collect();
        if subtests.is_empty() {
            return vec![("", &self.result)];
        }
        let mut all: Vec<(&str, &str)> =
            subtests.into_iter().map(|(name, status)| (name.as_str(), status.as_str())).collect();
        // A program that crashes leaves earlier subtests unchanged, so its end counts as an additional one.
        if matches!(self.result.as_str(), "crash" | "timeout" | "incomplete") {
            all.push(("(the program)", &self.result));
        }
        all
    }

    fn passes(&self) -> bool {
        self.result == "pass" && self.statuses().iter().all(|(_, status)| *status == "pass")
    }
}

fn list_path() -> PathBuf {
    sh::root().join("tests/piglit/passing.txt")
}

/// Runs piglit and evaluates the results.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Test, false)?;
    }
    let listed: BTreeSet<String> = match std::fs::read_to_string(list_path()) {
        Ok(text) => text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => return Err(error).context("tests/piglit/passing.txt"),
    };
    let only_listed = !args.all && !args.bless && args.matching.is_none();
    if only_listed && listed.is_empty() {
        bail!("tests/piglit/passing.txt lists no program; `cargo xtask piglit --bless` writes it");
    }
    let library = match &args.icd {
        Some(path) => path.clone(),
        None => driver::build_release_for_tests()?,
    };
    let out = sh::root().join(&args.out);
    let results = execute(args, &library, &out, only_listed.then_some(&listed))?;
    report(&results, args.verbose || only_listed);

    let passing: BTreeSet<String> =
        results.tests.iter().filter(|(_, program)| program.passes()).map(|(name, _)| name.clone()).collect();
    let lost: Vec<_> =
        listed.iter().filter(|name| results.tests.contains_key(*name) && !passing.contains(*name)).collect();
    let gone: Vec<_> = listed.iter().filter(|name| only_listed && !results.tests.contains_key(*name)).collect();
    for name in &lost {
        println!("listed as passing, but does not: {name}");
    }
    for name in &gone {
        println!("listed as passing, but was not run: {name}");
    }
    if args.bless {
        ensure!(args.matching.is_none(), "--bless needs every program: leave out --matching");
        if !lost.is_empty() && !args.allow_shrink {
            bail!("{} listed programs do not pass: the list may only grow (--allow-shrink overrules)", lost.len());
        }
        return write_list(&passing);
    }
    if args.icd.is_none() {
        let new = passing.difference(&listed).count();
        if new > 0 {
            println!("{new} programs pass that are not listed: `cargo xtask piglit --bless` adds them");
        }
        ensure!(lost.is_empty() && gone.is_empty(), "{} listed programs do not pass", lost.len() + gone.len());
    }
    Ok(())
}

fn execute(args: &Args, library: &Path, out: &Path, only: Option<&BTreeSet<String>>) -> Result<Results> {
    let _ = std::fs::remove_dir_all(out);
    std::fs::create_dir_all(out)?;
    let vendors = out.join("vendors");
    std::fs::create_dir_all(&vendors)?;
    std::fs::write(vendors.join("driver.icd"), format!("{}\n", library.display()))?;
    let mut command = std::process::Command::new("piglit");
    command
        .current_dir(out)
        .env("PIGLIT_PLATFORM", "none")
        .env("PIGLIT_COMPRESSION", "none")
        .env("OCL_ICD_VENDORS", &vendors)
        .env_remove("OCL_ICD_FILENAMES")
        // No other front end stands in for Clift's own.
        .env("CLIFT_FRONTEND", std::env::var_os("CLIFT_FRONTEND").unwrap_or_else(|| "clift".into()))
        .args([
            "run",
            "--all-concurrent",
            "--overwrite",
            "--log-level",
            "quiet",
            "--timeout",
            &args.timeout.to_string(),
        ]);
    if let Some(jobs) = args.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    if let Some(pattern) = &args.matching {
        command.args(["--include-tests", pattern]);
    }
    if let Some(only) = only {
        let list = out.join("programs.txt");
        let names: Vec<&str> = only.iter().map(String::as_str).collect();
        std::fs::write(&list, names.join("\n") + "\n")?;
        command.arg("--test-list").arg(list);
    }
    // The progress goes to a file, because it rewrites one line hundreds of times.
    let log = std::fs::File::create(out.join("log"))?;
    command.stdout(log.try_clone()?).stderr(log).args(["cl", "run"]);
    sh::run(&mut command).with_context(|| format!("see {}", out.join("log").display()))?;
    let text = std::fs::read_to_string(out.join("run/results.json")).context("piglit's results")?;
    serde_json::from_str(&text).context("piglit's results")
}

/// Prints counts by group and in total, and the subtests that did not pass.
fn report(results: &Results, verbose: bool) {
    let mut groups: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut total: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, program) in &results.tests {
        let group = name.rsplit_once('@').map_or("", |(group, _)| group);
        for (subtest, status) in program.statuses() {
            *groups.entry(group.to_owned()).or_default().entry(status).or_default() += 1;
            *total.entry(status).or_default() += 1;
            if verbose && status != "pass" {
                println!("{status:8} {name} {subtest}");
            }
        }
    }
    for (group, counts) in &groups {
        println!("{group:40} {}", counts.iter().map(|(s, n)| format!("{n} {s}")).collect::<Vec<_>>().join(", "));
    }
    let programs = results.tests.values().filter(|program| program.passes()).count();
    println!(
        "piglit: {programs} of {} programs pass; subtests: {}",
        results.tests.len(),
        total.iter().map(|(status, n)| format!("{n} {status}")).collect::<Vec<_>>().join(", ")
    );
}

fn write_list(passing: &BTreeSet<String>) -> Result<()> {
    let path = list_path();
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut text = String::from(
        "# Piglit's OpenCL programs of which every subtest passes. Written by `cargo xtask piglit --bless`; may only grow.\n",
    );
    for name in passing {
        text.push_str(name);
        text.push('\n');
    }
    std::fs::write(&path, text)?;
    println!("{} programs listed in {}", passing.len(), path.display());
    Ok(())
}
