//! Translation phases 1 to 6: texts in, tokens out. Directives and macros are gone from the result; pragmas that concern the
//! language remain as [`TokenKind::Pragma`].

mod print;
mod token;

pub use print::print;
pub use token::{Pragma, Punct, Token, TokenKind};

use crate::diagnostics::Diagnostics;
use crate::options::Options;
use crate::source::{Interner, SourceMap};

/// The state that all stages share.
#[derive(Debug)]
pub struct Session<'a> {
    /// What to do.
    pub options: &'a Options,
    /// The files read.
    pub sources: SourceMap,
    /// Names and spellings.
    pub names: Interner,
    /// What was reported.
    pub diagnostics: Diagnostics,
}

/// What the preprocessor found.
#[derive(Debug, Default)]
pub struct Preprocessed {
    /// The tokens; the last is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// The pragmas that tokens refer to.
    pub pragmas: Vec<Pragma>,
    /// Files that were read, besides those of [`Options::headers`], in order.
    pub files: Vec<std::path::PathBuf>,
}

/// Preprocesses a source.
pub fn preprocess(session: &mut Session<'_>, source: &[u8]) -> Preprocessed {
    let _ = (session, source);
    Preprocessed::default()
}
