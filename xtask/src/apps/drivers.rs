//! The drivers that programs are run on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::packages::{self, Level};
use crate::{driver, peers};

/// A driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Driver {
    /// This project's.
    Clift,
    /// PoCL from Debian.
    Pocl,
    /// Intel's CPU runtime from PyPI.
    Intel,
}

impl Driver {
    /// All drivers, in the order of the page's columns.
    pub(crate) const ALL: [Self; 3] = [Self::Clift, Self::Pocl, Self::Intel];

    /// Its name in paths and in the environment of scripts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clift => "clift",
            Self::Pocl => "pocl",
            Self::Intel => "intel",
        }
    }

    /// Its name in texts.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Clift => "Clift",
            Self::Pocl => "PoCL",
            Self::Intel => "Intel",
        }
    }
}

/// The values of `--driver`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Choice {
    /// This project's.
    Clift,
    /// PoCL from Debian.
    Pocl,
    /// Intel's CPU runtime.
    Intel,
    /// All of these.
    All,
}

/// A driver and its library.
pub(crate) struct Target {
    /// Which one it is.
    pub(crate) driver: Driver,
    library: PathBuf,
}

/// The chosen drivers; missing ones are built or installed.
///
/// # Errors
/// When one is not available.
pub(crate) fn targets(choices: &[Choice], library: Option<&Path>, no_setup: bool) -> Result<Vec<Target>> {
    let chosen = |driver: Driver| {
        choices.iter().any(|choice| match choice {
            Choice::Clift => driver == Driver::Clift,
            Choice::Pocl => driver == Driver::Pocl,
            Choice::Intel => driver == Driver::Intel,
            Choice::All => true,
        })
    };
    let mut targets = Vec::new();
    for driver in Driver::ALL.into_iter().filter(|&driver| chosen(driver)) {
        let library = match driver {
            Driver::Clift => match library {
                Some(library) => library.canonicalize().with_context(|| library.display().to_string())?,
                None => driver::build_release_for_tests()?,
            },
            Driver::Pocl => {
                if !no_setup {
                    packages::ensure(Level::Bench, false)?;
                }
                let file = "/etc/OpenCL/vendors/pocl.icd";
                PathBuf::from(std::fs::read_to_string(file).context(file)?.trim())
            }
            Driver::Intel => {
                if !no_setup {
                    peers::fetch_intel()?;
                }
                peers::intel().context("Intel's driver is not installed")?
            }
        };
        targets.push(Target { driver, library });
    }
    Ok(targets)
}

impl Target {
    /// Makes `command` use only this driver. `directory` is for the list of drivers.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub(crate) fn select(&self, command: &mut Command, directory: &Path) -> Result<()> {
        let vendors = directory.join("vendors");
        std::fs::create_dir_all(&vendors)?;
        std::fs::write(vendors.join("driver.icd"), format!("{}\n", self.library.display()))?;
        command.env("OCL_ICD_VENDORS", vendors).env_remove("OCL_ICD_FILENAMES");
        if self.driver == Driver::Intel
            && let Some(libraries) = self.library.parent()
        {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        Ok(())
    }
}
