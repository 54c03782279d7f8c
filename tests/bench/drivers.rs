//! The drivers to compare: names, libraries, and where they are searched for.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

/// The name of this project's driver in tables.
const SUBJECT: &str = "clift";
/// The environment variable with the library of Intel's driver, or its directory.
const INTEL_VARIABLE: &str = "CLIFT_BENCH_INTEL";
/// Intel's library.
const INTEL_LIBRARY: &str = "libintelocl.so";
/// Path of PoCL's library on Debian.
const POCL_LIBRARY: &str = "libpocl.so.2";

/// Configurations of this project's driver that have names: the variable that selects each, and its value.
const CONFIGURATIONS: [(&str, &str, &str); 5] = [
    ("skylake", "CLIFT_BACKEND", "skylake"),
    ("avx2", "CLIFT_BACKEND", "avx2"),
    ("cranelift", "CLIFT_BACKEND", "cranelift"),
    ("clang", "CLIFT_FRONTEND", "clang"),
    ("one-lane", "CLIFT_WIDTH", "1"),
];

/// A driver to be measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Driver {
    /// Its name in tables.
    pub(crate) name: String,
    /// Its library: a path, or a name for the dynamic linker.
    pub(crate) library: PathBuf,
    /// A directory of SPIR-V modules to be given to it instead of the kernels' sources.
    pub(crate) modules: Option<PathBuf>,
    /// A variable of its environment that selects a configuration.
    pub(crate) variable: Option<(&'static str, &'static str)>,
}

impl Driver {
    /// A driver that compiles the kernels' sources.
    pub(crate) fn new(name: &str, library: PathBuf) -> Self {
        Self { name: name.to_owned(), library, modules: None, variable: None }
    }

    /// The module that it gets for a kernel, unless it gets the source.
    pub(crate) fn module(&self, kernel: &str) -> Option<PathBuf> {
        self.modules.as_ref().map(|directory| directory.join(format!("{kernel}.spv")))
    }

    /// Whether this is a build of this project.
    pub(crate) fn is_clift(&self) -> bool {
        self.library.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libclift"))
    }
}

/// The drivers of a comma-separated list of names and `NAME=LIBRARY`; without a list, all known ones that are installed.
///
/// # Errors
/// When a requested driver is missing.
pub(crate) fn choose(list: Option<&str>, clift: Option<&Path>) -> Result<Vec<Driver>> {
    let clift = || clift.map_or_else(clift_tests::driver::clift_library, Path::to_path_buf);
    let Some(list) = list else {
        let subject = Driver::new(SUBJECT, clift());
        let peers = ["pocl", "intel"].into_iter().filter_map(|name| match find(name) {
            Some(library) => Some(Driver::new(name, library)),
            None => {
                eprintln!("note: no {name} here: `cargo xtask bench --help` says how to get it");
                None
            }
        });
        return Ok(std::iter::once(subject).chain(peers).collect());
    };
    let mut drivers = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let driver = match word.split_once('=') {
            Some((name, library)) => Driver::new(name, library.into()),
            None if word == SUBJECT => Driver::new(word, clift()),
            None if let Some((name, variable, value)) = CONFIGURATIONS.iter().find(|row| row.0 == word) => {
                Driver { variable: Some((variable, value)), ..Driver::new(name, clift()) }
            }
            None => match find(word) {
                Some(library) => Driver::new(word, library),
                None => bail!("no driver {word} here; NAME=LIBRARY names any other"),
            },
        };
        drivers.push(driver);
    }
    Ok(drivers)
}

/// The library of a peer that is known by name.
fn find(name: &str) -> Option<PathBuf> {
    match name {
        "pocl" => {
            let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
            let dirs = [multiarch.as_str(), "/usr/lib64", "/usr/lib", "/usr/local/lib"];
            dirs.into_iter().map(|dir| Path::new(dir).join(POCL_LIBRARY)).find(|path| path.exists())
        }
        "intel" => {
            let place = PathBuf::from(std::env::var_os(INTEL_VARIABLE)?);
            let candidates = [place.join(INTEL_LIBRARY), place.join("lib").join(INTEL_LIBRARY), place];
            candidates.into_iter().find(|path| path.is_file())
        }
        _ => None,
    }
}
