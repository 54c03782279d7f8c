//! Interned names and spellings.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// An interned text: an identifier, or the spelling of a number or string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// The texts of [`Symbol`]s. The keywords come first ([`crate::syntax::keyword`]), so a symbol is a keyword if it is small.
#[derive(Debug, Default)]
pub struct Interner {
    texts: IndexSet<Box<str>, FxBuildHasher>,
}

impl Interner {
    /// The symbol of a text.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(index) = self.texts.get_index_of(text) {
            return Symbol(index as u32);
        }
        Symbol(self.texts.insert_full(text.into()).0 as u32)
    }

    /// The symbol of a text that was interned before.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.texts.get_index_of(text).map(|index| Symbol(index as u32))
    }

    /// A symbol's text.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get_index(symbol.0 as usize).map_or("", |text| text)
    }
}
