//! Bytes in, raw tokens out: translation phases 1 to 3. No macros, no directives.
//!
//! | file | content |
//! |---|---|
//! | `text.rs` | characters behind splices and trigraphs |
//! | `trivia.rs` | white space and comments |
//! | `names.rs` | identifiers, also of other alphabets |
//! | `literals.rs` | numbers, character constants, strings |
//! | `punctuators.rs` | punctuators |
//! | `skip.rs` | groups of lines that a condition excludes |

mod literals;
mod names;
mod punctuators;
mod skip;
mod text;
mod trivia;

use std::sync::Arc;

use super::token::{Token, TokenKind};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::source::{ExpansionId, FileId, Interner, Span};
use text::Text;

/// A token within the preprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PpToken {
    /// The token. [`TokenKind::End`] is the end of a directive, of an argument, or of a file.
    pub token: Token,
    /// In a macro's body: the number of the parameter that it names, plus one.
    pub parameter: u16,
    /// An identifier that is never expanded again, or a `##` or `_Pragma` that is not an operator any more.
    pub is_plain: bool,
}

impl PpToken {
    /// A token that is not spelled anywhere.
    pub(super) fn new(kind: TokenKind, span: Span) -> Self {
        let token = Token { kind, span, space_before: false, line_start: false };
        Self { token, parameter: 0, is_plain: false }
    }
}

/// What the lexer adds to besides tokens.
pub(super) struct Sink<'a> {
    /// Names and spellings.
    pub names: &'a mut Interner,
    /// Diagnostics.
    pub diagnostics: &'a mut Diagnostics,
}

/// A position in a text, and what kind of line it is in.
#[derive(Clone, Debug)]
pub(super) struct Lexer {
    /// The file.
    pub file: FileId,
    /// Its text.
    pub text: Arc<[u8]>,
    /// The address of its first byte.
    pub base: u32,
    /// The next byte to read.
    pub at: usize,
    /// Whether the next token is the first of a line.
    pub line_start: bool,
    /// Whether the end of the line ends the input.
    pub in_directive: bool,
    /// Whether nothing is reported.
    pub is_silent: bool,
}

impl Lexer {
    /// At the beginning of a text, behind a byte order mark.
    pub(super) fn new(file: FileId, text: Arc<[u8]>, base: u32) -> Self {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { file, text, base, at, line_start: true, in_directive: false, is_silent: false }
    }

    /// The span of a range of bytes.
    pub(super) fn span(&self, from: usize, to: usize) -> Span {
        Span { lo: self.base + from as u32, hi: self.base + to as u32, expansion: ExpansionId(0) }
    }

    fn warn(&self, sink: &mut Sink<'_>, from: usize, to: usize, group: &'static str, text: impl Into<String>) {
        if !self.is_silent {
            sink.diagnostics.warning(self.span(from, to), group, text);
        }
    }

    fn error(&self, sink: &mut Sink<'_>, from: usize, to: usize, text: impl Into<String>) {
        if !self.is_silent {
            sink.diagnostics.report(Diagnostic::error(self.span(from, to), text));
        }
    }

    /// The next token. At the end of a directive, and at the end of the file, it is [`TokenKind::End`].
    pub(super) fn next(&mut self, sink: &mut Sink<'_>) -> PpToken {
        loop {
            let space_before = self.skip_space(sink);
            let start = self.at;
            let line_start = self.line_start;
            let Some(kind) = self.kind(sink) else { continue };
            // Behind the end of a directive, a line begins.
            self.line_start = kind == TokenKind::End;
            let token = Token { kind, span: self.span(start, self.at), space_before, line_start };
            return PpToken { token, parameter: 0, is_plain: false };
        }
    }

    /// Reads a token; `None` if it was dropped. White space is skipped.
    fn kind(&mut self, sink: &mut Sink<'_>) -> Option<TokenKind> {
        let start = self.at;
        let text = Arc::clone(&self.text);
        let text = Text(&text);
        let (first, next) = text.character(start);
        let Some(first) = first else {
            self.in_directive = false;
            return Some(TokenKind::End);
        };
        let kind = match first {
            b'\n' | b'\r' => {
                // Only in a directive: white space is skipped.
                self.in_directive = false;
                self.at = text.after_newline(start);
                let kind = TokenKind::End;
                self.line_start = true;
                return Some(kind);
            }
            b'L' => match text.character(next) {
                (Some(b'"'), after) => self.string(sink, text, start, after),
                (Some(b'\''), after) => self.character(sink, text, start, after),
                _ => self.identifier(sink, text, start),
            },
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.identifier(sink, text, start),
            b'0'..=b'9' => self.number(sink, text, start),
            b'.' if text.character(next).0.is_some_and(|digit| digit.is_ascii_digit()) => {
                self.number(sink, text, start)
            }
            b'"' => self.string(sink, text, start, next),
            b'\'' => self.character(sink, text, start, next),
            0x80.. => return self.other_alphabet(sink, text, start),
            b'\\' => match text.universal(start) {
                Some((character, _)) if names::is_start(character) => self.identifier(sink, text, start),
                _ => {
                    self.at = next;
                    TokenKind::Unknown('\\')
                }
            },
            _ => self.punctuator(text, first, next),
        };
        if text.0.get(start..self.at).is_some_and(|bytes| bytes.iter().any(|byte| matches!(byte, b'\\' | b'?'))) {
            self.report_phases(sink, text, start);
        }
        Some(kind)
    }

    /// Reports trigraphs and unusual splices in the token that was just read.
    fn report_phases(&self, sink: &mut Sink<'_>, text: Text<'_>, start: usize) {
        let mut at = start;
        while at < self.at {
            at = match (text.splice(at), text.trigraph(at)) {
                (Some(after), _) => {
                    self.report_splice(sink, at, after);
                    after
                }
                (None, Some(character)) => {
                    let message = format!("trigraph converted to '{}' character", char::from(character));
                    self.warn(sink, at, at + 3, "trigraphs", message);
                    at + 3
                }
                (None, None) => at + 1,
            };
        }
    }

    /// The rest of the line as text, comments included, without the white space around it. Its end is the end of the directive.
    pub(super) fn rest_of_line(&mut self) -> Vec<u8> {
        let text = Arc::clone(&self.text);
        let text = Text(&text);
        let mut bytes = Vec::new();
        let mut at = self.at;
        loop {
            match text.character(at) {
                (None, _) => break,
                (Some(b'\n' | b'\r'), _) => {
                    at = text.after_newline(at);
                    break;
                }
                (Some(byte), next) => {
                    bytes.push(byte);
                    at = next;
                }
            }
        }
        self.at = at;
        self.in_directive = false;
        self.line_start = true;
        bytes.trim_ascii().to_vec()
    }

    /// Skips the rest of a directive.
    pub(super) fn skip_directive(&mut self, sink: &mut Sink<'_>) {
        let was_silent = std::mem::replace(&mut self.is_silent, true);
        while self.in_directive {
            self.next(sink);
        }
        self.is_silent = was_silent;
    }

    /// The spelling of a range of bytes: splices removed, trigraphs replaced, other encodings made printable.
    pub(super) fn spelling(&self, from: usize, to: usize) -> String {
        let mut bytes = Vec::new();
        let mut at = from;
        let text = Text(&self.text);
        while at < to {
            let (Some(byte), next) = text.character(at) else { break };
            bytes.push(byte);
            at = next;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests;
