//! Launches of checked kernels (`CLIFT_CHECK`): the memory that they may access, and where their reports go.
//!
//! A report goes to the context's callback, to stderr, and as a line of JSON to the file that `CLIFT_CHECK_OUTPUT` names.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use clift_include::check::{CheckKind, KernelChecks, SiteObject};
use clift_runtime::check::{LaunchChecks, Report};
use clift_runtime::launch::ArgBlock;
use parking_lot::Mutex;

use crate::config::config;
use crate::ffi::handle::Ref;
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::kernel::{Kernel, place};

/// The checker of a launch of a kernel; `None` if its code checks nothing. `reached` are the memory objects of its arguments,
/// and those that it may access by address.
pub fn of_launch<'a>(
    context: &Ref<Context>,
    kernel: &Kernel,
    reached: impl Iterator<Item = &'a Ref<Mem>>,
) -> Option<Box<LaunchChecks>> {
    let (checks, reported) = kernel.checks()?;
    let mut ranges = Vec::new();
    if checks.sites.iter().any(|site| site.check == CheckKind::Memory && site.object == SiteObject::Unknown) {
        let data = &kernel.executable().program.data;
        ranges.push((data.start, data.end - data.start));
        ranges.extend(reached.map(|mem| (mem.bytes().as_ptr().addr() as u64, mem.bytes().len() as u64)));
        ranges.extend(context.ranges());
    }
    let context = context.clone();
    let sink = Arc::new(move |report: &Report| deliver(&context, report));
    Some(Box::new(LaunchChecks::new(checks.clone(), reported.clone(), ranges, sink)))
}

/// Puts into an argument block what the code of a checked kernel wants to know of all arguments together.
pub fn place_facts(block: &mut ArgBlock, checks: &KernelChecks) {
    let Some(offset) = checks.shared else { return };
    let word = |at: u32| {
        let bytes = block.bytes().get(at as usize..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let objects: Vec<(u64, u64, bool)> = checks
        .bounds
        .iter()
        .filter(|bounds| !bounds.is_local)
        .map(|bounds| (word(bounds.value).wrapping_sub(word(bounds.offset)), word(bounds.offset + 8), bounds.written))
        .collect();
    let meets = |a: &(u64, u64, bool), b: &(u64, u64, bool)| b.0.wrapping_sub(a.0) < a.1 || a.0.wrapping_sub(b.0) < b.1;
    let shared = objects
        .iter()
        .enumerate()
        .any(|(number, object)| objects[..number].iter().any(|other| (object.2 || other.2) && meets(object, other)));
    place(block, offset, &u64::from(shared).to_le_bytes());
}

/// Passes a report on.
fn deliver(context: &Context, report: &Report) {
    let text = report.to_string();
    // The user has asked for this output; an error, such as a closed stderr, is ignored.
    let _ = writeln!(std::io::stderr(), "clift: {text}");
    if let Some(file) = output() {
        // One call per report, so that lines of several processes do not mix.
        let line = report.to_json() + "\n";
        let _ = file.lock().write_all(line.as_bytes());
    }
    context.report(&text);
}

/// The file that `CLIFT_CHECK_OUTPUT` names.
fn output() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = config().check_output.as_ref()?;
        match OpenOptions::new().create(true).append(true).open(path) {
            Ok(file) => Some(Mutex::new(file)),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "clift: CLIFT_CHECK_OUTPUT={}: {error}", path.display());
                None
            }
        }
    });
    file.as_ref()
}
