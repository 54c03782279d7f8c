//! Child processes from the parent's side: starts them for one driver each, limits their time, and reads their results.
//!
//! A child writes its result to a file, because some drivers print to standard output.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clift_tests::driver::vendors_dir;
use serde::de::DeserializeOwned;

use crate::drivers::Driver;

/// How often the parent checks whether a child has ended.
const POLL: Duration = Duration::from_millis(4);
/// How much of a child's last output is shown.
const LAST_WORDS: usize = 2000;

/// How a child without a result ended.
pub(crate) enum Failure {
    /// It exited, with this status and this last output.
    Crash(String),
    /// It was killed after this time.
    Timeout(Duration),
}

/// Starts children with private, empty caches in a directory that is removed when this is dropped.
pub(crate) struct Nursery {
    scratch: tempfile::TempDir,
    count: std::cell::Cell<usize>,
}

impl Nursery {
    /// A place for children.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { scratch: tempfile::Builder::new().prefix("clift-bench-").tempdir()?, count: std::cell::Cell::new(0) })
    }

    /// Runs this program with `args` under `driver`, for at most `limit`. The child writes its result to a given path.
    ///
    /// # Errors
    /// When a child cannot be started, which is not the driver's fault.
    pub(crate) fn run<T: DeserializeOwned>(
        &self,
        driver: &Driver,
        args: &[String],
        limit: Duration,
    ) -> Result<Result<T, Failure>> {
        let number = self.count.replace(self.count.get() + 1);
        let home = self.scratch.path().join(number.to_string());
        let cache = home.join("cache");
        std::fs::create_dir_all(&cache)?;
        let (result, errors) = (home.join("result.json"), home.join("errors.txt"));
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .arg("--result")
            .arg(&result)
            .env("OCL_ICD_VENDORS", vendors_dir(&driver.library, &home)?)
            .env_remove("OCL_ICD_FILENAMES")
            .envs(driver.variable)
            .env("CLIFT_CACHE_DIR", &cache)
            .env("POCL_CACHE_DIR", &cache)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(File::create(&errors)?)
            .process_group(0)
            .spawn()?;
        let ended = wait(&mut child, limit)?;
        let outcome = match ended {
            None => Err(Failure::Timeout(limit)),
            Some(status) => match std::fs::read(&result) {
                Ok(bytes) if status.success() => {
                    Ok(serde_json::from_slice(&bytes).with_context(|| format!("the result of {args:?}"))?)
                }
                _ => Err(Failure::Crash(format!("{status}: {}", last_words(&errors)))),
            },
        };
        std::fs::remove_dir_all(&home)?;
        Ok(outcome)
    }
}

/// Waits for the child to end. When that takes too long, kills it and all processes that it started.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            // SAFETY: the child has not been waited for, so its number is still its own; it leads a group of its own.
            unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

fn last_words(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS)..]).trim().to_owned()
}

/// Stores a child's result where the parent finds it.
pub(crate) fn deliver(path: &Path, result: &impl serde::Serialize) -> Result<()> {
    Ok(std::fs::write(path, serde_json::to_vec(result)?)?)
}
