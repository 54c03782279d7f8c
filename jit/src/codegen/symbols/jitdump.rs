//! `/tmp/jit-PID.dump`, from which `perf inject --jit` makes an ELF file for each generated function, so that `perf annotate`
//! shows its instructions and source lines. The format is perf's (version 1): a header and records in the byte order of the
//! machine.
//!
//! `perf record` notes that the process has mapped the file as executable, and finds it by that. The times of the records are
//! those of `CLOCK_MONOTONIC`, as of samples with `-k mono`.
//!
//! Deliberately not here: a record for code that is freed; the format has none. Code that is generated later at the same
//! addresses has a later time.

#![allow(unsafe_code, reason = "perf looks for a mapping of the file")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::ptr;

use crate::codegen::process_lock::ProcessLock;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::time::ClockId;

use super::{CodeSymbol, SOURCE_NAME};

/// `JiTD` as a number.
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;

/// The kinds of records that are written.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A function and its code.
    CodeLoad = 0,
    /// The source lines of the function in the record that follows.
    DebugInfo = 2,
}

/// Bytes of a record before its content: kind, size and time.
const RECORD_PREFIX: usize = 16;

/// The file of a process.
pub(super) struct Dump {
    process: u32,
    file: File,
    /// Number of functions in it.
    functions: u64,
}

pub(super) static DUMP: ProcessLock<Option<Dump>> = ProcessLock::new(None);

/// Appends functions. Errors are ignored: perf then shows addresses.
pub(super) fn add(functions: &[CodeSymbol<'_>]) {
    let process = std::process::id();
    let mut dump = DUMP.lock();
    if dump.as_ref().is_none_or(|dump| dump.process != process) {
        *dump = create(process).map(|file| Dump { process, file, functions: 0 });
    }
    let Some(dump) = &mut *dump else { return };
    let mut records = Vec::new();
    for function in functions {
        debug_info(&mut records, function);
        code_load(&mut records, function, process, dump.functions);
        dump.functions += 1;
    }
    let _ = dump.file.write_all(&records);
}

/// A new file, with its header, in place of that of an earlier process with the same number. A link that somebody has put there
/// is not followed.
fn create(process: u32) -> Option<File> {
    let path = format!("/tmp/jit-{process}.dump");
    let _ = fs::remove_file(&path);
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path).ok()?;
    let mut header = Vec::new();
    for word in [MAGIC, VERSION, HEADER_BYTES, machine(), 0, process] {
        header.extend(word.to_ne_bytes());
    }
    header.extend(now().to_ne_bytes());
    // Flags: the times are not those of the processor's counter.
    header.extend(0_u64.to_ne_bytes());
    file.write_all(&header).ok()?;
    mark(&file);
    Some(file)
}

/// Maps the file, which stays mapped: `perf record` sees it.
fn mark(file: &File) {
    // SAFETY: a new mapping, at an address that the system chooses; nothing accesses it.
    let mapped = unsafe {
        rustix::mm::mmap(
            ptr::null_mut(),
            rustix::param::page_size(),
            ProtFlags::READ | ProtFlags::EXEC,
            MapFlags::PRIVATE,
            file,
            0,
        )
    };
    if let Err(error) = mapped {
        tracing::warn!(%error, "perf will not find the file of generated functions");
    }
}

/// ELF's number of the machine.
fn machine() -> u32 {
    u32::from(if cfg!(target_arch = "x86_64") { object::elf::EM_X86_64 } else { object::elf::EM_AARCH64 })
}

/// Nanoseconds.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The lines of a function, if any are known.
fn debug_info(records: &mut Vec<u8>, function: &CodeSymbol<'_>) {
    let lines = function.lines();
    if lines.is_empty() {
        return;
    }
    let mut content = Vec::new();
    content.extend(function.start.to_ne_bytes());
    content.extend((lines.len() as u64).to_ne_bytes());
    for (offset, line) in lines {
        content.extend((function.start + offset).to_ne_bytes());
        content.extend(line.to_ne_bytes());
        // The discriminator.
        content.extend(0_u32.to_ne_bytes());
        text(&mut content, SOURCE_NAME);
    }
    record(records, Kind::DebugInfo, &content);
}

/// A function and its code.
fn code_load(records: &mut Vec<u8>, function: &CodeSymbol<'_>, process: u32, index: u64) {
    let mut content = Vec::new();
    content.extend(process.to_ne_bytes());
    content.extend(rustix::thread::gettid().as_raw_nonzero().get().to_ne_bytes());
    // The address at which it runs, and that at which it was generated.
    for number in [function.start, function.start, function.len, index] {
        content.extend(number.to_ne_bytes());
    }
    text(&mut content, function.name);
    content.extend(function.code);
    record(records, Kind::CodeLoad, &content);
}

fn record(records: &mut Vec<u8>, kind: Kind, content: &[u8]) {
    // A function with 4 GiB of code does not exist.
    let Ok(size) = u32::try_from(RECORD_PREFIX + content.len()) else { return };
    records.extend((kind as u32).to_ne_bytes());
    records.extend(size.to_ne_bytes());
    records.extend(now().to_ne_bytes());
    records.extend(content);
}

/// A text that ends with a zero byte.
fn text(content: &mut Vec<u8>, text: &str) {
    content.extend(text.bytes().filter(|byte| *byte != 0));
    content.push(0);
}
