//! The manifest of an application: what it needs, and known failures (`tests/apps/NAME/app.toml`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::drivers::Driver;

/// An application of the gallery.
pub(crate) struct App {
    /// Its directory's name.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Its manifest.
    pub(crate) manifest: Manifest,
}

/// The contents of `app.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Manifest {
    /// The application's name.
    pub(crate) title: String,
    /// What is run, in one line.
    pub(crate) what: String,
    /// Packages of Debian.
    #[serde(default)]
    pub(crate) debian: Vec<String>,
    /// Source packages of Debian, unpacked as their authors released them.
    #[serde(default)]
    pub(crate) debian_source: Vec<String>,
    /// PyPI packages with versions (`name==1.2`), installed in a separate environment.
    #[serde(default)]
    pub(crate) pypi: Vec<String>,
    /// Source distributions of PyPI with versions, unpacked.
    #[serde(default)]
    pub(crate) pypi_source: Vec<String>,
    /// Crates with versions (`name@1.2.3`), unpacked; their dependencies are fetched too.
    #[serde(default)]
    pub(crate) cargo: Vec<String>,
    /// Packages of npm with versions (`name@1.2.3`).
    #[serde(default)]
    pub(crate) npm: Vec<String>,
    /// Whether CI runs its short form.
    #[serde(default)]
    pub(crate) quick: bool,
    /// Time limit of a run in seconds.
    #[serde(default = "default_limit")]
    limit: u64,
    /// Time limit of the short form in seconds.
    #[serde(default = "default_quick_limit")]
    quick_limit: u64,
    /// Limit on the memory of the program and its children, in GiB.
    #[serde(default = "default_memory")]
    memory: u64,
    /// Known failures.
    #[serde(default)]
    pub(crate) known: Vec<Known>,
}

/// Cases that fail for a known cause.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// Their names; `*` stands for anything.
    cases: Vec<String>,
    /// The drivers on which they fail.
    pub(crate) drivers: Vec<Driver>,
    /// The cause.
    pub(crate) cause: String,
}

const fn default_limit() -> u64 {
    900
}

const fn default_quick_limit() -> u64 {
    60
}

const fn default_memory() -> u64 {
    6
}

impl Manifest {
    /// The time limit of a run.
    pub(crate) fn limit(&self, quick: bool) -> Duration {
        Duration::from_secs(if quick { self.quick_limit } else { self.limit })
    }

    /// The memory limit of a run in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory << 30
    }

    /// The known cause why `case` fails on `driver`.
    pub(crate) fn known(&self, case: &str, driver: Driver) -> Option<&Known> {
        self.known
            .iter()
            .find(|known| known.drivers.contains(&driver) && known.cases.iter().any(|pattern| matches(pattern, case)))
    }
}

/// Whether `name` matches `pattern`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
}

/// All programs, by name.
///
/// # Errors
/// When a manifest cannot be read.
pub(crate) fn read_all(directory: &Path) -> Result<Vec<App>> {
    let mut apps = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let directory = entry?.path();
        let file = directory.join("app.toml");
        if file.is_file() {
            apps.push(read(directory, &file).with_context(|| file.display().to_string())?);
        }
    }
    apps.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(apps)
}

fn read(directory: PathBuf, file: &Path) -> Result<App> {
    let manifest: Manifest = toml::from_str(&std::fs::read_to_string(file)?)?;
    let pinned = |packages: &[String], mark: &str| packages.iter().all(|package| package.contains(mark));
    ensure!(pinned(&manifest.pypi, "=="), "packages of PyPI need versions: name==1.2");
    ensure!(pinned(&manifest.pypi_source, "=="), "packages of PyPI need versions: name==1.2");
    ensure!(pinned(&manifest.cargo, "@"), "crates need versions: name@1.2.3");
    ensure!(pinned(&manifest.npm, "@"), "packages of npm need versions: name@1.2.3");
    let name = directory.file_name().context("a directory without a name")?.to_string_lossy().into_owned();
    Ok(App { name, directory, manifest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("a", "a") && !matches("a", "ab"));
        assert!(matches("a*", "a") && matches("a*c", "abc") && !matches("a*c", "abcd"));
        assert!(matches("*::x*[*]", "t::xy[1]"));
    }

    #[test]
    fn manifests_are_readable() {
        let apps = read_all(&super::super::directory()).unwrap();
        assert!(!apps.is_empty());
        for app in apps {
            assert!(super::super::execute::script(&app).is_ok(), "{} has no script", app.name);
        }
    }
}
