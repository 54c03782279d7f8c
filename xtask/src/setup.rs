//! `cargo xtask setup`: installs the packages of a level.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::peers;

/// Arguments of `setup`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The purpose of the machine; each level includes the ones before it.
    #[arg(long = "for", value_enum, default_value = "test")]
    level: Level,
    /// Only print what is missing.
    #[arg(long)]
    dry_run: bool,
}

/// Installs missing packages.
pub(crate) fn run(args: &Args) -> Result<()> {
    packages::ensure(args.level, args.dry_run)?;
    if args.level >= Level::Bench {
        peers::note();
    }
    Ok(())
}
