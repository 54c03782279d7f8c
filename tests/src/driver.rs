//! The driver under test: where its library is, and how the loader is made to use it.
//!
//! A process uses one driver. [`select`] chooses it once, before the first OpenCL call, because loaders read their environment
//! when they are first used. `CLIFT_TEST_ICD` selects it: `clift` (the default: the library built beside the running program),
//! `pocl` (to check the tests themselves), or the path of any driver's library.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The driver that the loader uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its library: a path, or a name for the dynamic linker.
    pub library: PathBuf,
    /// Whether it is Clift. Tests skip features that other drivers lack, but never features that Clift should have.
    pub is_clift: bool,
}

/// The environment variable that selects the front end.
const FRONT_END: &str = "CLIFT_FRONTEND";

/// Selects the driver, once per process, and returns it.
///
/// # Panics
/// When there is no library to test.
pub fn select() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let driver = match std::env::var("CLIFT_TEST_ICD").as_deref() {
            Err(_) | Ok("" | "clift") => Driver { library: clift_library(), is_clift: true },
            Ok("pocl") => Driver { library: "libpocl.so.2".into(), is_clift: false },
            Ok(path) => Driver { library: path.into(), is_clift: false },
        };
        let private = private_dir();
        let vendors = vendors_dir(&driver.library, &private).expect("cannot write the vendors directory");
        // SAFETY: this runs once, before the first OpenCL call of the process; the loader, the only reader of these
        // variables outside Rust's own (locked) access, has not been loaded yet.
        unsafe {
            std::env::set_var("OCL_ICD_VENDORS", vendors);
            std::env::remove_var("OCL_ICD_FILENAMES");
            for cache in ["CLIFT_CACHE_DIR", "POCL_CACHE_DIR"] {
                if std::env::var_os(cache).is_none() {
                    std::env::set_var(cache, private.join("cache"));
                }
            }
            // No other front end stands in for Clift's own.
            if std::env::var_os(FRONT_END).is_none() {
                std::env::set_var(FRONT_END, "clift");
            }
        }
        driver
    })
}

/// `libclift.so` as cargo built it with the running program.
///
/// # Panics
/// When there is none.
pub fn clift_library() -> PathBuf {
    let exe = std::env::current_exe().expect("the running program has a path");
    let dir = exe.parent().expect("a program is in a directory");
    // Test programs are in target/PROFILE/deps, others in target/PROFILE. A library built as a dependency is only in deps;
    // one built for itself is in both. The newest one is used.
    let newest = [dir.to_path_buf(), dir.join("deps"), dir.join("..")]
        .into_iter()
        .map(|dir| dir.join("libclift.so"))
        .filter_map(|path| Some((modified(&path)?, path)))
        .max();
    match newest {
        Some((_, path)) => path.canonicalize().unwrap_or(path),
        None => panic!("no libclift.so beside {}: cargo build -p clift-icd", exe.display()),
    }
}

/// A directory like `/etc/OpenCL/vendors` that lists `library` only, made inside `parent`.
///
/// # Errors
/// When it cannot be written.
pub fn vendors_dir(library: &Path, parent: &Path) -> std::io::Result<PathBuf> {
    let dir = parent.join("vendors");
    std::fs::create_dir_all(&dir)?;
    // Several test programs may do this at the same time, with different drivers: each writes and names its own file.
    let tag = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let dir = dir.join(tag);
    std::fs::create_dir_all(&dir)?;
    let fresh = dir.join(format!("{}.new", std::process::id()));
    std::fs::write(&fresh, format!("{}\n", library.display()))?;
    std::fs::rename(fresh, dir.join("driver.icd"))?;
    Ok(dir)
}

/// The directory for files of this profile's tests: `target/PROFILE/clift-tests`.
pub fn private_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the running program has a path");
    let dir = exe.parent().expect("a program is in a directory");
    let profile = if dir.ends_with("deps") { dir.parent().unwrap_or(dir) } else { dir };
    profile.join("clift-tests")
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}
