//! Installs what a program needs: packages from Debian and PyPI, sources of both, crates, npm packages.
//!
//! Debian packages are installed on the machine; everything else goes to `target/apps/NAME` and is fetched once per manifest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::manifest::{App, Manifest};
use crate::{packages, sh};

/// The directories of a program's files.
pub(crate) struct Places {
    /// The parent of the others.
    pub(crate) root: PathBuf,
    /// The Python environment.
    pub(crate) venv: PathBuf,
    /// Unpacked sources.
    pub(crate) sources: PathBuf,
    /// Where npm has installed its packages.
    pub(crate) npm: PathBuf,
}

impl Places {
    /// The directories of `app`.
    pub(crate) fn of(app: &App) -> Self {
        let root = super::work().join(&app.name);
        Self { venv: root.join("venv"), sources: root.join("sources"), npm: root.join("npm"), root }
    }
}

/// Installs what `app` needs and is missing.
///
/// # Errors
/// When something is not available.
pub(crate) fn ensure(app: &App) -> Result<()> {
    let (manifest, places) = (&app.manifest, Places::of(app));
    // The headers are for the layer that measures builds.
    let mut debian = vec!["opencl-headers"];
    debian.extend(manifest.debian.iter().map(String::as_str));
    if !manifest.pypi.is_empty() || !manifest.pypi_source.is_empty() {
        debian.extend(["python3-venv", "python3-pip"]);
    }
    packages::install(&debian)?;
    let Manifest { debian_source, pypi, pypi_source, cargo, npm, .. } = manifest;
    step(&places, "venv", pypi, || python(&places.venv, pypi))?;
    step(&places, "npm", npm, || node(&places.npm, npm))?;
    let sources = [debian_source.as_slice(), pypi_source, cargo].concat();
    step(&places, "sources", &sources, || {
        let fetched = places.root.join("fetched");
        empty(&fetched)?;
        empty(&places.sources)?;
        for package in debian_source {
            debian_release(package, &fetched)?;
        }
        for package in pypi_source {
            pypi_release(package, &fetched)?;
        }
        unpack(&fetched, &places.sources)?;
        crates(cargo, &places)?;
        std::fs::remove_dir_all(&fetched).context("fetched archives")
    })
}

/// Executes `action` unless that has been done before for these packages.
fn step(places: &Places, name: &str, packages: &[String], action: impl FnOnce() -> Result<()>) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let (stamp, wanted) = (places.root.join(format!("{name}.installed")), packages.join("\n"));
    if std::fs::read_to_string(&stamp).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(&places.root)?;
    let _ = std::fs::remove_file(&stamp);
    action()?;
    std::fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

fn empty(directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

/// Creates a Python environment with these packages. It uses Debian's Python, so that results do not depend on other
/// installations.
fn python(venv: &Path, packages: &[String]) -> Result<()> {
    if venv.exists() {
        std::fs::remove_dir_all(venv)?;
    }
    sh::run(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(venv))?;
    sh::run(pip(&venv.join("bin/python3"), "install").args(packages))
}

fn pip(python: &Path, action: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", action]);
    pip
}

/// Downloads the source distribution of a package, without its dependencies.
fn pypi_release(package: &str, into: &Path) -> Result<()> {
    let name = package.split("==").next().unwrap_or(package);
    let mut pip = pip(Path::new("/usr/bin/python3"), "download");
    sh::run(pip.args(["--no-deps", "--no-binary", name, "--dest"]).arg(into).arg(package))
}

/// Downloads the `.orig` archives of a source package, as released by its authors.
fn debian_release(package: &str, into: &Path) -> Result<()> {
    let state = super::work().join("apt");
    let apt = || -> Result<Command> {
        let (lists, sources) = (state.join("lists"), state.join("sources"));
        std::fs::create_dir_all(lists.join("partial"))?;
        std::fs::create_dir_all(&sources)?;
        let mut apt = Command::new("apt-get");
        apt.args(["-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", "APT::Sandbox::User=root"]);
        for (option, value) in [("Dir::Etc::sourceparts", sources), ("Dir::State::lists", lists)] {
            apt.arg("-o").arg(format!("{option}={}", value.display()));
        }
        apt.arg("-o").arg(format!("Dir::Cache={}", state.display()));
        Ok(apt)
    };
    if !state.join("listed").is_file() {
        let mut update = apt()?;
        source_lists(&state.join("sources"))?;
        sh::run(update.arg("update"))?;
        std::fs::write(state.join("listed"), "")?;
    }
    // Debian's own changes may be missing; only the release is checked for.
    let fetched = sh::run(apt()?.args(["source", "--download-only"]).arg(package).current_dir(into));
    let stem = format!("{}_", package.split('=').next().unwrap_or(package));
    let arrived = std::fs::read_dir(into)?.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&stem) && name.contains(".tar.") && !name.contains(".debian.")
    });
    ensure!(arrived, "no release of the source package {package}: {:?}", fetched.err());
    Ok(())
}

/// Adds sources to the package lists of the machine, in a separate directory.
fn source_lists(into: &Path) -> Result<()> {
    for name in ["sources.list", "sources.list.d/debian.sources"] {
        let Ok(text) = std::fs::read_to_string(Path::new("/etc/apt").join(name)) else { continue };
        let lines = text.lines().map(|line| match line.split_once([' ', ':']) {
            Some(("deb", rest)) => format!("deb-src {rest}\n"),
            Some(("Types", _)) => "Types: deb-src\n".to_owned(),
            _ => format!("{line}\n"),
        });
        std::fs::write(into.join(Path::new(name).file_name().context("a list's name")?), lines.collect::<String>())?;
    }
    Ok(())
}

/// Unpacks archives, each into the directory that it contains.
fn unpack(archives: &Path, into: &Path) -> Result<()> {
    let mut paths: Vec<_> = std::fs::read_dir(archives)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".zip") {
            sh::run(Command::new("/usr/bin/python3").args(["-m", "zipfile", "-e"]).arg(&path).arg(into))?;
        } else if name.contains(".tar.") && !name.contains(".debian.") && !name.ends_with(".asc") {
            sh::run(Command::new("tar").arg("-xf").arg(&path).arg("-C").arg(into))?;
        }
    }
    Ok(())
}

/// Copies the sources of crates from where cargo unpacks them, with a package that depends on them.
fn crates(crates: &[String], places: &Places) -> Result<()> {
    if crates.is_empty() {
        return Ok(());
    }
    let package = places.root.join("crates");
    empty(&package.join("src"))?;
    std::fs::write(package.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n",
    );
    for (name, version) in crates.iter().filter_map(|one| one.split_once('@')) {
        manifest.push_str(&format!("{name} = \"={version}\"\n"));
    }
    std::fs::write(package.join("Cargo.toml"), manifest)?;
    let vendored = places.root.join("vendored");
    empty(&vendored)?;
    let vendor = ["vendor", "--quiet", "--versioned-dirs"];
    sh::run(sh::cargo().args(vendor).arg(&vendored).current_dir(&package).stdout(std::process::Stdio::null()))?;
    for one in crates {
        let name = one.replace('@', "-");
        std::fs::rename(vendored.join(&name), places.sources.join(&name)).with_context(|| name.clone())?;
    }
    std::fs::remove_dir_all(vendored).context("vendored crates")
}

/// Installs packages of npm.
fn node(directory: &Path, packages: &[String]) -> Result<()> {
    empty(directory)?;
    sh::run(Command::new("npm").args(["install", "--silent", "--prefix"]).arg(directory).args(packages))
}
