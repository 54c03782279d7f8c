//! Directives: which one it is, and the small ones.

use std::sync::Arc;

use super::Preprocessor;
use super::files::Origin;
use super::lexer::PpToken;
use super::stream::Stream;
use super::token::TokenKind;
use crate::diagnostics::Diagnostic;
use crate::source::Span;

/// Names of directives that are suggested for others.
const SUGGESTED: &[&str] = &["if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"];

impl Preprocessor<'_, '_> {
    /// Executes a directive whose `#` was read. A pragma can be a token.
    pub(super) fn directive(&mut self, hash: PpToken) -> Option<PpToken> {
        self.space_pending = false;
        self.line_pending = false;
        let Some(Stream::File(file)) = self.streams.last_mut() else { return None };
        file.lexer.in_directive = true;
        let word = self.raw();
        if word.token.kind == TokenKind::End {
            return None;
        }
        if matches!(word.token.kind, TokenKind::Number(_)) {
            self.line_marker(word);
            return None;
        }
        let name = word.token.kind.identifier().map_or("", |name| self.session.names.text(name)).to_owned();
        match &*name {
            "if" | "ifdef" | "ifndef" | "elif" | "elifdef" | "elifndef" | "else" | "endif" => {
                self.conditional(&name, word);
            }
            "define" => self.define_directive(),
            "undef" => self.undef_directive(),
            "include" | "include_next" | "import" => self.include_directive(&name, hash, word),
            "line" => self.line_directive(),
            "error" | "warning" => self.message(&name, word),
            "pragma" => return self.pragma_directive(hash, word),
            "ident" | "sccs" => self.ident_directive(&name),
            _ => self.invalid(word, &name),
        }
        None
    }

    /// An unknown directive.
    fn invalid(&mut self, word: PpToken, name: &str) {
        self.skip_directive();
        let mut text = "invalid preprocessing directive".to_owned();
        let mut error = Diagnostic::error(word.token.span, "");
        if let Some(near) = nearest(name) {
            text.push_str(&format!(", did you mean '#{near}'?"));
            error = error.fix(word.token.span, near);
        }
        error.text = text;
        self.session.diagnostics.report(error);
    }

    /// `#error` and `#warning`
    fn message(&mut self, name: &str, word: PpToken) {
        let Some(Stream::File(file)) = self.streams.last_mut() else { return };
        let text = String::from_utf8_lossy(&file.lexer.rest_of_line()).into_owned();
        if name == "error" {
            self.session.diagnostics.error(word.token.span, text);
        } else {
            self.session.diagnostics.warning(word.token.span, "#warnings", text);
        }
    }

    /// `#ident "text"`
    fn ident_directive(&mut self, name: &str) {
        let token = self.raw();
        if matches!(token.token.kind, TokenKind::String(_)) {
            self.end_directive(name);
        } else {
            self.session.diagnostics.error(token.token.span, "invalid #ident directive");
            self.skip_directive();
        }
    }

    /// `#line 12 "file"`
    fn line_directive(&mut self) {
        let number = self.lex();
        let Some(line) = self.line_number(number, false) else { return self.skip_directive() };
        self.line_name(line, false);
    }

    /// `# 12 "file" 1 3`
    fn line_marker(&mut self, number: PpToken) {
        let Some(line) = self.line_number(number, true) else { return self.skip_directive() };
        self.line_name(line, true);
    }

    /// The number of a `#line` directive or of a line marker.
    fn line_number(&mut self, token: PpToken, is_marker: bool) -> Option<u32> {
        let span = token.token.span;
        let TokenKind::Number(text) = token.token.kind else {
            self.session.diagnostics.error(span, "#line directive requires a positive integer argument");
            return None;
        };
        let text = self.session.names.text(text);
        let what = if is_marker { "GNU line marker" } else { "#line" };
        if let Some(bad) = text.bytes().position(|digit| !digit.is_ascii_digit()) {
            let span = within(span, text, bad);
            self.session.diagnostics.error(span, format!("{what} directive requires a simple digit sequence"));
            return None;
        }
        let is_octal = text.len() > 1 && text.starts_with('0');
        let line = text.bytes().fold(0_u32, |line, digit| line.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
        if is_octal {
            let text = format!("{what} directive interprets number as decimal, not octal");
            self.session.diagnostics.warning(span, "", text);
        }
        Some(line)
    }

    /// The name that may follow a line's number.
    fn line_name(&mut self, line: u32, is_marker: bool) {
        let token = if is_marker { self.raw() } else { self.lex() };
        let mut name = None;
        if let TokenKind::String(text) = token.token.kind {
            let text = self.session.names.text(text);
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
            name = Some(Arc::from(unescaped(text)));
            if is_marker {
                self.skip_directive();
            } else {
                self.end_directive("line");
            }
        } else if token.token.kind != TokenKind::End {
            let what = if is_marker { "line marker" } else { "#line" };
            let text = format!("invalid filename for {what} directive");
            self.session.diagnostics.error(token.token.span, text);
            return self.skip_directive();
        }
        let Some(file) = self.file() else { return };
        let (id, at) = (file.lexer.file, file.lexer.at as u32);
        self.session.sources.add_line_directive(id, at, line, name);
    }

    /// Where the topmost file is from.
    pub(super) fn origin(&self) -> Option<Origin> {
        self.file().map(|file| file.origin.clone())
    }
}

/// The place of a byte of a token that is spelled as its text.
pub(super) fn within(span: Span, text: &str, at: usize) -> Span {
    let is_plain = span.hi.wrapping_sub(span.lo) as usize == text.len() && at < text.len();
    if is_plain { Span { lo: span.lo + at as u32, ..span } } else { span }
}

/// The text of a string literal without its escapes.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            _ => plain.push(character),
        }
    }
    plain
}

/// The directive that a name resembles.
fn nearest(name: &str) -> Option<&'static str> {
    let limit = name.len().div_ceil(3);
    let distances = SUGGESTED.iter().map(|other| (distance(name, other), *other));
    distances
        .filter(|(distance, _)| *distance <= limit && *distance > 0)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Number of letters to insert, remove or replace between two short words.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 32 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let cost = usize::from(x != y);
            let best = (row[j] + 1).min(row[j + 1] + 1).min(diagonal + cost);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}
