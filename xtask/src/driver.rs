//! Building `libclift.so`, and the environment that makes an OpenCL loader find it and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// Builds the optimized driver and gives its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--release", "--package", "clift-icd"]))?;
    built("libclift.so")
}

/// Builds the optimized driver and a program of the tests, and gives their paths.
pub(crate) fn build_release_with(program: &str) -> Result<(PathBuf, PathBuf)> {
    for_tests(&["--bin", program])?;
    Ok((built("libclift.so")?, built(program)?))
}

/// Builds the optimized driver to be tested by a program that is not ours, and gives its path.
pub(crate) fn build_release_for_tests() -> Result<PathBuf> {
    for_tests(&[])?;
    built("libclift.so")
}

/// Builds the compiler of OpenCL C to SPIR-V that is a program, and gives its path.
pub(crate) fn build_offline_compiler() -> Result<PathBuf> {
    for_tests(&["--example", "cl_offline_compiler"])?;
    built("examples/cl_offline_compiler")
}

/// One run of cargo builds both, and always for both packages: they want different features of the crates they share, and
/// apart from each other would compile most of them twice.
fn for_tests(more: &[&str]) -> Result<()> {
    let packages = ["build", "--release", "--package", "clift-icd", "--package", "clift-tests", "--lib"];
    sh::run(sh::cargo().args(packages).args(more))
}

/// A file that a build must have left.
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

/// Makes `command` see the driver at `library` and no other.
///
/// Both loaders take a directory in `OCL_ICD_VENDORS`; Khronos' would add the libraries of `OCL_ICD_FILENAMES`.
pub(crate) fn select(command: &mut Command, library: &Path) -> Result<()> {
    command.env("OCL_ICD_VENDORS", vendors_dir(library)?).env_remove("OCL_ICD_FILENAMES");
    Ok(())
}
