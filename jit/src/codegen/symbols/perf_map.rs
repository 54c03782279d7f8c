//! `/tmp/perf-PID.map`, in which `perf report` finds the names of generated functions: a line with start, length and name for
//! each.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;

use crate::codegen::process_lock::ProcessLock;

use super::CodeSymbol;

/// The file, and the process it belongs to.
pub(super) static FILE: ProcessLock<Option<(u32, File)>> = ProcessLock::new(None);

/// Appends functions. Errors are ignored: the profile then shows addresses.
pub(super) fn add(functions: &[CodeSymbol<'_>]) {
    let mut text = String::new();
    for &CodeSymbol { name, start, len, .. } in functions {
        let _ = writeln!(text, "{start:x} {len:x} {name}");
    }
    let process = std::process::id();
    let mut file = FILE.lock();
    if file.as_ref().is_none_or(|(owner, _)| *owner != process) {
        *file = create(process).map(|file| (process, file));
    }
    if let Some((_, file)) = &mut *file {
        let _ = file.write_all(text.as_bytes());
    }
}

/// A new file in place of that of an earlier process with the same number. A link that somebody has put there is not followed.
fn create(process: u32) -> Option<File> {
    let path = format!("/tmp/perf-{process}.map");
    let _ = fs::remove_file(&path);
    OpenOptions::new().write(true).create_new(true).open(path).ok()
}
