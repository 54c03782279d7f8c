//! Reports of runs: lines for the terminal, and `docs/applications.md`.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::drivers::Driver;
use super::manifest::App;
use super::outcome::{Counts, Outcome};
use crate::sh;

/// Maximum number of failures shown per run.
const SHOWN: usize = 20;

/// Prints the result of a run.
pub(crate) fn say(app: &App, outcome: &Outcome) {
    println!(
        "{} {} on {}: {}; {}",
        app.name,
        outcome.version,
        outcome.driver.title(),
        counted(outcome.counts(app)),
        times(outcome).replace(" / ", " s in builds, ") + " s"
    );
    let unknown = |name: &str| app.manifest.known(name, outcome.driver).is_none();
    let failed: Vec<_> = outcome.failed().filter(|case| unknown(&case.name)).collect();
    for case in failed.iter().take(SHOWN) {
        println!("    {}: {}", case.name, case.reason);
    }
    if failed.len() > SHOWN {
        println!("    ... and {} more", failed.len() - SHOWN);
    }
}

/// Shows the programs and the results of the last complete runs.
pub(crate) fn list(apps: &[App]) -> Result<()> {
    for app in apps {
        println!(
            "{}{}: {}: {}",
            app.name,
            if app.manifest.quick { " (in CI)" } else { "" },
            app.manifest.title,
            app.manifest.what
        );
        for outcome in Driver::ALL.iter().filter_map(|&driver| Outcome::load(&app.name, driver)) {
            println!("    {}: {}", outcome.driver.title(), counted(outcome.counts(app)));
        }
    }
    Ok(())
}

/// Writes the page of all programs.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(apps: &[App]) -> Result<()> {
    let path = sh::root().join("docs/applications.md");
    std::fs::write(&path, page(apps)?).with_context(|| path.display().to_string())?;
    println!("{} programs in {}", apps.len(), path.display());
    Ok(())
}

fn page(apps: &[App]) -> Result<String> {
    let mut text = String::from(INTRODUCTION);
    text.push_str("| program | version | what is run | Clift | PoCL | Intel | seconds: Clift | PoCL | Intel |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for app in apps {
        let outcomes = Driver::ALL.map(|driver| Outcome::load(&app.name, driver));
        let version =
            outcomes.iter().flatten().map(|outcome| outcome.version.as_str()).find(|version| !version.is_empty());
        write!(text, "| {} | {} | {} |", app.manifest.title, version.unwrap_or("-"), app.manifest.what)?;
        for outcome in &outcomes {
            let cell = outcome.as_ref().map_or_else(|| "not run".to_owned(), |outcome| counted(outcome.counts(app)));
            write!(text, " {cell} |")?;
        }
        for outcome in &outcomes {
            write!(text, " {} |", outcome.as_ref().map_or_else(|| "-".to_owned(), times))?;
        }
        text.push('\n');
    }
    explained(apps, &mut text)?;
    unexplained(apps, &mut text)?;
    Ok(text)
}

const INTRODUCTION: &str = "# Applications

Real programs on this driver, and on PoCL and Intel's runtime for processors beside it. Written by `./run apps --write` from
the results of the last whole runs (`./run apps --driver all`); [add-an-application.md](add-an-application.md) says how a
program is added. Each case compares results with the program's own way without OpenCL, or with a reference. Seconds are
`time in program builds / whole run`, with empty caches; PoCL compiles kernels when they are first enqueued, so that its
builds look shorter than they are.

";

/// The failures whose cause is known.
fn explained(apps: &[App], text: &mut String) -> Result<()> {
    text.push_str("\n## Failures that are explained\n\n");
    for app in apps {
        let outcomes = Driver::ALL.map(|driver| Outcome::load(&app.name, driver));
        for known in &app.manifest.known {
            let mut counts = Vec::new();
            for outcome in outcomes.iter().flatten() {
                let explains = |name: &str| {
                    app.manifest.known(name, outcome.driver).is_some_and(|found| std::ptr::eq(found, known))
                };
                let count = outcome.failed().filter(|case| explains(&case.name)).count();
                if count > 0 {
                    counts.push(format!("{} {count}", outcome.driver.title()));
                }
            }
            if !counts.is_empty() {
                writeln!(text, "- **{}** ({}): {}", app.manifest.title, counts.join(", "), known.cause)?;
            }
        }
    }
    Ok(())
}

/// The failures whose cause is not known.
fn unexplained(apps: &[App], text: &mut String) -> Result<()> {
    text.push_str("\n## Failures that are not explained\n\n");
    for app in apps {
        for outcome in Driver::ALL.iter().filter_map(|&driver| Outcome::load(&app.name, driver)) {
            let unknown = |name: &str| app.manifest.known(name, outcome.driver).is_none();
            let names: Vec<_> = outcome.failed().map(|case| case.name.as_str()).filter(|name| unknown(name)).collect();
            if names.is_empty() {
                continue;
            }
            let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
            writeln!(text, "- **{}** on {}: {}{more}", app.manifest.title, outcome.driver.title(), shown.join(", "))?;
        }
    }
    Ok(())
}

/// Formats counts.
fn counted(counts: Counts) -> String {
    let mut text = format!("{} passed", counts.passed);
    for (count, word) in [(counts.failed, "**failed**"), (counts.known, "explained"), (counts.skipped, "skipped")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// Formats times: seconds in builds, if known, and in total.
fn times(outcome: &Outcome) -> String {
    let time = |label: &str| outcome.times.get(label).copied();
    let total = time("total").unwrap_or(0.0);
    time("build").map_or_else(|| format!("{total:.1}"), |build| format!("{build:.1} / {total:.1}"))
}
