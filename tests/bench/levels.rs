//! SPIR-V of the suite's kernels from clang at different optimization levels: `--levels`.
//!
//! Each level is a [`Driver`] of its own in tables: the same library, but with the modules of that level instead of sources. So
//! the ratio between two levels says how well the kernel compiler does without the front end's optimizer.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::drivers::Driver;
use crate::suite::Row;
use crate::throughput::OPTIONS;

/// Compiles the rows' kernels at each level with the offline compiler into directories in `scratch`. Returns a driver for each
/// level.
///
/// # Errors
/// When a kernel does not compile.
pub(crate) fn drivers(
    library: &Path,
    compiler: &Path,
    levels: &[u8],
    rows: &[&'static Row],
    scratch: &Path,
) -> Result<Vec<Driver>> {
    let mut drivers = Vec::new();
    for level in levels {
        let directory = scratch.join(format!("O{level}"));
        std::fs::create_dir_all(&directory)?;
        for row in rows {
            let source = directory.join(format!("{}.cl", row.name));
            std::fs::write(&source, row.source)?;
            let output = Command::new(compiler)
                .env("CLIFT_FRONTEND", "clang")
                .arg(format!("--source={}", source.display()))
                .arg(format!("--output={}", source.with_extension("spv").display()))
                .arg(format!("--level={level}"))
                .args(["--", OPTIONS])
                .output()
                .with_context(|| format!("{}", compiler.display()))?;
            let messages = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{} at level {level}: {messages}", row.name);
        }
        drivers.push(Driver { modules: Some(directory), ..Driver::new(&format!("O{level}"), library.to_owned()) });
    }
    Ok(drivers)
}
