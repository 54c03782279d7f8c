//! `cargo xtask package`: a Debian package with its debug symbols, a Python wheel, and an RPM package, in `target/package`.
//!
//! [`tree`] makes the installed files once; the packages are made from them, and [`check`] installs these. Two runs with the same
//! library give the same bytes: all times are that of the last commit (or `SOURCE_DATE_EPOCH`).

mod check;
mod deb;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{packages, sh};

/// Arguments of `package`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to make; all by default.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["deb", "wheel", "rpm"])]
    format: Vec<Format>,
    /// Pack this library, with the programs beside it, instead of building them.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Make everything twice and compare; install it in a bare Debian root and in a fresh Python environment, use it, and
    /// remove it.
    #[arg(long)]
    check: bool,
    /// The release of the bare root: one that debootstrap knows.
    #[arg(long, value_name = "NAME", default_value = "bookworm")]
    release: String,
}

/// A kind of package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Deb,
    Wheel,
    Rpm,
}

/// What is packed.
struct Build {
    /// The directory of the packages.
    output: PathBuf,
    /// The tree of installed files.
    root: PathBuf,
    /// The tree of debug symbols.
    symbols: PathBuf,
    version: &'static str,
    /// The time of all files, in seconds since 1970.
    epoch: String,
}

/// Makes the packages.
pub(crate) fn run(args: &Args) -> Result<()> {
    if sh::on_path("apt-get") {
        packages::install(&["binutils", "dpkg-dev", "python3", "rpm"])?;
    }
    let library = match &args.library {
        Some(library) => library.clone(),
        None => {
            sh::run(sh::cargo().args(["build", "--release", "--package", "clift-icd", "--package", "clift-info"]))?;
            sh::target_dir().join("release/libclift.so")
        }
    };
    let build = Build::new(sh::target_dir().join("package"))?;
    let made = build.make(&library, &args.format)?;
    fs::copy(sh::root().join("packaging/Containerfile"), build.output.join("Containerfile"))?;
    for package in &made {
        println!("{} ({} KiB)", package.display(), fs::metadata(package)?.len() >> 10);
    }
    if args.check {
        check::reproducible(&made, &library, &args.format)?;
        for format in &args.format {
            match format {
                Format::Deb => check::deb(&build, &args.release)?,
                Format::Wheel => check::wheel(&build)?,
                Format::Rpm => check::rpm(&build)?,
            }
        }
    }
    Ok(())
}

/// The time of all files: `SOURCE_DATE_EPOCH`, or the time of the last commit.
fn epoch() -> Result<String> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let time = sh::output(Command::new("git").current_dir(sh::root()).args(["log", "-1", "--format=%ct"]));
    Ok(time.context("git does not say when the last commit was made; set SOURCE_DATE_EPOCH")?.trim().to_owned())
}

/// The wheel. Its platform tag names the newest version of the C library whose functions the library uses.
fn wheel(build: &Build) -> Result<PathBuf> {
    let symbols = sh::output(Command::new("objdump").arg("-T").arg(build.library())).context("objdump failed")?;
    let minor = |line: &str| line.split_once("GLIBC_2.")?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let minor: u32 = symbols.lines().filter_map(minor).max().context("the library uses no C library")?;
    let tag = format!("py3-none-manylinux_2_{minor}_{}", std::env::consts::ARCH);
    let script = sh::root().join("packaging/wheel.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(&build.root).args([build.version, &tag, &build.epoch]).arg(&build.output);
    sh::run(&mut python)?;
    Ok(build.output.join(format!("clift-{}-{tag}.whl", build.version)))
}

/// The RPM package.
fn rpm(build: &Build) -> Result<PathBuf> {
    let top = build.output.join("rpm");
    remove(&top)?;
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.env("SOURCE_DATE_EPOCH", &build.epoch).args(["-bb", "--quiet"]);
    for (name, value) in [
        ("_topdir", top.display().to_string()),
        ("clift_version", build.version.to_owned()),
        ("clift_root", build.root.display().to_string()),
        ("_buildhost", "localhost".to_owned()),
        ("use_source_date_epoch_as_buildtime", "1".to_owned()),
        ("clamp_mtime_to_source_date_epoch", "1".to_owned()),
        ("_rpmfilename", "%{name}-%{version}-%{release}.%{arch}.rpm".to_owned()),
    ] {
        rpmbuild.arg("--define").arg(format!("{name} {value}"));
    }
    sh::run(rpmbuild.arg(sh::root().join("packaging/clift.spec")))?;
    let name = format!("clift-{}-1.{}.rpm", build.version, std::env::consts::ARCH);
    fs::rename(top.join("RPMS").join(&name), build.output.join(&name))?;
    Ok(build.output.join(name))
}

impl Build {
    /// A build of the current commit in a directory.
    fn new(output: PathBuf) -> Result<Build> {
        let (root, symbols) = (output.join("root"), output.join("symbols"));
        Ok(Build { output, root, symbols, version: env!("CARGO_PKG_VERSION"), epoch: epoch()? })
    }

    /// Makes the trees and the packages.
    fn make(&self, library: &Path, formats: &[Format]) -> Result<Vec<PathBuf>> {
        tree::make(self, library)?;
        let mut made = Vec::new();
        for format in formats {
            made.extend(match format {
                Format::Deb => deb::make(self)?,
                Format::Wheel => vec![wheel(self)?],
                Format::Rpm => vec![rpm(self)?],
            });
        }
        Ok(made)
    }

    /// The stripped library.
    fn library(&self) -> PathBuf {
        self.root.join("usr/lib/clift/libclift.so")
    }

    /// The only file in the output directory with this beginning and end.
    fn made(&self, start: &str, end: &str) -> Result<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.output)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(start) && name.ends_with(end) {
                found.push(entry.path());
            }
        }
        ensure!(found.len() == 1, "{}: {} files {start}*{end}", self.output.display(), found.len());
        Ok(found.remove(0))
    }
}

/// Removes a tree, if it is there.
fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}
