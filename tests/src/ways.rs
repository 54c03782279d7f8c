//! Ways to run a program: this driver's configurations and other drivers, whose results are compared.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::driver::vendors_dir;

/// The environment variable with the build options that a way adds to a program's.
pub const OPTIONS: &str = "CLIFT_WAY_OPTIONS";

/// The environment variable with the checks of kernels that a way has.
const CHECKS: &str = "CLIFT_CHECK";
/// The environment variable with the file of the reports of such a way, one a line.
pub const REPORTS: &str = "CLIFT_CHECK_OUTPUT";

/// The environments of this driver's configurations, by name.
pub const WAYS: &[(&str, &[(&str, &str)])] = &[
    ("auto", &[]),
    ("1", &[("CLIFT_WIDTH", "1")]),
    ("4", &[("CLIFT_WIDTH", "4")]),
    ("16", &[("CLIFT_WIDTH", "16")]),
    ("32", &[("CLIFT_WIDTH", "32")]),
    ("skylake", &[("CLIFT_BACKEND", "skylake")]),
    ("avx2", &[("CLIFT_BACKEND", "avx2")]),
    ("cranelift", &[("CLIFT_BACKEND", "cranelift")]),
    ("cranelift-1", &[("CLIFT_BACKEND", "cranelift"), ("CLIFT_WIDTH", "1")]),
    ("cranelift-8", &[("CLIFT_BACKEND", "cranelift"), ("CLIFT_WIDTH", "8")]),
    ("interp", &[("CLIFT_BACKEND", "interp")]),
    // Sizes and integer arguments of every launch are constants.
    ("constants", &[("CLIFT_SPECIALIZE", "always")]),
    ("constants-cranelift", &[("CLIFT_SPECIALIZE", "always"), ("CLIFT_BACKEND", "cranelift")]),
    ("rows-1", &[("CLIFT_ROWS", "1")]),
    ("rows-2", &[("CLIFT_ROWS", "2")]),
    ("rows-4", &[("CLIFT_ROWS", "4")]),
    ("loops-4", &[("CLIFT_WIDTH", "1"), ("CLIFT_LOOP_WIDTH", "4")]),
    ("loops-16", &[("CLIFT_WIDTH", "1"), ("CLIFT_LOOP_WIDTH", "16")]),
    ("loops-avx2-8", &[("CLIFT_WIDTH", "1"), ("CLIFT_LOOP_WIDTH", "8"), ("CLIFT_BACKEND", "avx2")]),
    ("loops-cranelift-8", &[("CLIFT_WIDTH", "1"), ("CLIFT_LOOP_WIDTH", "8"), ("CLIFT_BACKEND", "cranelift")]),
    ("calls", &[("CLIFT_INLINE", "0")]),
    ("calls-x86-1", &[("CLIFT_INLINE", "0"), ("CLIFT_WIDTH", "1")]),
    ("calls-cranelift", &[("CLIFT_INLINE", "0"), ("CLIFT_BACKEND", "cranelift")]),
    ("calls-interp", &[("CLIFT_INLINE", "0"), ("CLIFT_BACKEND", "interp")]),
    ("calls-unoptimized", &[("CLIFT_INLINE", "0"), (OPTIONS, "-cl-opt-disable")]),
    ("unoptimized", &[(OPTIONS, "-cl-opt-disable")]),
    // Kernels of which nothing may be reported. Not `race`: random programs read the variables of their atomic operations
    // plainly, too.
    ("checked", &[(CHECKS, "memory,uninit,barrier")]),
    ("checked-memory-8", &[(CHECKS, "memory"), ("CLIFT_WIDTH", "8")]),
    ("checked-cranelift", &[(CHECKS, "memory"), ("CLIFT_BACKEND", "cranelift")]),
    ("checked-interp", &[(CHECKS, "memory,uninit"), ("CLIFT_BACKEND", "interp")]),
    // The other front end, with its optimizer and without.
    ("clang", &[("CLIFT_FRONTEND", "clang")]),
    ("clang-unoptimized", &[("CLIFT_FRONTEND", "clang"), (OPTIONS, "-cl-opt-disable")]),
];

/// What a configuration has unless it says otherwise: no other front end stands in for Clift's own.
const OWN_FRONT_END: &[(&str, &str)] = &[("CLIFT_FRONTEND", "clift")];

/// A driver and its environment.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its name in reports.
    pub name: String,
    /// The driver's library.
    pub library: PathBuf,
    /// Variables of the environment.
    pub env: Vec<(&'static str, String)>,
    /// Whether the driver is Clift.
    pub is_clift: bool,
}

impl Way {
    /// Clift with these variables.
    pub fn clift(name: &str, library: &Path, env: &[(&'static str, &str)]) -> Self {
        let env = OWN_FRONT_END.iter().chain(env).map(|&(name, value)| (name, value.to_owned())).collect();
        Self { name: name.to_owned(), library: library.to_owned(), env, is_clift: true }
    }

    /// Another driver: `NAME=LIBRARY`.
    pub fn peer(text: &str) -> Self {
        let (name, library) = text.split_once('=').unwrap_or((text, text));
        Self { name: name.to_owned(), library: library.into(), env: Vec::new(), is_clift: false }
    }

    /// The command that runs this program in this way, with an empty cache in `scratch`.
    ///
    /// # Errors
    /// When the program's path or files in `scratch` are not accessible.
    pub fn command(&self, scratch: &Path) -> std::io::Result<Command> {
        let cache = scratch.join("cache");
        let mut command = Command::new(std::env::current_exe()?);
        command
            .env("OCL_ICD_VENDORS", vendors_dir(&self.library, scratch)?)
            .env_remove("OCL_ICD_FILENAMES")
            .env("CLIFT_TEST_ICD", &self.library)
            .env("CLIFT_CACHE_DIR", &cache)
            .env("POCL_CACHE_DIR", &cache)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if self.env.iter().any(|(name, _)| *name == CHECKS) {
            command.env(REPORTS, scratch.join("reports"));
        }
        Ok(command)
    }
}

/// Waits for a child that appends to the file `result`. If the file does not grow for the time `limit`, kills the child
/// and returns `None`.
///
/// # Errors
/// When the child or the file is not accessible.
pub fn wait(child: &mut Child, result: &Path, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let (mut since, mut length) = (Instant::now(), 0);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let now = std::fs::metadata(result)?.len();
        if now != length {
            (since, length) = (Instant::now(), now);
        }
        if since.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
