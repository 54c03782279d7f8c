//! Groups of lines that a condition excludes: only comments, literals and directives are looked for.

use std::sync::Arc;

use super::text::Text;
use super::trivia::end_of_line;
use super::{Lexer, Sink};

impl Lexer {
    /// Goes to the next line that begins with `#`, behind that character; whether there is one. Excluded text need not consist of
    /// tokens, so nothing is reported.
    pub(in crate::preprocess) fn next_directive(&mut self, sink: &mut Sink<'_>) -> bool {
        let was_silent = std::mem::replace(&mut self.is_silent, true);
        self.in_directive = false;
        let found = self.find_directive(sink);
        self.is_silent = was_silent;
        found
    }

    fn find_directive(&mut self, sink: &mut Sink<'_>) -> bool {
        let text = Arc::clone(&self.text);
        let text = Text(&text);
        loop {
            self.skip_space(sink);
            let (character, next) = text.character(self.at);
            match character {
                None => return false,
                Some(b'#') if self.line_start => {
                    self.at = next;
                    return true;
                }
                Some(b'%') if self.line_start && text.character(next).0 == Some(b':') => {
                    self.at = text.character(next).1;
                    return true;
                }
                Some(_) => {}
            }
            self.line_start = false;
            self.skip_text(text);
        }
    }

    /// Skips up to the end of the line or to what may be a comment.
    fn skip_text(&mut self, text: Text<'_>) {
        let mut at = self.at;
        loop {
            match text.byte(at) {
                None | Some(b'\n' | b'\r') => break,
                // A comment, unless it is the first character: then it is none.
                Some(b'/') if at > self.at => break,
                Some(quote @ (b'"' | b'\'')) => at = skip_quoted(text, at + 1, quote),
                Some(b'\\' | b'?') => at = text.splice(at).unwrap_or(at + 1),
                Some(_) => at += 1,
            }
        }
        self.at = at;
    }
}

/// The position after a literal, or the end of the line.
fn skip_quoted(text: Text<'_>, from: usize, quote: u8) -> usize {
    let mut at = from;
    loop {
        match text.character(at) {
            (None, _) => return text.0.len(),
            (Some(b'\n' | b'\r'), _) => return end_of_line(text, at),
            (Some(b'\\'), next) => {
                at = match text.character(next) {
                    (Some(b'\n' | b'\r') | None, _) => next,
                    (Some(_), after) => after,
                };
            }
            (Some(byte), next) => {
                at = next;
                if byte == quote {
                    return at;
                }
            }
        }
    }
}
