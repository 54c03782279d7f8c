//! Missing semicolons and brackets, and where parsing goes on after an error.

use super::parser::{Parse, Parser, Tok};
use crate::diagnostics::Diagnostic;
use crate::preprocess::Punct;
use crate::source::Span;

/// Where to stop skipping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Before `)`, `]`, `{`, `}` or `;`.
    Closing,
    /// Before `}` or `;`.
    Brace,
    /// After `;`, or before `}`.
    Statement,
    /// Before `,`, `;` or `}`.
    Separator,
    /// After `;`, or after a balanced `{ ... }`.
    Declaration,
}

impl Parser<'_, '_> {
    /// The place behind the token before the current one: where something is missing.
    pub(super) fn behind(&self) -> Span {
        let mut span = self.previous;
        if span.expansion != self.span.expansion {
            // The end of a macro's expansion.
            span = self.session.sources.outermost(span);
        }
        if span == Span::NONE {
            return self.span;
        }
        Span { lo: span.hi, hi: span.hi, expansion: span.expansion }
    }

    /// Reports that something is missing before the current token.
    pub(super) fn missing(&mut self, text: &str, token: &str) {
        let span = self.behind();
        if self.may_report() {
            self.session.diagnostics.report(Diagnostic::error(span, text).fix(span, token));
        }
    }

    /// Takes a `;`, or reports its absence. Whether it was there.
    pub(super) fn semicolon(&mut self, text: &str) -> bool {
        if self.eat(Punct::Semicolon) {
            return true;
        }
        let stray = self.is(Punct::RightParen) || self.is(Punct::RightBracket);
        if stray && self.peek() == Tok::Punct(Punct::Semicolon) {
            let bracket = if self.is(Punct::RightParen) { ')' } else { ']' };
            self.error(self.span, format!("extraneous '{bracket}' before ';'"));
            self.advance();
            self.advance();
            return true;
        }
        self.missing(text, ";");
        false
    }

    /// Takes a punctuator, or fails.
    pub(super) fn expect(&mut self, punct: Punct, text: &str) -> Parse<()> {
        if self.eat(punct) { Ok(()) } else { self.fail(text) }
    }

    /// Takes the bracket that closes what began at `open`, or fails.
    pub(super) fn close(&mut self, punct: Punct, open: Span) -> Parse<()> {
        if self.eat(punct) {
            return Ok(());
        }
        let opening = if punct == Punct::RightParen {
            '('
        } else if punct == Punct::RightBracket {
            '['
        } else {
            '{'
        };
        if self.may_report() {
            let text = format!("expected '{}'", punct.text());
            let diagnostic = Diagnostic::error(self.span, text).note(open, format!("to match this '{opening}'"));
            self.session.diagnostics.report(diagnostic);
        }
        Err(super::parser::Failed)
    }

    /// Parses the contents of brackets and the closing one. After an error the contents are skipped.
    pub(super) fn bracketed<T>(
        &mut self,
        closing: Punct,
        open: Span,
        parse: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<T> {
        let result = self.nested(parse).and_then(|value| self.close(closing, open).map(|()| value));
        if result.is_err() {
            self.skip(if closing == Punct::RightBrace { Until::Brace } else { Until::Closing });
            self.eat(closing);
        }
        result
    }

    /// Skips tokens, brackets with their contents.
    pub(super) fn skip(&mut self, until: Until) {
        let (mut parens, mut braces) = (0u32, 0u32);
        loop {
            let Tok::Punct(punct) = self.tok else {
                if self.tok == Tok::End {
                    return;
                }
                self.advance();
                continue;
            };
            let outside = parens == 0 && braces == 0;
            #[expect(clippy::wildcard_enum_match_arm, reason = "all other punctuators are skipped like words")]
            match punct {
                Punct::LeftParen | Punct::LeftBracket => parens += 1,
                Punct::RightParen | Punct::RightBracket => {
                    if outside && until == Until::Closing {
                        return;
                    }
                    parens = parens.saturating_sub(1);
                }
                Punct::LeftBrace if outside && until == Until::Closing => return,
                Punct::LeftBrace => braces += 1,
                Punct::RightBrace => {
                    if braces == 0 {
                        return;
                    }
                    braces -= 1;
                    parens = 0;
                    if braces == 0 && until == Until::Declaration {
                        self.advance();
                        self.eat(Punct::Semicolon);
                        return;
                    }
                }
                Punct::Semicolon if outside => {
                    if matches!(until, Until::Statement | Until::Declaration) {
                        self.advance();
                    }
                    return;
                }
                Punct::Comma if outside && until == Until::Separator => return,
                _ => {}
            }
            self.advance();
        }
    }
}
