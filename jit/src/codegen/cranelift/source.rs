//! Source locations as Cranelift represents them, and listings of compiled functions.

use clift_kir::Loc;
use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;

use crate::codegen::code_map::Places;
use crate::codegen::listing::{self, ListingInput, SourcePlace};

/// Marks word numbers of the SPIR-V module, for code without line information.
const WORD: u32 = 1 << 31;

/// Cranelift's form of a source location.
pub(super) fn source_loc(loc: Loc) -> SourceLoc {
    match SourcePlace::from(loc) {
        SourcePlace::Nowhere => SourceLoc::default(),
        SourcePlace::Word(word) => SourceLoc::new((word + 1) | WORD),
        SourcePlace::Line(line) => SourceLoc::new(line & !WORD),
    }
}

fn place(loc: SourceLoc) -> SourcePlace {
    match loc.bits() {
        bits if loc.is_default() || bits == 0 => SourcePlace::Nowhere,
        bits if bits & WORD != 0 => SourcePlace::Word((bits & !WORD) - 1),
        line => SourcePlace::Line(line),
    }
}

/// The source locations of a function's code.
pub(super) fn places(code: &CompiledCode) -> Places {
    let mut places = Vec::new();
    for range in code.buffer.get_srclocs_sorted() {
        // Code after a range has no location, unless the next range begins there.
        if places.last().is_some_and(|&(from, _)| from == range.start) {
            places.pop();
        }
        places.extend([(range.start, place(range.loc)), (range.end, SourcePlace::Nowhere)]);
    }
    places.into()
}

/// The listing of a function with its source locations and its constant pool.
pub(super) fn listing(code: &CompiledCode, places: &Places, pool: &[u128]) -> String {
    let own = code.vcode.as_deref();
    listing::listing(ListingInput { bytes: code.buffer.data(), starts: &code.bb_starts, places, pool, own })
}
