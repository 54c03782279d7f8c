//! The Debian package, and the one with its debug symbols.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Build, remove};
use crate::sh;

/// Who made the package.
pub(super) const MAINTAINER: &str = "The Clift developers <clift@localhost>";

/// Makes both packages.
pub(super) fn make(build: &Build) -> Result<Vec<PathBuf>> {
    let architecture = sh::output(Command::new("dpkg").arg("--print-architecture")).context("dpkg failed")?;
    let architecture = architecture.trim();
    let depends = dependencies(build)?;
    let driver = format!(
        "Depends: {depends}, ocl-icd-libopencl1 | libopencl1\nSuggests: clinfo\nProvides: opencl-icd\nSection: libs\n\
         Description: OpenCL driver for CPUs\n \
         Clift compiles OpenCL C and SPIR-V kernels to vector code for the processor.\n \
         Programs find it through the OpenCL loader.\n .\n \
         The program clift-info shows what the driver found on a machine, and tests it;\n \
         clift-report makes a page from a trace of what a program did.\n"
    );
    let symbols = format!(
        "Depends: clift (= {})\nSection: debug\nAuto-Built-Package: debug-symbols\nBuild-Ids: {}\n\
         Description: debug symbols for clift\n",
        build.version,
        build_ids(&build.symbols.join("usr/lib/debug/.build-id"))?.join(" "),
    );
    let documents = build.symbols.join("usr/share/doc");
    fs::create_dir_all(&documents)?;
    std::os::unix::fs::symlink("clift", documents.join("clift-dbgsym"))?;
    Ok(vec![
        pack(build, "clift", architecture, &build.root, &driver)?,
        pack(build, "clift-dbgsym", architecture, &build.symbols, &symbols)?,
    ])
}

/// The packages that the library and the programs need, as `dpkg-shlibdeps` finds.
fn dependencies(build: &Build) -> Result<String> {
    let scratch = build.output.join("shlibdeps");
    fs::create_dir_all(scratch.join("debian"))?;
    fs::write(scratch.join("debian/control"), "Source: clift\n\nPackage: clift\nArchitecture: any\n")?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.current_dir(&scratch).arg("-O").arg(build.library());
    command.args(super::tree::PROGRAMS.map(|program| build.root.join("usr/bin").join(program)));
    let answer = sh::output(&mut command).context("dpkg-shlibdeps failed")?;
    remove(&scratch)?;
    Ok(answer.trim().strip_prefix("shlibs:Depends=").context("dpkg-shlibdeps found nothing")?.to_owned())
}

/// The build ids whose symbols are in a directory.
fn build_ids(directory: &Path) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for group in fs::read_dir(directory)? {
        let group = group?;
        for file in fs::read_dir(group.path())? {
            let rest = file?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            ids.push(format!("{}{rest}", group.file_name().to_string_lossy()));
        }
    }
    ids.sort();
    Ok(ids)
}

/// Packs a tree with the given fields.
fn pack(build: &Build, name: &str, architecture: &str, tree: &Path, fields: &str) -> Result<PathBuf> {
    let sums = "find * -type f -not -path 'DEBIAN/*' | LC_ALL=C sort | xargs -r md5sum";
    let sums = sh::output(Command::new("sh").current_dir(tree).args(["-c", sums])).context("md5sum failed")?;
    let size = sh::output(Command::new("sh").current_dir(tree).args(["-c", "du -k --apparent-size -s ."]));
    let size = size.context("du failed")?.split_whitespace().next().unwrap_or("0").to_owned();
    let control = tree.join("DEBIAN");
    fs::create_dir_all(&control)?;
    fs::write(
        control.join("control"),
        format!(
            "Package: {name}\nSource: clift\nVersion: {}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
             Installed-Size: {size}\nPriority: optional\n{fields}",
            build.version,
        ),
    )?;
    fs::write(control.join("md5sums"), sums)?;
    if tree.join("etc").is_dir() {
        fs::write(control.join("conffiles"), "/etc/OpenCL/vendors/clift.icd\n")?;
    }
    sh::run(Command::new("chmod").arg("-R").arg("u=rwX,go=rX").arg(&control))?;
    let target = build.output.join(format!("{name}_{}_{architecture}.deb", build.version));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.env("SOURCE_DATE_EPOCH", &build.epoch).args(["--root-owner-group", "-Zxz", "--build"]);
    let packed = sh::run(dpkg.args([tree, &target]));
    remove(&control)?;
    packed.map(|()| target)
}
