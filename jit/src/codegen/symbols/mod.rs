//! Names and source lines of generated functions for tools that look at the process from outside: profilers and debuggers. Only
//! on request, because it takes time and memory.
//!
//! - `perf_map`: the file in which `perf` finds the names of functions; `jitdump`: one with their code and lines, too;
//! - `gdb`: the interface through which gdb and LLDB learn of generated code; `image`: the ELF file that describes it to them.
//!
//! Deliberately not here: where code is for the handlers of faults (`code_map.rs`), and listings (`listing.rs`).

mod gdb;
mod image;
mod jitdump;
mod perf_map;

use std::any::Any;
use std::sync::OnceLock;

use super::code_map::Places;
use super::listing::SourcePlace;

/// For whom generated functions are described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolReaders {
    /// `perf`: `/tmp/perf-PID.map`.
    pub perf: bool,
    /// `perf inject --jit`: `/tmp/jit-PID.dump`.
    pub jitdump: bool,
    /// gdb and LLDB: the JIT interface, on x86-64.
    pub gdb: bool,
}

static READERS: OnceLock<SymbolReaders> = OnceLock::new();

/// Describes all functions generated from now on. Only the first call has an effect.
pub fn publish_symbols(readers: SymbolReaders) {
    let _ = READERS.set(readers);
}

/// The locks of this module, for a thread that forks.
pub(super) fn lock_for_fork() -> [Box<dyn Any>; 3] {
    [Box::new(gdb::LOCK.lock()), Box::new(jitdump::DUMP.lock()), Box::new(perf_map::FILE.lock())]
}

/// What the source is called. Programs have no file of it, but tools show a file with this name in their source path.
const SOURCE_NAME: &str = "kernels.cl";

/// A function in executable memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeSymbol<'a> {
    /// The name of the kernel, maybe with a remark in parentheses.
    pub(super) name: &'a str,
    pub(super) start: u64,
    pub(super) len: u64,
    /// Its code, as long as `len`.
    pub(super) code: &'a [u8],
    /// Whether it has a frame pointer. Otherwise it has no frame.
    pub(super) has_frame: bool,
    pub(super) places: &'a Places,
}

impl CodeSymbol<'_> {
    /// The name by which a debugger finds it.
    fn kernel(&self) -> &str {
        self.name.split_once(" (").map_or(self.name, |(kernel, _)| kernel)
    }

    /// The offsets at which its source lines begin. Code without a line counts as part of the line before it, and the first code
    /// as part of the first line.
    fn lines(&self) -> Vec<(u64, u32)> {
        let mut lines: Vec<(u64, u32)> = Vec::new();
        for &(offset, place) in self.places.iter().filter(|(offset, _)| u64::from(*offset) < self.len) {
            match place {
                SourcePlace::Line(line) if lines.last().is_none_or(|(_, last)| *last != line) => {
                    lines.push((if lines.is_empty() { 0 } else { u64::from(offset) }, line));
                }
                SourcePlace::Line(_) | SourcePlace::Word(_) | SourcePlace::Nowhere => {}
            }
        }
        lines
    }
}

/// Whether code begins by creating a frame pointer.
pub(super) fn has_frame(code: &[u8]) -> bool {
    cfg!(target_arch = "x86_64") && code.starts_with(&image::PROLOGUE)
}

/// Functions that debuggers know, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Published {
    _registration: Option<gdb::Registration>,
}

/// Describes functions to those who are to know them.
pub(super) fn publish<'a>(functions: impl Iterator<Item = CodeSymbol<'a>>) -> Published {
    let Some(readers) = READERS.get() else { return Published::default() };
    let mut functions: Vec<_> = functions.filter(|function| function.len > 0).collect();
    functions.sort_by_key(|function| function.start);
    if readers.perf {
        perf_map::add(&functions);
    }
    if readers.jitdump {
        jitdump::add(&functions);
    }
    // The file describes x86-64 code.
    let described = readers.gdb && cfg!(target_arch = "x86_64");
    let registration = if described { image::image(&functions).map(gdb::Registration::new) } else { None };
    Published { _registration: registration }
}
