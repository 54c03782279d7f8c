//! The driver in a process with more rights than its user. A copy of this program with the set-user-ID bit is such a process,
//! which only root can make; elsewhere the test is skipped. It is a test program of its own, so that the copy does nothing
//! else.
//!
//! The driver is linked into this program: a loader would ignore the variables that select a driver.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

#[path = "api/cl.rs"]
#[allow(dead_code, reason = "shared with the test `api`")]
mod cl;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::{null, null_mut};

use cl::*;

/// Tells a process that it is the copy.
const COPY: &str = "--copy";
/// A user without rights.
const NOBODY: u32 = 65534;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(COPY) {
        return in_copy();
    }
    // SAFETY: the function has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    // What is made inside is reached, and could be written to, by any user.
    let make = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir(&path).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o777))).expect(name);
        path
    };
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let places = Places { home: make("home"), cache: make("cache"), path: make("path"), traces: make("traces") };
    places.make_clang();
    let program = directory.path().join("program");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy");

    // Without the bit, all of it is used: otherwise the test would show nothing.
    let output = places.run(&program);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.contains("clCreateContext"), "{errors}");
    assert!(places.is_used(&places.path) && places.is_used(&places.traces), "the variables have no effect");
    places.clear();

    std::os::unix::fs::chown(&program, Some(NOBODY), None).expect("another owner");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("permissions");
    let output = places.run(&program);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if text.contains("not privileged") {
        eprintln!("skipped: the file system ignores the set-user-ID bit");
        return;
    }
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "", "something was printed");
    for place in [&places.home, &places.cache, &places.path, &places.traces] {
        assert!(!places.is_used(place), "{} was used", place.display());
    }
}

/// The directories that the environment names.
struct Places {
    home: PathBuf,
    cache: PathBuf,
    path: PathBuf,
    traces: PathBuf,
}

impl Places {
    /// A compiler that says that it was run.
    fn make_clang(&self) {
        let clang = self.path.join("clang-99");
        let script = format!("#!/bin/sh\n: >{}/used\nexit 1\n", self.path.display());
        fs::write(&clang, script).expect("a script");
        fs::set_permissions(&clang, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    fn run(&self, program: &Path) -> Output {
        let mut command = Command::new(program);
        command.arg(COPY).env_clear().env("HOME", &self.home).env("XDG_CACHE_HOME", &self.cache);
        command.env("PATH", &self.path).env("CLIFT_DEBUG", "api").env("CLIFT_TRACE", self.traces.join("trace.json"));
        command.output().expect("the copy runs")
    }

    /// Whether something was made in a directory.
    fn is_used(&self, place: &Path) -> bool {
        let entries = fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        entries.filter(|name| name != "clang-99").count() != 0
    }

    fn clear(&self) {
        for place in [&self.home, &self.cache, &self.path, &self.traces] {
            for entry in fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry")) {
                let path = entry.path();
                if path.is_dir() {
                    fs::remove_dir_all(path).expect("it was made");
                } else if entry.file_name() != "clang-99" {
                    fs::remove_file(path).expect("it was made");
                }
            }
        }
    }
}

/// In the copy: makes a context and builds programs, one of which needs another compiler.
fn in_copy() {
    // SAFETY: the function only reads the process's auxiliary vector.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    assert_eq!(fs::metadata("/proc/self/exe").is_ok_and(|file| file.uid() == NOBODY), is_privileged);
    if !is_privileged {
        println!("not privileged");
    }
    let setup = Setup::new();
    for (source, builds) in [("kernel void k(global int *p) { *p = 1; }", true), ("kernel void k( {", false)] {
        let text = source.as_ptr().cast();
        let program = made(|e| clCreateProgramWithSource(setup.context, 1, &text, &source.len(), e));
        let status = clBuildProgram(program, 0, null(), null(), None, null_mut());
        assert_eq!(status == CL_SUCCESS, builds, "{source}: {status}");
        assert_eq!(clReleaseProgram(program), CL_SUCCESS);
    }
}
