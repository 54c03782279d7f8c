//! `cargo xtask faults`: runs each case of the fault suite (`tests/host/faults`) on this driver, PoCL and Intel's, in processes
//! of its own, and writes the results as tables into `docs/reliability.md`.
//!
//! What a case checks is in the suite. Here is only how its process ended: that a peer's process dies or hangs is a result, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::packages::{self, Level};
use crate::{peers, sh};

/// Arguments of `faults`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the cases whose paths contain this; prints the results and leaves the document as it is.
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds that a case may take on a peer.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Fetch Intel's driver from PyPI if it is missing (about 800 MB, into the target directory).
    #[arg(long)]
    intel: bool,
    /// Do not check for missing packages.
    #[arg(long)]
    no_setup: bool,
}

/// Where the tables are.
const DOCUMENT: &str = "docs/reliability.md";
const BEGIN: &str = "<!-- faults: cargo xtask faults -->\n";
const END: &str = "<!-- end of faults -->\n";

/// The suite's module in the test program.
const SUITE: &str = "faults::";

/// A driver in the table.
struct Driver {
    name: &'static str,
    /// The value of `CLIFT_TEST_ICD`.
    library: PathBuf,
    is_peer: bool,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// The driver has no such feature.
    Lacking,
    /// The process was ended by this signal.
    Signal(i32),
    Hangs,
    /// A call failed, or a status, a message or a result was wrong.
    Failed,
}

impl Outcome {
    fn shown(&self) -> String {
        match self {
            Self::Passed => "yes".to_owned(),
            Self::Lacking => "–".to_owned(),
            Self::Signal(number) => match number {
                4 => "SIGILL".to_owned(),
                6 => "abort".to_owned(),
                7 => "SIGBUS".to_owned(),
                8 => "SIGFPE".to_owned(),
                11 => "SIGSEGV".to_owned(),
                other => format!("signal {other}"),
            },
            Self::Hangs => "hangs".to_owned(),
            Self::Failed => "fails".to_owned(),
        }
    }
}

/// Runs the suite.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_setup {
        packages::ensure(Level::Bench, false)?;
    }
    if args.intel {
        peers::fetch_intel()?;
    }
    let program = test_program()?;
    let mut drivers = vec![
        Driver { name: "Clift", library: "clift".into(), is_peer: false },
        Driver { name: "PoCL", library: "pocl".into(), is_peer: true },
    ];
    peers::note();
    drivers.extend(peers::intel().map(|library| Driver { name: "Intel", library, is_peer: true }));
    let list =
        sh::output(Command::new(&program).args([SUITE, "--list", "--format=terse"])).context("the list of cases")?;
    let mut tables: BTreeMap<&str, Vec<(&str, Vec<Outcome>)>> = BTreeMap::new();
    for path in list.lines().filter_map(|line| line.strip_suffix(": test")).filter(|path| path.contains(&args.only)) {
        let mut outcomes = Vec::new();
        for driver in &drivers {
            let outcome = run_case(&program, path, driver, args.seconds)?;
            eprintln!("{:<12} {path}: {}", driver.name, outcome.shown());
            outcomes.push(outcome);
        }
        let (group, case) = path[SUITE.len()..].split_once("::").context("a case is in a module")?;
        tables.entry(group).or_default().push((case, outcomes));
    }
    let text = document(&tables, &drivers);
    if !args.only.is_empty() {
        print!("{text}");
        return Ok(());
    }
    ensure!(drivers.len() == 3, "without all drivers, {DOCUMENT} is not written");
    replace(&sh::root().join(DOCUMENT), &text)?;
    let ours = tables.values().flatten().filter(|(_, outcomes)| outcomes[0] != Outcome::Passed).count();
    ensure!(ours == 0, "{ours} cases do not pass");
    Ok(())
}

/// Builds the test program, and returns its path.
fn test_program() -> Result<PathBuf> {
    let mut cargo = sh::cargo();
    cargo.args(["test", "--release", "--package", "clift-tests", "--test", "host", "--no-run"]);
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = cargo.output()?;
    ensure!(output.status.success(), "the tests cannot be built");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["target"]["name"] == "host")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no test program")
}

/// Runs one case on a driver. The test starts the process of the case, and says how that ended.
fn run_case(program: &Path, path: &str, driver: &Driver, seconds: u32) -> Result<Outcome> {
    let mut command = Command::new(program);
    command.args(["--exact", path, "--test-threads=1", "--nocapture"]);
    command.current_dir(sh::root().join("tests")).stdin(Stdio::null()).env("CLIFT_TEST_ICD", &driver.library);
    if driver.is_peer {
        command.env("CLIFT_TEST_SECONDS", seconds.to_string());
        // Intel's libraries find each other in their directory only.
        if let Some(directory) = driver.library.parent().filter(|directory| directory.is_dir()) {
            command.env("LD_LIBRARY_PATH", directory);
        }
    }
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(if errors.contains("skipped: ") { Outcome::Lacking } else { Outcome::Passed });
    }
    if errors.contains("the process hangs") {
        return Ok(Outcome::Hangs);
    }
    let signal = errors.rsplit("ended with signal: ").next().filter(|rest| rest.len() < errors.len());
    let signal = signal.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    Ok(signal.map_or(Outcome::Failed, Outcome::Signal))
}

/// The tables: numbers by group, then each group's cases.
fn document(tables: &BTreeMap<&str, Vec<(&str, Vec<Outcome>)>>, drivers: &[Driver]) -> String {
    let names: Vec<_> = drivers.iter().map(|driver| driver.name).collect();
    let rule = "|---".repeat(names.len() + 1);
    let mut text = String::new();
    let _ = writeln!(text, "| passed | {} |\n{rule}|", names.join(" | "));
    let passed = |cases: &[(&str, Vec<Outcome>)], driver: usize| {
        cases.iter().filter(|(_, outcomes)| outcomes[driver] == Outcome::Passed).count()
    };
    for (group, cases) in tables {
        let counts: Vec<_> = (0..names.len()).map(|driver| passed(cases, driver).to_string()).collect();
        let _ = writeln!(text, "| `{group}` ({}) | {} |", cases.len(), counts.join(" | "));
    }
    let all = tables.values().map(Vec::len).sum::<usize>();
    let sum = |driver: usize| tables.values().map(|cases| passed(cases, driver)).sum::<usize>().to_string();
    let sums: Vec<_> = (0..names.len()).map(sum).collect();
    let _ = writeln!(text, "| **all ({all})** | {} |", sums.join(" | "));
    for (group, cases) in tables {
        let _ = writeln!(text, "\n| `{group}` | {} |\n{rule}|", names.join(" | "));
        for (case, outcomes) in cases {
            let outcomes: Vec<_> = outcomes.iter().map(Outcome::shown).collect();
            let _ = writeln!(text, "| {} | {} |", case.replace('_', " "), outcomes.join(" | "));
        }
    }
    text
}

/// Replaces what is between the markers.
fn replace(path: &Path, tables: &str) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let Some((before, rest)) = text.split_once(BEGIN) else { bail!("{} has no {BEGIN}", path.display()) };
    let Some((_, after)) = rest.split_once(END) else { bail!("{} has no {END}", path.display()) };
    std::fs::write(path, format!("{before}{BEGIN}\n{tables}\n{END}{after}"))?;
    Ok(())
}
