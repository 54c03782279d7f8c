//! Preprocessing numbers, character constants and string literals, as spelled.

use std::fmt::Write;

use super::names::read_name;
use super::text::Text;
use super::{Lexer, Sink};
use crate::preprocess::token::TokenKind;

impl Lexer {
    /// Reads a preprocessing number: it may be no valid number.
    pub(super) fn number(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize) -> TokenKind {
        let mut spelling = String::new();
        let mut at = start;
        loop {
            match text.character(at) {
                (Some(byte @ (b'+' | b'-')), next) if spelling.ends_with(['e', 'E', 'p', 'P']) => {
                    spelling.push(char::from(byte));
                    at = next;
                }
                (Some(byte), next) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') => {
                    spelling.push(char::from(byte));
                    at = next;
                }
                (Some(b'\\' | 0x80..), _) => {
                    let next = read_name(text, at, &mut spelling);
                    if next == at {
                        break;
                    }
                    at = next;
                }
                _ => break,
            }
        }
        self.at = at;
        TokenKind::Number(sink.names.intern(&spelling))
    }

    /// Reads a string literal whose first quote ends at `at`.
    pub(super) fn string(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize, at: usize) -> TokenKind {
        match self.quoted(sink, text, start, at, b'"') {
            Some(spelling) => TokenKind::String(sink.names.intern(&spelling)),
            None => TokenKind::Unknown('"'),
        }
    }

    /// Reads a character constant whose first quote ends at `at`.
    pub(super) fn character(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize, at: usize) -> TokenKind {
        match self.quoted(sink, text, start, at, b'\'') {
            Some(spelling) if spelling.ends_with("''") && !spelling.ends_with("\\''") => {
                self.warn(sink, start, self.at, "invalid-pp-token", "empty character constant");
                TokenKind::Unknown('\'')
            }
            Some(spelling) => TokenKind::Char(sink.names.intern(&spelling)),
            None => TokenKind::Unknown('\''),
        }
    }

    /// Reads up to the closing quote. `None` if the line ends before it.
    fn quoted(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize, at: usize, quote: u8) -> Option<String> {
        let mut bytes = Vec::new();
        if text.character(start).0 == Some(b'L') {
            bytes.push(b'L');
        }
        bytes.push(quote);
        let mut at = at;
        let mut null = None;
        let mut is_escaped = false;
        loop {
            let (byte, next) = text.character(at);
            let Some(byte) = byte.filter(|byte| !matches!(byte, b'\n' | b'\r')) else {
                // Splices before the end of the line belong to it.
                self.at = at;
                let quote = if quote == b'"' { "'\"'" } else { "'" };
                self.warn(sink, start, start + 1, "invalid-pp-token", format!("missing terminating {quote} character"));
                return None;
            };
            if byte == 0 {
                null = null.or(Some(at));
            }
            bytes.push(byte);
            at = next;
            if byte == quote && !is_escaped {
                break;
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
        self.at = at;
        if let Some(null) = null {
            let kind = if quote == b'"' { "string" } else { "char" };
            let message = format!("null character(s) preserved in {kind} literal");
            self.warn(sink, null, null + 1, "null-character", message);
        }
        Some(escaped(&bytes))
    }
}

/// A spelling as text: bytes that are not UTF-8 become octal escapes.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\{byte:03o}");
        }
    }
    text
}
