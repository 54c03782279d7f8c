//! Other OpenCL drivers for processors, to measure against: what Debian does not package.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::sh;

/// Tells the benchmark where Intel's driver is.
pub(crate) const INTEL_VARIABLE: &str = "CLIFT_BENCH_INTEL";
/// The packages of PyPI that Intel's driver consists of; the second has the libraries the first one needs but does not name.
const INTEL_PACKAGES: [&str; 2] = ["intel-opencl-rt", "intel-cmplr-lib-rt"];

fn intel_dir() -> PathBuf {
    sh::target_dir().join("peers/intel")
}

/// Intel's library: where the environment says, or where [`fetch_intel`] put it.
pub(crate) fn intel() -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(INTEL_VARIABLE) {
        return Some(place.into());
    }
    // Where pip puts libraries under a prefix differs between distributions.
    let places = ["lib", "local/lib"].map(|lib| intel_dir().join(lib).join("libintelocl.so"));
    places.into_iter().find(|library| library.is_file())
}

/// Fetches Intel's driver into the target directory, unless it is there. About 800 MB.
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

/// Names what is missing.
pub(crate) fn note() {
    if intel().is_none() {
        eprintln!(
            "missing: {} of PyPI (Intel's driver, to measure against): `cargo xtask bench --intel` fetches it, or set \
             {INTEL_VARIABLE}",
            INTEL_PACKAGES.join(", ")
        );
    }
}
