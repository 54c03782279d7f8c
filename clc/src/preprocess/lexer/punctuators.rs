//! Punctuators and digraphs.

use super::Lexer;
use super::text::Text;
use crate::preprocess::token::{Punct, TokenKind};

impl Lexer {
    /// Reads the longest punctuator that begins with a character; `next` is the position after it.
    pub(super) fn punctuator(&mut self, text: Text<'_>, first: u8, next: usize) -> TokenKind {
        let (second, after) = text.character(next);
        let third = || text.character(after);
        let (punct, end) = match (first, second) {
            (b'(', _) => (Punct::LeftParen, next),
            (b')', _) => (Punct::RightParen, next),
            (b'[', _) => (Punct::LeftBracket, next),
            (b']', _) => (Punct::RightBracket, next),
            (b'{', _) => (Punct::LeftBrace, next),
            (b'}', _) => (Punct::RightBrace, next),
            (b'.', Some(b'.')) => match third() {
                (Some(b'.'), end) => (Punct::Ellipsis, end),
                _ => (Punct::Dot, next),
            },
            (b'.', _) => (Punct::Dot, next),
            (b'-', Some(b'>')) => (Punct::Arrow, after),
            (b'-', Some(b'-')) => (Punct::Decrement, after),
            (b'-', Some(b'=')) => (Punct::MinusEqual, after),
            (b'-', _) => (Punct::Minus, next),
            (b'+', Some(b'+')) => (Punct::Increment, after),
            (b'+', Some(b'=')) => (Punct::PlusEqual, after),
            (b'+', _) => (Punct::Plus, next),
            (b'&', Some(b'&')) => (Punct::AndAnd, after),
            (b'&', Some(b'=')) => (Punct::AndEqual, after),
            (b'&', _) => (Punct::Ampersand, next),
            (b'*', Some(b'=')) => (Punct::StarEqual, after),
            (b'*', _) => (Punct::Star, next),
            (b'~', _) => (Punct::Tilde, next),
            (b'!', Some(b'=')) => (Punct::BangEqual, after),
            (b'!', _) => (Punct::Bang, next),
            (b'/', Some(b'=')) => (Punct::SlashEqual, after),
            (b'/', _) => (Punct::Slash, next),
            (b'%', Some(b'=')) => (Punct::PercentEqual, after),
            (b'%', Some(b'>')) => (Punct::RightBrace, after),
            (b'%', Some(b':')) => self.percent_colon(text, after),
            (b'%', _) => (Punct::Percent, next),
            (b'<', Some(b'<')) => match third() {
                (Some(b'='), end) => (Punct::ShiftLeftEqual, end),
                _ => (Punct::ShiftLeft, after),
            },
            (b'<', Some(b'=')) => (Punct::LessEqual, after),
            (b'<', Some(b':')) => (Punct::LeftBracket, after),
            (b'<', Some(b'%')) => (Punct::LeftBrace, after),
            (b'<', _) => (Punct::Less, next),
            (b'>', Some(b'>')) => match third() {
                (Some(b'='), end) => (Punct::ShiftRightEqual, end),
                _ => (Punct::ShiftRight, after),
            },
            (b'>', Some(b'=')) => (Punct::GreaterEqual, after),
            (b'>', _) => (Punct::Greater, next),
            (b'=', Some(b'=')) => (Punct::EqualEqual, after),
            (b'=', _) => (Punct::Equal, next),
            (b'^', Some(b'=')) => (Punct::CaretEqual, after),
            (b'^', _) => (Punct::Caret, next),
            (b'|', Some(b'|')) => (Punct::OrOr, after),
            (b'|', Some(b'=')) => (Punct::PipeEqual, after),
            (b'|', _) => (Punct::Pipe, next),
            (b'?', _) => (Punct::Question, next),
            (b':', Some(b'>')) => (Punct::RightBracket, after),
            (b':', Some(b':')) => (Punct::ColonColon, after),
            (b':', _) => (Punct::Colon, next),
            (b';', _) => (Punct::Semicolon, next),
            (b',', _) => (Punct::Comma, next),
            (b'#', Some(b'#')) => (Punct::HashHash, after),
            (b'#', _) => (Punct::Hash, next),
            (b'@', _) => (Punct::At, next),
            _ => {
                self.at = next;
                return TokenKind::Unknown(char::from(first));
            }
        };
        self.at = end;
        TokenKind::Punct(punct)
    }

    /// `%:` is `#`, and `%:%:` is `##`.
    fn percent_colon(&self, text: Text<'_>, after: usize) -> (Punct, usize) {
        if let (Some(b'%'), at) = text.character(after)
            && let (Some(b':'), end) = text.character(at)
        {
            return (Punct::HashHash, end);
        }
        (Punct::Hash, after)
    }
}
