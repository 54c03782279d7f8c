//! Identifiers: ASCII, `$`, and letters of all alphabets, also as universal character names.

use super::text::Text;
use super::{Lexer, Sink};
use crate::preprocess::token::TokenKind;

/// Whether a character beyond ASCII may begin an identifier.
pub(super) fn is_start(character: char) -> bool {
    !character.is_ascii() && !is_space(character) && !character.is_numeric() && is_part(character)
}

/// Whether a character beyond ASCII may be in an identifier: letters, digits and marks.
fn is_part(character: char) -> bool {
    // Marks are in no class of the standard library: the blocks of combining ones and of variants are listed.
    character.is_alphanumeric()
        || matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
        || matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character beyond ASCII is white space.
fn is_space(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// Whether a byte may be in an identifier.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl Lexer {
    /// Reads an identifier.
    pub(super) fn identifier(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize) -> TokenKind {
        let bytes = text.0.get(start..).unwrap_or_default();
        let length = bytes.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(bytes.len());
        self.at = start + length;
        if !matches!(text.byte(self.at), Some(b'\\' | b'?' | 0x80..)) {
            let name = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
            return TokenKind::Identifier(sink.names.intern(name));
        }
        let mut name = String::new();
        let end = read_name(text, start, &mut name);
        self.at = end;
        TokenKind::Identifier(sink.names.intern(&name))
    }

    /// Reads what begins with a byte beyond ASCII. `None` if it was reported and dropped, or is white space.
    pub(super) fn other_alphabet(&mut self, sink: &mut Sink<'_>, text: Text<'_>, start: usize) -> Option<TokenKind> {
        let Some((character, next)) = text.decode(start) else {
            self.at = start + 1;
            self.error(sink, start, start + 1, "source file is not valid UTF-8");
            return None;
        };
        if is_start(character) {
            return Some(self.identifier(sink, text, start));
        }
        self.at = next;
        if is_space(character) {
            self.warn(sink, start, next, "unicode-whitespace", "treating Unicode character as whitespace");
            return None;
        }
        if self.in_directive || self.is_silent {
            return Some(TokenKind::Unknown(character));
        }
        self.error(sink, start, next, format!("unexpected character <U+{:04X}>", character as u32));
        None
    }
}

/// Appends the identifier characters from a position on; the position after them.
pub(super) fn read_name(text: Text<'_>, mut at: usize, name: &mut String) -> usize {
    loop {
        match text.character(at) {
            (Some(byte), next) if is_name_byte(byte) => {
                name.push(char::from(byte));
                at = next;
            }
            (Some(b'\\'), _) => match text.universal(at) {
                Some((character, next)) if is_part(character) && !character.is_ascii() => {
                    name.push(character);
                    at = next;
                }
                _ => return at,
            },
            (Some(0x80..), next) => match text.decode(next - 1) {
                Some((character, next)) if is_part(character) => {
                    name.push(character);
                    at = next;
                }
                _ => return at,
            },
            _ => return at,
        }
    }
}
