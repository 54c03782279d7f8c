//! `cargo xtask install`: registers the driver with the OpenCL loader.
//!
//! For all programs it installs a library in a system directory and one line in `/etc/OpenCL/vendors/clift.icd`. For one shell it
//! prints an environment variable and writes nothing outside the build directory.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::driver;

/// Arguments of `install`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory for `libclift.so`.
    #[arg(long, default_value = "/usr/local/lib")]
    libdir: PathBuf,
    /// The loader's directory of registered drivers.
    #[arg(long, default_value = "/etc/OpenCL/vendors")]
    vendors: PathBuf,
    /// Install nothing: print the line that makes a shell use the driver. `eval "$(cargo xtask install --shell)"`
    #[arg(long, conflicts_with = "uninstall")]
    shell: bool,
    /// Remove an installed driver.
    #[arg(long)]
    uninstall: bool,
}

/// Installs, uninstalls, or prints the line for a shell.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (library, icd) = (args.libdir.join("libclift.so"), args.vendors.join("clift.icd"));
    if args.uninstall {
        for path in [&icd, &library] {
            match std::fs::remove_file(path) {
                Ok(()) => eprintln!("removed {}", path.display()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot remove {}", path.display())),
            }
        }
        return Ok(());
    }
    let built = driver::build_release()?;
    if args.shell {
        println!("export OCL_ICD_VENDORS='{}'", driver::vendors_dir(&built)?.display());
        return Ok(());
    }
    std::fs::create_dir_all(&args.libdir).and_then(|()| std::fs::create_dir_all(&args.vendors)).context("as root?")?;
    // A rename replaces a library without affecting programs that have mapped it.
    let fresh = args.libdir.join(format!(".libclift.so.{}", std::process::id()));
    std::fs::copy(&built, &fresh)
        .and_then(|_| std::fs::rename(&fresh, &library))
        .with_context(|| format!("cannot write {} (as root?)", library.display()))?;
    std::fs::write(&icd, format!("{}\n", library.display()))
        .with_context(|| format!("cannot write {} (as root?)", icd.display()))?;
    eprintln!("installed {}, registered in {}", library.display(), icd.display());
    Ok(())
}
