//! Building `libclift.so`, and the environment that makes an OpenCL loader find it and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// Builds the optimized driver and gives its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--release", "--package", "clift-icd"]))?;
    let library = sh::target_dir().join("release/libclift.so");
    ensure!(library.is_file(), "the build left no {}", library.display());
    Ok(library)
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
