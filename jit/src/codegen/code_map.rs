//! Where machine code is, for the handlers of faults: which addresses are generated code, and which place in the source an
//! instruction comes from.
//!
//! A signal handler may ask at any moment, so [`contains`] takes no lock and allocates nothing: it reads a list of ranges that
//! only grows, and whose entries are reused. The places are looked up after the handler has returned.
//!
//! Deliberately not here: signals, and what a fault means for a launch (both are the runtime's).

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::process_lock::ProcessLock;

use super::listing::SourcePlace;

/// Source locations of a function with the offsets where they begin, in ascending order.
pub(super) type Places = Box<[(u32, SourcePlace)]>;

/// The range of a function's code.
#[derive(Debug)]
struct Range {
    /// 0 for an unused entry.
    start: AtomicUsize,
    end: AtomicUsize,
}

/// Number of ranges in a block of the list.
const BLOCK: usize = 64;

/// A block of the list of ranges. Blocks are never freed.
struct RangeBlock {
    ranges: [Range; BLOCK],
    next: OnceLock<Box<RangeBlock>>,
}

impl RangeBlock {
    const fn new() -> Self {
        let ranges = [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; BLOCK];
        Self { ranges, next: OnceLock::new() }
    }
}

static RANGES: RangeBlock = RangeBlock::new();

/// Functions by the start of their code. The lock also orders changes of [`RANGES`].
static FUNCTIONS: ProcessLock<BTreeMap<usize, FunctionCode>> = ProcessLock::new(BTreeMap::new());

/// The lock of the map, for a thread that forks.
pub(super) fn lock_for_fork() -> impl Sized + 'static {
    FUNCTIONS.lock()
}

struct FunctionCode {
    end: usize,
    places: Places,
    range: &'static Range,
}

/// The entries of functions in the map, which are removed on drop: before the code is freed.
#[derive(Debug, Default)]
pub(super) struct Registered {
    starts: Vec<usize>,
}

impl Registered {
    /// Adds a function of `len` bytes at `start`.
    pub(super) fn add(&mut self, start: usize, len: usize, places: Places) {
        let mut functions = FUNCTIONS.lock();
        let range = unused();
        range.end.store(start + len, Ordering::Relaxed);
        range.start.store(start, Ordering::Release);
        functions.insert(start, FunctionCode { end: start + len, places, range });
        self.starts.push(start);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut functions = FUNCTIONS.lock();
        for start in &self.starts {
            if let Some(function) = functions.remove(start) {
                function.range.start.store(0, Ordering::Release);
            }
        }
    }
}

/// An unused entry of the list. The caller holds the lock.
fn unused() -> &'static Range {
    let mut block = &RANGES;
    loop {
        if let Some(range) = block.ranges.iter().find(|range| range.start.load(Ordering::Relaxed) == 0) {
            return range;
        }
        block = block.next.get_or_init(|| Box::new(RangeBlock::new()));
    }
}

/// Whether an address is in generated code, or in a function that generated code calls to copy or fill the kernel's memory. May
/// be called in a signal handler.
pub fn contains(address: usize) -> bool {
    if super::host::memory_functions().contains(&address) {
        return true;
    }
    let mut block = Some(&RANGES);
    while let Some(RangeBlock { ranges, next }) = block {
        let inside = |range: &Range| {
            let start = range.start.load(Ordering::Acquire);
            let end = range.end.load(Ordering::Acquire);
            // An entry that is being reused has changed its start.
            start != 0 && (start..end).contains(&address) && range.start.load(Ordering::Relaxed) == start
        };
        if ranges.iter().any(inside) {
            return true;
        }
        block = next.get().map(|next| &**next);
    }
    false
}

/// The place in the kernel's source of the instruction at an address, as text; `None` if it is unknown.
pub fn place(address: usize) -> Option<String> {
    let functions = FUNCTIONS.lock();
    let (start, function) = functions.range(..=address).next_back()?;
    if address >= function.end {
        return None;
    }
    let offset = u32::try_from(address - start).ok()?;
    let known = function.places.partition_point(|&(from, _)| from <= offset);
    function.places[..known].last().and_then(|&(_, place)| place.known())
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Registered, contains, place};
    use crate::codegen::listing::SourcePlace;

    #[test]
    fn finds_functions_while_they_exist() {
        // Addresses that no code of this process has.
        let base = 0x7000_0000_0000_0000;
        let mut functions = Registered::default();
        for number in 0..3 * BLOCK {
            let places = [(0, SourcePlace::Nowhere), (4, SourcePlace::Line(number as u32)), (9, SourcePlace::Word(7))];
            functions.add(base + 32 * number, 16, places.into());
        }
        assert!(contains(base) && contains(base + 15) && !contains(base + 16) && !contains(base - 1));
        let last = base + 32 * (3 * BLOCK - 1);
        assert!(contains(last + 15) && !contains(last + 16));
        assert_eq!(place(base + 32), None);
        assert_eq!(place(base + 32 + 4).as_deref(), Some("line 1 of the source"));
        assert_eq!(place(base + 32 + 15).as_deref(), Some("word 7 of the SPIR-V module"));
        assert_eq!(place(base + 16), None);
        drop(functions);
        assert!(!contains(base) && !contains(last) && place(base + 36).is_none());
    }

    #[test]
    fn functions_on_memory_count_as_generated_code() {
        assert!(contains(super::super::host::copy_bytes as *const () as usize) || !cfg!(target_arch = "x86_64"));
        assert!(!contains(contains as *const () as usize));
    }
}
