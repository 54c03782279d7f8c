//! Translation phases 1 to 6: texts in, tokens out. Directives and macros are gone from the result; pragmas that concern the
//! language remain as [`TokenKind::Pragma`].
//!
//! | file | content |
//! |---|---|
//! | `lexer/` | bytes to raw tokens |
//! | `stream.rs` | where tokens come from: files and expansions, one in another |
//! | `expand.rs`, `arguments.rs`, `substitute.rs`, `spelling.rs` | macros are expanded |
//! | `macros.rs`, `define.rs`, `predefined.rs`, `dynamic.rs` | macros are defined |
//! | `directives.rs`, `conditionals.rs`, `expression.rs`, `include.rs`, `files.rs`, `pragmas.rs` | directives |
//! | `print.rs` | tokens as text |

mod arguments;
mod conditionals;
mod define;
mod directives;
mod dynamic;
mod expand;
mod expression;
mod files;
mod include;
mod lexer;
mod macros;
mod pragmas;
mod predefined;
pub(crate) use predefined::constants;
mod print;
mod spelling;
mod stream;
mod substitute;
mod token;

pub use print::print;
pub use token::{Pragma, Punct, Token, TokenKind};

use crate::diagnostics::{Diagnostic, Diagnostics, Settings};
use crate::limits;
use crate::options::{Options, Version};
use crate::source::{Interner, SourceMap, Span, Symbol};
use files::Files;
use macros::MacroTable;
use stream::Stream;

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
    /// Whether a pragma enables `cl_ext_float_atomics`, which adds functions for atomic types.
    enables_atomics: bool,
}

impl<'a> Session<'a> {
    /// The state before the first stage.
    pub fn new(options: &'a Options) -> Self {
        Self {
            options,
            sources: SourceMap::default(),
            names: crate::syntax::keyword::interner(),
            diagnostics: Diagnostics::new(options.warnings.clone()),
            enables_atomics: false,
        }
    }

    /// The language version that decides whether the program has a type, constant or function that OpenCL C declares. A program
    /// that enables the extension of atomic types has these types in versions before 2.0, too.
    pub(crate) fn version_of(&self, name: &str) -> Version {
        let version = self.options.version;
        let is_atomic = || ["atomic_", "memory_"].iter().any(|prefix| name.starts_with(prefix));
        if version < Version::V2_0 && self.enables_atomics && is_atomic() { Version::V3_0 } else { version }
    }
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

/// Names with a meaning of their own.
#[derive(Clone, Copy, Debug)]
struct Known {
    va_args: Symbol,
    va_opt: Symbol,
    defined: Symbol,
    pragma: Symbol,
}

/// The state of the preprocessor.
#[derive(Debug)]
struct Preprocessor<'s, 'o> {
    session: &'s mut Session<'o>,
    known: Known,
    macros: MacroTable,
    /// What is being read; the last first.
    streams: Vec<Stream>,
    files: Files,
    pragmas: Vec<Pragma>,
    /// `#pragma pack`
    packing: pragmas::Packing,
    /// The end of the pragma that is being handled.
    pragma_end: Span,
    /// `#pragma clang diagnostic`, and what it pushed.
    settings: Settings,
    settings_saved: Vec<Settings>,
    /// White space and a line's beginning before the next token, left by an expansion to nothing.
    space_pending: bool,
    line_pending: bool,
    /// The next value of `__COUNTER__`.
    counter: u64,
    /// Nesting of arguments that are being expanded.
    argument_depth: usize,
    /// Nesting of argument lists that are being read.
    reading_arguments: usize,
    /// Tokens that expansions handled.
    steps: usize,
    /// Whether a fatal error ended it.
    is_stopped: bool,
}

/// Preprocesses a source.
pub fn preprocess(session: &mut Session<'_>, source: &[u8]) -> Preprocessed {
    let known = Known {
        va_args: session.names.intern("__VA_ARGS__"),
        va_opt: session.names.intern("__VA_OPT__"),
        defined: session.names.intern("defined"),
        pragma: session.names.intern("_Pragma"),
    };
    let mut preprocessor = Preprocessor {
        session,
        known,
        macros: MacroTable::default(),
        streams: Vec::new(),
        files: Files::default(),
        pragmas: Vec::new(),
        packing: pragmas::Packing::default(),
        pragma_end: Span::NONE,
        settings: None,
        settings_saved: Vec::new(),
        space_pending: false,
        line_pending: false,
        counter: 0,
        argument_depth: 0,
        reading_arguments: 0,
        steps: 0,
        is_stopped: false,
    };
    preprocessor.begin(source);
    let tokens = preprocessor.tokens(source.len() / 4);
    Preprocessed { tokens, pragmas: preprocessor.pragmas, files: preprocessor.files.into_read() }
}

impl Preprocessor<'_, '_> {
    /// All tokens.
    fn tokens(&mut self, estimate: usize) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(estimate + 16);
        let mut from_macros = 0;
        loop {
            let token = self.lex().token;
            if tokens.len() >= limits::TOKENS {
                self.stop(token.span, format!("more than {} tokens", limits::TOKENS));
            }
            if token.span.expansion.0 != 0 {
                from_macros += 1;
                if from_macros == limits::EXPANDED_TOKENS {
                    self.stop(token.span, format!("macros expand to more than {} tokens", limits::EXPANDED_TOKENS));
                }
            }
            tokens.push(token);
            if token.kind == TokenKind::End {
                return tokens;
            }
        }
    }

    /// Reports an error after which nothing is read any more.
    fn stop(&mut self, span: Span, text: impl Into<String>) {
        if !self.is_stopped {
            self.session.diagnostics.report(Diagnostic::fatal(span, text));
            self.is_stopped = true;
        }
    }
}

#[cfg(test)]
mod tests;
