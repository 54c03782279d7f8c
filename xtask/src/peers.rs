//! Other OpenCL drivers for processors, for comparison, that are not packaged by Debian.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::sh;

/// The environment variable that tells the benchmark where Intel's driver is.
pub(crate) const INTEL_VARIABLE: &str = "CLIFT_BENCH_INTEL";
/// The PyPI packages of Intel's driver; the second one has libraries that the first one needs but does not declare.
const INTEL_PACKAGES: [&str; 2] = ["intel-opencl-rt", "intel-cmplr-lib-rt"];

fn intel_dir() -> PathBuf {
    sh::target_dir().join("peers/intel")
}

/// Intel's library: the one in the environment, or the one from [`fetch_intel`].
pub(crate) fn intel() -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(INTEL_VARIABLE) {
        return Some(place.into());
    }
    // The directory where pip puts libraries below a prefix differs between distributions.
    let places = ["lib", "local/lib"].map(|lib| intel_dir().join(lib).join("libintelocl.so"));
    places.into_iter().find(|library| library.is_file())
}

/// Fetches Intel's driver into the target directory, unless it exists. About 800 MB.
pub(crate) fn fetch_intel() -> Result<()> {
    if intel().is_some() {
        return Ok(());
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--ignore-installed", "--no-warn-script-location"]);
    pip.args(["--root-user-action", "ignore", "--prefix"]).arg(intel_dir()).args(INTEL_PACKAGES);
    sh::run(&mut pip).context("Intel's driver comes from PyPI; pip is in Debian's python3-pip")?;
    intel().map(|_| ()).context("pip left no libintelocl.so")
}

/// Prints what is missing.
pub(crate) fn note() {
    if intel().is_none() {
        eprintln!(
            "missing: {} of PyPI (Intel's driver, to measure against): `cargo xtask bench --intel` fetches it, or set \
             {INTEL_VARIABLE}",
            INTEL_PACKAGES.join(", ")
        );
    }
}
