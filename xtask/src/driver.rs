//! Builds `libclift.so`, and sets up the environment in which an OpenCL loader finds only this driver.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// Builds the optimized driver and returns its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--release", "--package", "clift-icd"]))?;
    built("libclift.so")
}

/// Builds the optimized driver and a program of the tests, and returns their paths.
pub(crate) fn build_release_with(program: &str) -> Result<(PathBuf, PathBuf)> {
    for_tests(&["--bin", program])?;
    Ok((built("libclift.so")?, built(program)?))
}

/// Builds the optimized driver for a foreign program and returns its path.
pub(crate) fn build_release_for_tests() -> Result<PathBuf> {
    for_tests(&[])?;
    built("libclift.so")
}

/// Builds the offline compiler of OpenCL C to SPIR-V and returns its path.
pub(crate) fn build_offline_compiler() -> Result<PathBuf> {
    for_tests(&["--example", "cl_offline_compiler"])?;
    built("examples/cl_offline_compiler")
}

/// One run of cargo builds both, always for both packages: they need different features of the crates they share, and separate
/// runs would compile most of these twice.
fn for_tests(more: &[&str]) -> Result<()> {
    let packages = ["build", "--release", "--package", "clift-icd", "--package", "clift-tests", "--lib"];
    sh::run(sh::cargo().args(packages).args(more))
}

/// A file that a build must have created.
fn built(name: &str) -> Result<PathBuf> {
    let path = sh::target_dir().join("release").join(name);
    ensure!(path.is_file(), "the build left no {}", path.display());
    Ok(path)
}

/// A directory like `/etc/OpenCL/vendors` that lists one driver only, beside the driver itself.
pub(crate) fn vendors_dir(library: &Path) -> Result<PathBuf> {
    let parent = library.parent().context("the driver's path has no directory")?;
    let dir = parent.join("vendors");
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("clift.icd"), format!("{}\n", library.display()))?;
    Ok(dir)
}

/// Makes `command` use only the driver at `library`.
///
/// Both loaders use a directory in `OCL_ICD_VENDORS`; Khronos' loader would add the libraries of `OCL_ICD_FILENAMES`.
pub(crate) fn select(command: &mut Command, library: &Path) -> Result<()> {
    command.env("OCL_ICD_VENDORS", vendors_dir(library)?).env_remove("OCL_ICD_FILENAMES");
    Ok(())
}
