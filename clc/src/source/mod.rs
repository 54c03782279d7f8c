//! Files, positions in them, and interned names.
//!
//! All files of a compilation lie one after the other in one address space of 32 bits, so a position is a number ([`Span`]), and
//! the [`SourceMap`] finds file, line and column when a diagnostic or a debug line needs them.

mod map;
mod symbol;

pub use map::{Expansion, FileId, Location, SourceFile, SourceMap};
pub use symbol::{Interner, Symbol};

/// An index into the [`SourceMap`]'s macro expansions; 0 is "not from a macro".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExpansionId(pub u32);

/// A range of the source: where a token or a construct is spelled.
///
/// For a token that a macro produced, the range is that of its spelling (in the macro's definition, or in the argument), and
/// `expansion` tells through which expansion it got here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte, as an offset in the map's address space. 0 means "nowhere".
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
    /// The macro expansion that produced it.
    pub expansion: ExpansionId,
}

impl Span {
    /// The span of what has no place in the source.
    pub const NONE: Span = Span { lo: 0, hi: 0, expansion: ExpansionId(0) };

    /// From the beginning of `self` to the end of `end`. Where the two come from different expansions, `self`.
    pub fn to(self, end: Span) -> Span {
        if self.expansion == end.expansion && end.hi >= self.lo && self.lo != 0 {
            Span { lo: self.lo, hi: end.hi, expansion: self.expansion }
        } else {
            self
        }
    }
}
