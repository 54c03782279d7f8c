//! The Debian packages that the project uses: one table with the purpose of each.
//!
//! A row may name alternatives, best first: the first one that is installed or can be installed is used. A row that is not
//! required may stay missing; its `purpose` says what is not possible then.

use std::process::Command;

use anyhow::Result;

use crate::sh;

/// The purpose of a package; each level includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Level {
    /// Building the driver and running OpenCL programs.
    Run,
    /// Running the tests.
    Test,
    /// Measuring against another driver.
    Bench,
}

/// One row of [`PACKAGES`].
pub(crate) struct Package {
    /// Alternatives, best first.
    pub(crate) names: &'static [&'static str],
    /// The first level that needs it.
    pub(crate) level: Level,
    /// Whether the level is impossible without it.
    pub(crate) required: bool,
    /// Its purpose, and what is not possible without it.
    pub(crate) purpose: &'static str,
}

/// All packages.
pub(crate) const PACKAGES: &[Package] = &[
    Package { names: &["gcc"], level: Level::Run, required: true, purpose: "links Rust programs" },
    Package { names: &["libc6-dev"], level: Level::Run, required: true, purpose: "links Rust programs" },
    Package {
        names: &["ocl-icd-libopencl1", "libopencl-1.2-1"],
        level: Level::Run,
        required: true,
        purpose: "libOpenCL.so.1, the loader through which programs find the driver",
    },
    Package {
        names: &["clang-22", "clang-21", "clang-20"],
        level: Level::Test,
        required: false,
        purpose: "another compiler of OpenCL C, which tests compare the driver's own with",
    },
    Package { names: &["clinfo"], level: Level::Test, required: true, purpose: "shows what the driver reports" },
    Package { names: &["spirv-tools"], level: Level::Test, required: true, purpose: "assembles SPIR-V test modules" },
    Package { names: &["piglit"], level: Level::Test, required: true, purpose: "an outside OpenCL test suite" },
    Package {
        names: &["llvm-spirv-15"],
        level: Level::Test,
        required: false,
        purpose: "the SPIR-V-LLVM translator: runs the kernel tests as SPIR-V of another origin",
    },
    Package {
        names: &["clang-15"],
        level: Level::Test,
        required: false,
        purpose: "what the SPIR-V-LLVM translator gets its LLVM IR from",
    },
    Package {
        names: &["opencl-headers"],
        level: Level::Test,
        required: false,
        purpose: "OpenCL's C headers, for C programs and for building conformance tests",
    },
    Package {
        names: &["ocl-icd-opencl-dev"],
        level: Level::Test,
        required: false,
        purpose: "libOpenCL.so to link C programs with",
    },
    Package {
        names: &["opencl-clhpp-headers"],
        level: Level::Test,
        required: false,
        purpose: "OpenCL's C++ header, for the C++ example",
    },
    Package {
        names: &["chromium"],
        level: Level::Test,
        required: false,
        purpose: "opens the page that clift-report makes",
    },
    Package { names: &["g++"], level: Level::Test, required: false, purpose: "compiles the C++ example" },
    Package {
        names: &["pocl-opencl-icd"],
        level: Level::Bench,
        required: false,
        purpose: "the driver that benchmarks are compared with, and a second opinion on the tests",
    },
    Package { names: &["clpeak"], level: Level::Bench, required: false, purpose: "measures peak rates" },
];

/// Whether the package `name` is installed, according to dpkg.
pub(crate) fn is_installed(name: &str) -> bool {
    sh::output(Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Abbrev}", name]))
        .is_some_and(|status| status.starts_with("ii"))
}

/// Installs the missing packages of `level`.
///
/// # Errors
/// When a required package is missing and cannot be installed.
pub(crate) fn ensure(level: Level, dry_run: bool) -> Result<()> {
    if !sh::on_path("apt-get") {
        eprintln!("note: no apt-get here; see README.md for what has to be installed");
        return Ok(());
    }
    let wanted = PACKAGES.iter().filter(|package| package.level <= level);
    let missing: Vec<_> = wanted.filter(|package| !package.names.iter().any(|name| is_installed(name))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for package in &missing {
        eprintln!("missing: {} ({})", package.names.join(" or "), package.purpose);
    }
    if dry_run {
        return Ok(());
    }
    let _ = apt(&["update", "-qq"]).inspect_err(|error| eprintln!("note: {error:#}; the package lists may be old"));
    for package in missing {
        let installed = package
            .names
            .iter()
            .find(|name| has_candidate(name))
            .map(|name| apt(&["install", "-y", "-qq", "--no-install-recommends", name]));
        match installed {
            Some(Ok(())) => {}
            Some(Err(error)) if package.required => return Err(error),
            None if package.required => {
                anyhow::bail!("no package {} to install: {}", package.names.join(" or "), package.purpose)
            }
            Some(Err(_)) | None => eprintln!("note: going on without {}: {}", package.names[0], package.purpose),
        }
    }
    Ok(())
}

/// Installs the missing packages among `names`, regardless of their levels.
///
/// # Errors
/// When one cannot be installed.
pub(crate) fn install(names: &[&str]) -> Result<()> {
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("missing: {}", missing.join(", "));
    let _ = apt(&["update", "-qq"]).inspect_err(|error| eprintln!("note: {error:#}; the package lists may be old"));
    apt(&[["install", "-y", "-qq", "--no-install-recommends"].as_slice(), &missing].concat())
}

fn has_candidate(name: &str) -> bool {
    sh::output(Command::new("apt-cache").args(["policy", name])).is_some_and(|policy| {
        policy.lines().any(|line| line.trim().starts_with("Candidate:") && !line.contains("(none)"))
    })
}

/// `apt-get` as root, without questions.
fn apt(args: &[&str]) -> Result<()> {
    let is_root = sh::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    let mut command = if is_root { Command::new("env") } else { Command::new("sudo") };
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"])
        .args(args)
        .stdin(std::process::Stdio::null());
    sh::run(&mut command)
}
