//! Places in the source as Cranelift carries them, and what it compiled as a listing shows it.

use clift_kir::Loc;
use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;

use crate::codegen::listing::{self, Listed, Place};

/// Marks words of the SPIR-V module, for code without source lines.
const WORD: u32 = 1 << 31;

/// A place in the source.
pub(super) fn source_loc(loc: Loc) -> SourceLoc {
    match Place::from(loc) {
        Place::Nowhere => SourceLoc::default(),
        Place::Word(word) => SourceLoc::new((word + 1) | WORD),
        Place::Line(line) => SourceLoc::new(line & !WORD),
    }
}

fn place(loc: SourceLoc) -> Place {
    match loc.bits() {
        bits if loc.is_default() || bits == 0 => Place::Nowhere,
        bits if bits & WORD != 0 => Place::Word((bits & !WORD) - 1),
        line => Place::Line(line),
    }
}

/// The listing of a function with a pool of constants.
pub(super) fn listing(code: &CompiledCode, pool: &[u128]) -> String {
    let mut places = Vec::new();
    for range in code.buffer.get_srclocs_sorted() {
        // What follows a range has no place, unless the next one begins there.
        if places.last().is_some_and(|&(from, _)| from == range.start) {
            places.pop();
        }
        places.extend([(range.start, place(range.loc)), (range.end, Place::Nowhere)]);
    }
    let own = code.vcode.as_deref();
    listing::listing(Listed { bytes: code.buffer.data(), starts: &code.bb_starts, places: &places, pool, own })
}
