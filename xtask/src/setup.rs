//! `cargo xtask setup`: the packages of a level.

use anyhow::Result;

use crate::packages::{self, Level};
use crate::peers;

/// Arguments of `setup`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the machine has to be ready for; each level includes those before it.
    #[arg(long = "for", value_enum, default_value = "test")]
    level: Level,
    /// Only name what is missing.
    #[arg(long)]
    dry_run: bool,
}

/// Installs what is missing.
pub(crate) fn run(args: &Args) -> Result<()> {
    packages::ensure(args.level, args.dry_run)?;
    if args.level >= Level::Bench {
        peers::note();
    }
    Ok(())
}
