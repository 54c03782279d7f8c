//! Tokens to text, and text to tokens.

use std::borrow::Cow;
use std::sync::Arc;

use super::Preprocessor;
use super::lexer::{Lexer, PpToken, Sink};
use super::token::{Punct, TokenKind};
use crate::source::{FileId, Span};

impl Preprocessor<'_, '_> {
    /// How a token is spelled.
    pub(super) fn spelling(&self, token: &PpToken) -> Cow<'_, str> {
        match token.token.kind {
            TokenKind::Identifier(text) | TokenKind::Number(text) | TokenKind::Char(text) | TokenKind::String(text) => {
                Cow::Borrowed(self.session.names.text(text))
            }
            TokenKind::Punct(punct) => self.digraph(punct, token.token.span).unwrap_or(Cow::Borrowed(punct.text())),
            TokenKind::Unknown(character) => {
                self.source_text(token.token.span).map_or_else(|| Cow::Owned(character.to_string()), Cow::Owned)
            }
            TokenKind::Pragma(_) | TokenKind::End => Cow::Borrowed(""),
        }
    }

    /// A punctuator's spelling if it is a digraph.
    fn digraph(&self, punct: Punct, span: Span) -> Option<Cow<'_, str>> {
        let has_other = matches!(
            punct,
            Punct::LeftBracket
                | Punct::RightBracket
                | Punct::LeftBrace
                | Punct::RightBrace
                | Punct::Hash
                | Punct::HashHash
        );
        if !has_other || span.hi.wrapping_sub(span.lo) as usize == punct.text().len() {
            return None;
        }
        let text = self.source_text(span)?;
        matches!(&*text, "<:" | ":>" | "<%" | "%>" | "%:" | "%:%:").then_some(Cow::Owned(text))
    }

    /// The text of a range of the source, without splices and trigraphs.
    fn source_text(&self, span: Span) -> Option<String> {
        let file = self.session.sources.file(self.session.sources.file_at(span.lo)?);
        let from = (span.lo - file.base) as usize;
        let to = (span.hi.checked_sub(file.base)? as usize).min(file.text.len());
        let lexer = Lexer::new(FileId(0), Arc::clone(&file.text), file.base);
        Some(lexer.spelling(from, to))
    }

    /// The only token of a text; `None` if the text is something else.
    pub(super) fn lex_one(&mut self, text: &str) -> Option<TokenKind> {
        let bytes = text.as_bytes();
        let is_name = bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if is_name {
            return Some(TokenKind::Identifier(self.session.names.intern(text)));
        }
        let tokens = self.lex_text(text, Span::NONE, 2);
        match tokens.as_slice() {
            [only] if !only.token.space_before => Some(only.token.kind),
            _ => None,
        }
    }

    /// The tokens of a text that is in no file, up to a number of them. All have the given place.
    pub(super) fn lex_text(&mut self, text: &str, span: Span, limit: usize) -> Vec<PpToken> {
        let mut lexer = Lexer::new(FileId(0), Arc::from(text.as_bytes()), 0);
        lexer.is_silent = true;
        lexer.in_directive = true;
        let mut tokens = Vec::new();
        let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
        while tokens.len() < limit {
            let mut token = lexer.next(&mut sink);
            if token.token.kind == TokenKind::End {
                break;
            }
            token.token.span = span;
            tokens.push(token);
        }
        tokens
    }

    /// `#argument`: the string literal that shows tokens.
    pub(super) fn stringify(&mut self, tokens: &[PpToken], span: Span) -> PpToken {
        let mut text = String::from("\"");
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && (token.token.space_before || token.token.line_start) {
                text.push(' ');
            }
            let before = text.len();
            let spelling = self.spelling(token);
            if matches!(token.token.kind, TokenKind::String(_) | TokenKind::Char(_)) {
                for character in spelling.chars() {
                    if matches!(character, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(character);
                }
            } else {
                text.push_str(&spelling);
            }
            self.count_text(span, text.len() - before);
            if self.is_stopped {
                break;
            }
        }
        let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if backslashes % 2 == 1 {
            let message = "invalid string literal, ignoring final '\\'";
            self.session.diagnostics.warning(span, "", message);
            text.pop();
        }
        text.push('"');
        let symbol = self.session.names.intern(&text);
        PpToken::new(TokenKind::String(symbol), span)
    }
}
