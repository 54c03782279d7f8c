//! The result of a run of a program: one result per case, times, how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::drivers::Driver;
use super::manifest::App;

/// A run of a program on a driver.
#[derive(Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// The program.
    pub(crate) name: String,
    /// The driver.
    pub(crate) driver: Driver,
    /// Whether it was the short form.
    pub(crate) quick: bool,
    /// Whether it was stopped before its end (`--stop`): the cases are those until then.
    #[serde(default)]
    pub(crate) stopped: bool,
    /// The program's version.
    pub(crate) version: String,
    /// The results of the cases.
    pub(crate) cases: Vec<Case>,
    /// Seconds by label; `total` is the whole script.
    pub(crate) times: BTreeMap<String, f64>,
}

/// The result of a case.
#[derive(Deserialize, Serialize)]
pub(crate) struct Case {
    /// The case.
    pub(crate) name: String,
    /// How it ended.
    pub(crate) status: Status,
    /// Why it failed or was skipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It passed.
    Ok,
    /// It failed.
    Failed,
    /// It was skipped.
    Skipped,
}

/// Numbers of cases by result.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Passed.
    pub(crate) passed: usize,
    /// Failed for an unknown cause.
    pub(crate) failed: usize,
    /// Failed for a known cause.
    pub(crate) known: usize,
    /// Skipped.
    pub(crate) skipped: usize,
}

impl Outcome {
    /// Parses a script's output. Lines of other forms are the program's own output.
    pub(crate) fn read(name: &str, driver: Driver, quick: bool, text: &str) -> Self {
        let mut outcome = Self {
            name: name.to_owned(),
            driver,
            quick,
            stopped: false,
            version: String::new(),
            cases: Vec::new(),
            times: BTreeMap::new(),
        };
        for line in text.lines() {
            if let Some(version) = line.strip_prefix("version ") {
                version.trim().clone_into(&mut outcome.version);
            } else if let Some((label, seconds)) = line.strip_prefix("time ").and_then(|rest| rest.rsplit_once(' ')) {
                if let Ok(seconds) = seconds.parse::<f64>() {
                    *outcome.times.entry(label.to_owned()).or_default() += seconds;
                }
            } else if let Some(case) = line.strip_prefix("case ").and_then(Case::read) {
                outcome.cases.push(case);
            }
        }
        outcome
    }

    /// Adds a failed case for a run that did not finish.
    pub(crate) fn broke_off(&mut self, reason: String) {
        self.cases.push(Case { name: "whole run".to_owned(), status: Status::Failed, reason });
    }

    /// Counts the cases.
    pub(crate) fn counts(&self, app: &App) -> Counts {
        let mut counts = Counts::default();
        for case in &self.cases {
            match case.status {
                Status::Ok => counts.passed += 1,
                Status::Skipped => counts.skipped += 1,
                Status::Failed if app.manifest.known(&case.name, self.driver).is_some() => counts.known += 1,
                Status::Failed => counts.failed += 1,
            }
        }
        counts
    }

    /// The cases that failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.status == Status::Failed)
    }

    /// Stores the result for the page; the short form is stored separately.
    pub(crate) fn save(&self) -> Result<()> {
        let path = path(&self.name, self.driver, self.quick);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&path, serde_json::to_string_pretty(self)?).with_context(|| path.display().to_string())
    }

    /// The last complete run of a program on a driver.
    pub(crate) fn load(name: &str, driver: Driver) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path(name, driver, false)).ok()?).ok()
    }
}

fn path(name: &str, driver: Driver, quick: bool) -> PathBuf {
    let results = super::work().join("results").join(driver.name());
    results.join(format!("{name}{}.json", if quick { ".quick" } else { "" }))
}

impl Case {
    /// Reads `NAME ok`, `NAME failed: REASON` or `NAME skipped: REASON`.
    fn read(line: &str) -> Option<Self> {
        let case = |name: &str, status, reason: &str| {
            Some(Self { name: name.trim().to_owned(), status, reason: reason.trim().to_owned() })
        };
        if let Some(name) = line.strip_suffix(" ok") {
            return case(name, Status::Ok, "");
        }
        let at = |word: &str| line.find(word).unwrap_or(usize::MAX);
        let (failed, skipped) = (" failed:", " skipped:");
        if at(failed) < at(skipped) {
            let (name, reason) = line.split_once(failed)?;
            case(name, Status::Failed, reason)
        } else {
            let (name, reason) = line.split_once(skipped)?;
            case(name, Status::Skipped, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let text = "version 1.2\nnoise\ncase a b ok\ncase c failed: skipped: x\ncase d skipped: no failed: y\ntime build 0.5\n";
        let outcome = Outcome::read("x", Driver::Clift, false, text);
        assert_eq!(outcome.version, "1.2");
        assert_eq!(outcome.times["build"], 0.5);
        let cases: Vec<_> =
            outcome.cases.iter().map(|case| (case.name.as_str(), case.status, case.reason.as_str())).collect();
        let expected =
            [("a b", Status::Ok, ""), ("c", Status::Failed, "skipped: x"), ("d", Status::Skipped, "no failed: y")];
        assert_eq!(cases, expected);
    }
}
