//! `#if` and the like.

use super::Preprocessor;
use super::lexer::{PpToken, Sink};
use super::macros::Entry;
use super::stream::Stream;
use super::token::TokenKind;
use crate::diagnostics::Diagnostic;
use crate::source::Span;

/// An open `#if`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditional {
    /// Where it is.
    pub span: Span,
    /// Whether one of its groups was taken.
    was_taken: bool,
    /// Whether there was an `#else`.
    has_else: bool,
}

impl Preprocessor<'_, '_> {
    /// A conditional directive, in a group that is read.
    pub(super) fn conditional(&mut self, directive: &str, word: PpToken) {
        match directive {
            "if" | "ifdef" | "ifndef" => {
                let is_taken = self.condition(directive);
                self.push(Conditional { span: word.token.span, was_taken: is_taken, has_else: false });
                if !is_taken {
                    self.skip_groups();
                }
            }
            "endif" => {
                self.end_directive("endif");
                if self.file_mut().is_none_or(|file| file.conditionals.pop().is_none()) {
                    self.session.diagnostics.error(word.token.span, "#endif without #if");
                }
            }
            _ => {
                // The end of the group that was taken.
                let Some(open) = self.file_mut().and_then(|file| file.conditionals.last().copied()) else {
                    self.skip_directive();
                    let text = format!("#{directive} without #if");
                    return self.session.diagnostics.error(word.token.span, text);
                };
                if directive == "else" {
                    self.end_directive("else");
                } else {
                    self.warn_extension(directive, word);
                    self.skip_directive();
                }
                self.check_order(open, directive, word);
                self.skip_groups();
            }
        }
    }

    fn push(&mut self, conditional: Conditional) {
        if let Some(file) = self.file_mut() {
            file.conditionals.push(conditional);
        }
    }

    /// `#elifdef` is of C23.
    fn warn_extension(&mut self, directive: &str, word: PpToken) {
        if directive != "elif" {
            let text = format!("use of a '#{directive}' directive is a C23 extension");
            self.session.diagnostics.warning(word.token.span, "c23-extensions", text);
        }
    }

    /// Reports `#else` or `#elif` after `#else`.
    fn check_order(&mut self, open: Conditional, directive: &str, word: PpToken) {
        if open.has_else {
            let text = format!("#{directive} after #else");
            self.session.diagnostics.error(word.token.span, text);
        } else if directive == "else"
            && let Some(open) = self.file_mut().and_then(|file| file.conditionals.last_mut())
        {
            open.has_else = true;
        }
    }

    /// Evaluates the condition of `#if`, `#ifdef` and `#ifndef`, or of the same behind `el`.
    fn condition(&mut self, directive: &str) -> bool {
        if matches!(directive, "if" | "elif") {
            let value = self.expression();
            self.skip_directive();
            return value.unwrap_or(false);
        }
        let Some(name) = self.macro_name() else {
            self.skip_directive();
            return false;
        };
        self.end_directive(directive);
        let TokenKind::Identifier(name) = name.token.kind else { return false };
        let is_defined = matches!(self.entry(name), Entry::Some(_));
        is_defined != matches!(directive, "ifndef" | "elifndef")
    }

    /// Skips excluded groups of the innermost open `#if`, up to a group that is taken, or to its end.
    fn skip_groups(&mut self) {
        let mut depth = 0_usize;
        loop {
            let Some((word, name)) = self.next_skipped_directive() else { return };
            match &*name {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" => {
                    self.end_directive("endif");
                    if let Some(file) = self.file_mut() {
                        file.conditionals.pop();
                    }
                    return;
                }
                "else" | "elif" | "elifdef" | "elifndef" if depth == 0 => {
                    let Some(open) = self.file_mut().and_then(|file| file.conditionals.last().copied()) else { return };
                    let is_taken = match &*name {
                        "else" => {
                            if !open.was_taken {
                                self.end_directive("else");
                            }
                            !open.was_taken
                        }
                        _ => {
                            self.warn_extension(&name, word);
                            !open.was_taken && !open.has_else && self.condition(&name)
                        }
                    };
                    self.skip_directive();
                    self.check_order(open, &name, word);
                    if is_taken {
                        if let Some(open) = self.file_mut().and_then(|file| file.conditionals.last_mut()) {
                            open.was_taken = true;
                        }
                        return;
                    }
                }
                _ => {}
            }
            self.skip_directive();
        }
    }

    /// The next directive of an excluded group: its name, and the name's text. `None` at the end of the file.
    fn next_skipped_directive(&mut self) -> Option<(PpToken, String)> {
        let Some(Stream::File(file)) = self.streams.last_mut() else { return None };
        let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
        let lexer = &mut file.lexer;
        if !lexer.next_directive(&mut sink) {
            return None;
        }
        lexer.in_directive = true;
        lexer.line_start = false;
        let was_silent = std::mem::replace(&mut lexer.is_silent, true);
        let word = lexer.next(&mut sink);
        lexer.is_silent = was_silent;
        let name = word.token.kind.identifier().map_or("", |name| self.session.names.text(name));
        Some((word, name.to_owned()))
    }

    /// Skips to the end of a directive that ought to be there.
    pub(super) fn end_directive(&mut self, directive: &str) {
        let is_over = |stream: &Stream| matches!(stream, Stream::File(file) if !file.lexer.in_directive);
        if self.streams.last().is_none_or(is_over) {
            return;
        }
        let token = self.raw();
        if token.token.kind == TokenKind::End {
            return;
        }
        let text = format!("extra tokens at end of #{directive} directive");
        let begin = Span { hi: token.token.span.lo, ..token.token.span };
        let warning = Diagnostic::warning(token.token.span, "extra-tokens", text).fix(begin, "//");
        self.session.diagnostics.report(warning);
        self.skip_directive();
    }
}
