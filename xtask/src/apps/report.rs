//! Reports of runs: lines for the terminal, and `docs/applications.md`.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::drivers::Driver;
use super::kept::{MARK, Page};
use super::manifest::App;
use super::outcome::Outcome;
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
        counted(app, outcome),
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
            println!("    {}: {}", outcome.driver.title(), counted(app, &outcome));
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
    let earlier = Page::read(&std::fs::read_to_string(&path).unwrap_or_default());
    std::fs::write(&path, page(apps, &earlier, Outcome::load)?).with_context(|| path.display().to_string())?;
    println!("{} programs in {}", apps.len(), path.display());
    Ok(())
}

/// The page: of the last runs as `load` finds them, and of the `earlier` page where it finds none.
fn page(apps: &[App], earlier: &Page, load: impl Fn(&str, Driver) -> Option<Outcome>) -> Result<String> {
    let programs: Vec<_> = apps.iter().map(|app| (app, Driver::ALL.map(|driver| load(&app.name, driver)))).collect();
    let mut text = String::from(INTRODUCTION);
    text.push_str("| program | version | what is run | Clift | PoCL | Intel | seconds: Clift | PoCL | Intel |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for (app, outcomes) in &programs {
        let title = &app.manifest.title;
        let mut versions = outcomes.iter().flatten().map(|outcome| outcome.version.as_str());
        let version = versions.find(|version| !version.is_empty()).or_else(|| earlier.version(title));
        let figures = Driver::ALL.map(|driver| match &outcomes[driver as usize] {
            Some(outcome) => (counted(app, outcome), times(outcome)),
            None => earlier.figures(title, driver).map_or_else(
                || ("not run".to_owned(), "-".to_owned()),
                |(counts, seconds)| {
                    (counts.to_owned(), if seconds == "-" { "-".to_owned() } else { format!("{seconds}{MARK}") })
                },
            ),
        });
        write!(text, "| {title} | {} | {} |", version.unwrap_or("-"), app.manifest.what)?;
        for cell in figures.iter().map(|(counts, _)| counts).chain(figures.iter().map(|(_, seconds)| seconds)) {
            write!(text, " {cell} |")?;
        }
        text.push('\n');
    }
    text.push_str("\n## Failures that are explained\n\n");
    for (app, outcomes) in &programs {
        explained(app, outcomes, earlier, &mut text)?;
    }
    text.push_str("\n## Failures that are not explained\n\n");
    for (app, outcomes) in &programs {
        unexplained(app, outcomes, earlier, &mut text)?;
    }
    Ok(text)
}

const INTRODUCTION: &str = "# Applications

Real programs on this driver, and on PoCL and Intel's runtime for processors beside it. Written by `./run apps --write` from
the results of the last whole runs (`./run apps --driver all`); [add-an-application.md](add-an-application.md) says how a
program is added. Each case compares results with the program's own way without OpenCL, or with a reference. Seconds are
`time in program builds / whole run`, with empty caches, by the clock, whatever else the machine did; PoCL compiles kernels
when they are first enqueued, so that its builds look shorter than they are. A run that was `stopped` (`--stop SECONDS`) has
only the cases until then. A dagger (†) marks runs of another time and machine: their seconds are not to be compared with
unmarked ones.

";

/// The failures whose cause is known.
fn explained(app: &App, outcomes: &[Option<Outcome>], earlier: &Page, text: &mut String) -> Result<()> {
    let title = &app.manifest.title;
    let mut causes: Vec<&str> = Vec::new();
    let known = app.manifest.known.iter().map(|known| known.cause.as_str());
    for cause in known.chain(earlier.explained(title).map(|known| known.cause.as_str())) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    for cause in causes {
        let mut counts = Vec::new();
        for (driver, outcome) in Driver::ALL.into_iter().zip(outcomes) {
            let count = match outcome {
                Some(outcome) => {
                    let cause_of = |name: &str| app.manifest.known(name, driver).map(|known| known.cause.as_str());
                    outcome.failed().filter(|case| cause_of(&case.name) == Some(cause)).count()
                }
                None => {
                    earlier.explained(title).filter(|known| known.cause == cause).map(|known| known.on(driver)).sum()
                }
            };
            if count > 0 {
                counts.push(format!("{} {count}", driver.title()));
            }
        }
        if !counts.is_empty() {
            writeln!(text, "- **{title}** ({}): {cause}", counts.join(", "))?;
        }
    }
    Ok(())
}

/// The failures whose cause is not known.
fn unexplained(app: &App, outcomes: &[Option<Outcome>], earlier: &Page, text: &mut String) -> Result<()> {
    let title = &app.manifest.title;
    for (driver, outcome) in Driver::ALL.into_iter().zip(outcomes) {
        let names = match outcome {
            Some(outcome) => failures(app, outcome),
            None => earlier.unexplained(title, driver).map(str::to_owned),
        };
        if let Some(names) = names {
            writeln!(text, "- **{title}** on {}: {names}", driver.title())?;
        }
    }
    Ok(())
}

/// The names of a run's failures without a known cause, if there are any.
fn failures(app: &App, outcome: &Outcome) -> Option<String> {
    let unknown = |name: &str| app.manifest.known(name, outcome.driver).is_none();
    let names: Vec<_> = outcome.failed().map(|case| case.name.as_str()).filter(|name| unknown(name)).collect();
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

/// Formats the counts of a run's cases.
fn counted(app: &App, outcome: &Outcome) -> String {
    let counts = outcome.counts(app);
    let mut text = format!("{} passed", counts.passed);
    for (count, word) in [(counts.failed, "**failed**"), (counts.known, "explained"), (counts.skipped, "skipped")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    if outcome.stopped {
        text.push_str(", stopped");
    }
    text
}

/// Formats times: seconds in builds, if known, and in total.
fn times(outcome: &Outcome) -> String {
    let time = |label: &str| outcome.times.get(label).copied();
    let total = time("total").unwrap_or(0.0);
    time("build").map_or_else(|| format!("{total:.1}"), |build| format!("{build:.1} / {total:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_without_results_are_kept() {
        let manifest =
            "title = \"A\"\nwhat = \"x\"\n[[known]]\ncases = [\"k\"]\ndrivers = [\"clift\", \"pocl\"]\ncause = \"c\"";
        let app = App { name: "a".to_owned(), directory: "a".into(), manifest: toml::from_str(manifest).unwrap() };
        let apps = [app];
        let earlier = "| A | 1 | x | 1 passed, 1 explained | 1 passed | not run | 5.0 | 6.0 | - |\n\
                       - **A** (Clift 1): c\n- **A** on Clift: `a`\n- **A** on PoCL: `b`\n";
        let run = |_: &str, driver| {
            (driver == Driver::Pocl)
                .then(|| Outcome::read("a", driver, false, "version 2\ncase k failed: r\ntime total 7\n"))
        };
        let first = page(&apps, &Page::read(earlier), run).unwrap();
        assert!(
            first.contains(
                "| A | 2 | x | 1 passed, 1 explained | 0 passed, 1 explained | not run | 5.0 † | 7.0 | - |\n"
            )
        );
        assert!(first.contains("- **A** (Clift 1, PoCL 1): c\n") && first.contains("- **A** on Clift: `a`\n"));
        assert!(!first.contains("**A** on PoCL"));
        assert_eq!(page(&apps, &Page::read(&first), run).unwrap(), first);
    }

    #[test]
    fn stopped_runs_are_marked() {
        let app = App {
            name: "a".to_owned(),
            directory: "a".into(),
            manifest: toml::from_str("title = \"A\"\nwhat = \"x\"").unwrap(),
        };
        let mut outcome = Outcome::read("a", Driver::Pocl, false, "case a ok\ncase b skipped: c\n");
        assert_eq!(counted(&app, &outcome), "1 passed, 1 skipped");
        outcome.stopped = true;
        assert_eq!(counted(&app, &outcome), "1 passed, 1 skipped, stopped");
    }
}
