//! The parent's side of child processes: starts them for one driver each, bounds their time, takes what they found out.
//!
//! A child leaves its result in a file: drivers are known to print to standard output.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clift_tests::driver::vendors_dir;
use serde::de::DeserializeOwned;

use crate::drivers::Driver;

/// How often the parent looks whether a child has ended.
const POLL: Duration = Duration::from_millis(4);
/// What is shown of a child's last words.
const LAST_WORDS: usize = 2000;

/// How a child ended that left no result.
pub(crate) enum Failure {
    /// By itself, with this exit status and these last words.
    Crash(String),
    /// It was ended after this time.
    Timeout(Duration),
}

/// Starts children with private, empty caches in a directory that goes away with this.
pub(crate) struct Nursery {
    scratch: tempfile::TempDir,
    count: std::cell::Cell<usize>,
}

impl Nursery {
    /// A place for children.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { scratch: tempfile::Builder::new().prefix("clift-bench-").tempdir()?, count: std::cell::Cell::new(0) })
    }

    /// Runs this program with `args` under `driver`, for at most `limit`; the child writes its result to a path it is given.
    ///
    /// # Errors
    /// When a child cannot be started: that is not the driver's fault.
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

/// Waits for the child to end; when that takes too long, ends it and everything it started.
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

/// Leaves a child's result where the parent looks for it.
pub(crate) fn deliver(path: &Path, result: &impl serde::Serialize) -> Result<()> {
    Ok(std::fs::write(path, serde_json::to_vec(result)?)?)
}
