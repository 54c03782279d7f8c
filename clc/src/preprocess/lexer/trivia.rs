//! White space and comments.

use std::sync::Arc;

use super::text::Text;
use super::{Lexer, Sink};

impl Lexer {
    /// Skips white space and comments. Whether there was white space since the beginning of the line. In a directive, it stops
    /// before the newline that ends it.
    pub(in crate::preprocess) fn skip_space(&mut self, sink: &mut Sink<'_>) -> bool {
        let mut space = false;
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\t' | 0x0b | 0x0c) => {
                    self.at += 1;
                    space = true;
                }
                Some(b'\n' | b'\r') => {
                    if self.in_directive {
                        return space;
                    }
                    self.at += 1;
                    self.line_start = true;
                    space = false;
                }
                Some(0) => {
                    self.warn(sink, self.at, self.at + 1, "null-character", "null character ignored");
                    self.at += 1;
                    space = true;
                }
                Some(b'/') => {
                    if !self.skip_comment(sink) {
                        return space;
                    }
                    space = true;
                }
                Some(b'\\' | b'?') => {
                    let Some(after) = Text(&self.text).splice(self.at) else { return space };
                    self.report_splice(sink, self.at, after);
                    self.at = after;
                    space = true;
                }
                Some(_) | None => return space,
            }
        }
    }

    /// Reports white space within a splice.
    pub(super) fn report_splice(&self, sink: &mut Sink<'_>, at: usize, after: usize) {
        let bytes = self.text.get(at..after).unwrap_or_default();
        if bytes.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
            let message = "backslash and newline separated by space";
            self.warn(sink, at, at + 1, "backslash-newline-escape", message);
        }
    }

    /// Skips a comment if there is one.
    fn skip_comment(&mut self, sink: &mut Sink<'_>) -> bool {
        match Text(&self.text).character(self.at + 1) {
            (Some(b'/'), after) => {
                self.at = end_of_line(Text(&self.text), after);
                true
            }
            (Some(b'*'), after) => {
                self.skip_block_comment(sink, after);
                true
            }
            _ => false,
        }
    }

    /// Skips a block comment whose first two characters end at `body`.
    fn skip_block_comment(&mut self, sink: &mut Sink<'_>, body: usize) {
        let text = Arc::clone(&self.text);
        let mut at = body;
        while let Some(found) = find(&text, at, |byte| byte == b'/') {
            if found > body && ends_with_star(&text[body..found]) {
                self.at = found + 1;
                return;
            }
            let is_nested = text.get(found + 1) == Some(&b'*') && text.get(found + 2) != Some(&b'/');
            if is_nested {
                self.warn(sink, found, found + 2, "comment", "'/*' within block comment");
            }
            at = found + 1;
        }
        self.error(sink, self.at, body, "unterminated /* comment");
        self.at = text.len();
    }
}

/// The first byte from a position for which a condition holds.
fn find(text: &[u8], from: usize, condition: impl Fn(u8) -> bool) -> Option<usize> {
    text.get(from..)?.iter().position(|byte| condition(*byte)).map(|at| from + at)
}

/// Whether the last character is a star, splices aside.
fn ends_with_star(mut text: &[u8]) -> bool {
    loop {
        match text {
            [.., b'*'] => return true,
            // One newline, and the white space that may precede it in a splice.
            [before @ .., b'\r', b'\n'] | [before @ .., b'\n' | b'\r'] => {
                let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c);
                let end = before.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
                text = match &before[..end] {
                    [rest @ .., b'\\'] => rest,
                    [rest @ .., b'?', b'?', b'/'] => rest,
                    _ => return false,
                };
            }
            _ => return false,
        }
    }
}

/// The newline that ends the line, splices aside.
pub(super) fn end_of_line(text: Text<'_>, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = find(text.0, at, |byte| matches!(byte, b'\n' | b'\r')) {
        // A splice begins before the white space that precedes the newline.
        let before = text.0.get(from..found).unwrap_or_default();
        let cut =
            before.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)).map_or(0, |last| last + 1);
        let is_spliced = before[..cut].ends_with(b"\\") || before[..cut].ends_with(b"??/");
        if !is_spliced {
            return found;
        }
        at = text.after_newline(found);
    }
    text.0.len()
}
