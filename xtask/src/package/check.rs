//! Installs the packages where nothing else is, uses them, and removes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Build, Format, remove};
use crate::{packages, sh};

/// Packages made again, in another directory, are the same bytes.
pub(super) fn reproducible(made: &[PathBuf], library: &Path, formats: &[Format]) -> Result<()> {
    let again = Build::new(sh::target_dir().join("package-again"))?;
    for (first, second) in made.iter().zip(again.make(library, formats)?) {
        ensure!(fs::read(first)? == fs::read(&second)?, "{} and {} differ", first.display(), second.display());
    }
    remove(&again.output)
}

/// The Debian package in a bare root of a release: the loader must see its device, and removing it must leave nothing.
pub(super) fn deb(build: &Build, release: &str) -> Result<()> {
    packages::install(&["debootstrap", "lintian"])?;
    let package = build.made("clift_", ".deb")?;
    lintian(&package)?;
    let root = bare_root(release)?;
    let in_root = |command: &str| -> Result<()> {
        let mut chroot = Command::new("chroot");
        chroot.arg(&root).args(["sh", "-ec", command]);
        sh::run(chroot.env("LC_ALL", "C").env("CLIFT_CACHE_DIR", ""))
    };
    let before = files(&root)?;
    fs::copy(&package, root.join("tmp/clift.deb"))?;
    in_root("dpkg -i /tmp/clift.deb")?;
    fs::remove_file(root.join("tmp/clift.deb"))?;
    in_root("CLIFT_TRACE=/tmp/trace.json clift-info && clinfo -l | grep Clift")?;
    in_root("clift-report /tmp/trace.json -o /tmp/trace.html && rm /tmp/trace.json /tmp/trace.html")?;
    in_root("dpkg -P clift")?;
    let left: Vec<PathBuf> = files(&root)?.difference(&before).cloned().collect();
    ensure!(left.is_empty(), "the package left {left:?}");
    Ok(())
}

/// What lintian finds, apart from what a package outside of the distribution cannot have.
fn lintian(package: &Path) -> Result<()> {
    // There is no bug of the distribution to close, and the maintainer has no address there.
    let suppressed = "initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog";
    let mut command = Command::new("lintian");
    command.args(["--allow-root", "--fail-on", "error,warning", "--suppress-tags", suppressed]);
    sh::run(command.arg(package))
}

/// A bare Debian with the loader and `clinfo`, made once for each release.
fn bare_root(release: &str) -> Result<PathBuf> {
    let root = sh::target_dir().join("bare").join(release);
    if !root.join("complete").is_file() {
        remove(&root)?;
        fs::create_dir_all(&root)?;
        let mut command = Command::new("debootstrap");
        command.args(["--variant=minbase", "--include=ocl-icd-libopencl1,clinfo", release]).arg(&root);
        sh::run(command.stdout(std::process::Stdio::null()))?;
        fs::write(root.join("complete"), "")?;
    }
    Ok(root)
}

/// The files and directories below a root, apart from logs, caches and the package manager's own.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let list = sh::output(Command::new("find").arg(root).args(["-xdev", "-not", "-path", "*/var/*"]));
    Ok(list.context("find failed")?.lines().map(PathBuf::from).collect())
}

/// The wheel in a fresh environment with PyOpenCL: a kernel must run, and removing it must leave nothing.
pub(super) fn wheel(build: &Build) -> Result<()> {
    let environment = build.output.join("venv");
    remove(&environment)?;
    sh::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let program = |name: &str| {
        let mut command = Command::new(environment.join("bin").join(name));
        command.env_remove("OCL_ICD_VENDORS").env_remove("OCL_ICD_FILENAMES").env("PYOPENCL_NO_CACHE", "1");
        command
    };
    let package = build.made("clift-", ".whl")?;
    sh::run(program("pip").args(["install", "--quiet", "pyopencl", "auditwheel"]))?;
    let before = files(&environment)?;
    sh::run(program("auditwheel").arg("show").arg(&package))?;
    sh::run(program("pip").args(["install", "--quiet", "--no-index"]).arg(&package))?;
    sh::run(program("python").arg("-B").arg(sh::root().join("examples/square.py")))?;
    sh::run(program("python").args(["-B", "-c", "import clift; assert clift.library().is_file()"]))?;
    let library = build.library();
    sh::run(program("clift-info").arg("--library").arg(&library))?;
    sh::run(program("pip").args(["uninstall", "--quiet", "--yes", "clift"]))?;
    let added = files(&environment)?.difference(&before).cloned().collect::<Vec<_>>();
    let left: Vec<_> = added.iter().filter(|path| !path.to_string_lossy().contains("__pycache__")).collect();
    ensure!(left.is_empty(), "the wheel left {left:?}");
    Ok(())
}

/// The RPM package: unpacked, it is the tree. It is not installed, because that takes a root of a system with RPM packages.
pub(super) fn rpm(build: &Build) -> Result<()> {
    packages::install(&["cpio", "rpm2cpio"])?;
    let package = build.made("clift-", ".rpm")?;
    let unpacked = build.output.join("unpacked");
    remove(&unpacked)?;
    fs::create_dir_all(&unpacked)?;
    let mut unpack = Command::new("sh");
    unpack.current_dir(&unpacked).args(["-ec", "rpm2cpio \"$0\" | cpio --quiet -idm"]).arg(&package);
    sh::run(&mut unpack)?;
    sh::run(Command::new("diff").arg("-r").args([&build.root, &unpacked]))?;
    let mut needs = Command::new("rpm");
    let needs = sh::output(needs.args(["-qp", "--requires"]).arg(&package)).context("rpm failed")?;
    ensure!(needs.contains("libOpenCL.so.1"), "the package does not require the loader: {needs}");
    remove(&unpacked)
}
