//! Tokens as text, as `-E` shows them.

use std::fmt::Write;

use super::{Pragma, Preprocessed, Session, Token, TokenKind};
use crate::source::Symbol;

/// Lines that are written as empty lines instead of a line marker.
const BLANK_LINES: u32 = 8;

/// Where the text is.
struct Printer<'a> {
    session: &'a Session<'a>,
    out: String,
    /// File and line of the next text.
    file: Option<std::sync::Arc<str>>,
    line: u32,
    /// Whether nothing is on the line yet.
    is_empty: bool,
    line_markers: bool,
    /// The token before.
    previous: Option<Token>,
}

/// The text of preprocessed tokens: lines as in the source, with markers (`# 12 "file"`) where lines or files are left out.
pub fn print(session: &Session<'_>, input: &Preprocessed, line_markers: bool) -> Vec<u8> {
    let mut printer =
        Printer { session, out: String::new(), file: None, line: 1, is_empty: true, line_markers, previous: None };
    for token in &input.tokens {
        if token.kind == TokenKind::End {
            break;
        }
        let is_pragma = matches!(token.kind, TokenKind::Pragma(_));
        if token.line_start || is_pragma || printer.file.is_none() {
            printer.go_to(token);
        }
        if let TokenKind::Pragma(index) = token.kind {
            if let Some(pragma) = input.pragmas.get(index as usize) {
                printer.pragma(pragma);
            }
            continue;
        }
        printer.token(token);
    }
    printer.new_line();
    printer.out.into_bytes()
}

impl Printer<'_> {
    fn new_line(&mut self) {
        if !self.is_empty {
            self.out.push('\n');
            self.line += 1;
            self.is_empty = true;
        }
        self.previous = None;
    }

    /// Begins the line of a token.
    fn go_to(&mut self, token: &Token) {
        self.new_line();
        let span = self.session.sources.outermost(token.span);
        let Some(location) = self.session.sources.location(span) else { return };
        let is_same = self.file.as_ref() == Some(&location.file);
        if is_same && location.line >= self.line && (!self.line_markers || location.line - self.line <= BLANK_LINES) {
            if self.line_markers {
                self.out.extend(std::iter::repeat_n('\n', (location.line - self.line) as usize));
            }
        } else if self.line_markers && !(is_same && location.line == self.line) {
            let name = location.file.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(self.out, "# {} \"{name}\"", location.line);
        }
        self.line = location.line;
        self.file = Some(location.file);
        if location.column > 1 && self.line_markers {
            self.out.extend(std::iter::repeat_n(' ', location.column.min(40) as usize - 1));
        }
    }

    fn token(&mut self, token: &Token) {
        let text = self.spelling(token);
        if !self.is_empty && (token.space_before || self.would_join(token, &text)) {
            self.out.push(' ');
        }
        self.out.push_str(&text);
        self.is_empty = false;
        self.previous = Some(*token);
    }

    fn spelling(&self, token: &Token) -> String {
        match token.kind {
            TokenKind::Identifier(text) | TokenKind::Number(text) | TokenKind::Char(text) | TokenKind::String(text) => {
                self.name(text).to_owned()
            }
            TokenKind::Punct(punct) => punct.text().to_owned(),
            TokenKind::Unknown(character) => self.unknown(token).unwrap_or_else(|| character.to_string()),
            TokenKind::Pragma(_) | TokenKind::End => String::new(),
        }
    }

    /// The source's text of what is not a token.
    fn unknown(&self, token: &Token) -> Option<String> {
        let file = self.session.sources.file(self.session.sources.file_at(token.span.lo)?);
        let from = (token.span.lo - file.base) as usize;
        let to = token.span.hi.checked_sub(file.base)? as usize;
        Some(String::from_utf8_lossy(file.text.get(from..to)?).into_owned())
    }

    fn name(&self, symbol: Symbol) -> &str {
        self.session.names.text(symbol)
    }

    /// Whether two tokens without space between them would be read as something else.
    fn would_join(&self, token: &Token, text: &str) -> bool {
        let Some(previous) = self.previous else { return false };
        // Neighbours in the source are as they were written.
        if previous.span.hi == token.span.lo && previous.span.expansion == token.span.expansion {
            return false;
        }
        let last = self.out.bytes().next_back().unwrap_or(b' ');
        let first = text.bytes().next().unwrap_or(b' ');
        let is_word =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'"' | b'\'') || byte >= 0x80;
        let is_number = matches!(previous.kind, TokenKind::Number(_));
        (is_word(last) && is_word(first))
            || (is_number && matches!(first, b'.' | b'+' | b'-'))
            || (last == b'.' && (first == b'.' || first.is_ascii_digit()))
            || (last == first && !matches!(first, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b'?' | b'~'))
            || (first == b'='
                && matches!(last, b'<' | b'>' | b'=' | b'!' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^'))
            || matches!(
                (last, first),
                (b'-', b'>') | (b'/', b'*') | (b'<', b':' | b'%') | (b'%', b':' | b'>') | (b':', b'>')
            )
    }

    fn pragma(&mut self, pragma: &Pragma) {
        let text = match pragma {
            Pragma::Unroll(None) => "unroll".to_owned(),
            Pragma::Unroll(Some(1)) => "nounroll".to_owned(),
            Pragma::Unroll(Some(count)) => format!("unroll {count}"),
            Pragma::FpContract(value) => {
                let value = value.map_or("DEFAULT", |on| if on { "ON" } else { "OFF" });
                format!("OPENCL FP_CONTRACT {value}")
            }
            Pragma::Extension(name, is_enabled) => {
                let behavior = if *is_enabled { "enable" } else { "disable" };
                format!("OPENCL EXTENSION {} : {behavior}", self.name(*name))
            }
            Pragma::Pack(None) => "pack()".to_owned(),
            Pragma::Pack(Some(bytes)) => format!("pack({bytes})"),
        };
        let _ = write!(self.out, "#pragma {text}");
        self.is_empty = false;
        self.new_line();
    }
}
