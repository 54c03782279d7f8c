//! Attributes: `__attribute__((...))`, and `[[...]]` of C23.

use super::ast::{Attribute, AttributeArgument, Name};
use super::keyword::Keyword;
use super::parser::{Parse, Parser, Tok};
use super::recovery::Until;
use crate::preprocess::Punct;
use crate::source::Symbol;

impl Parser<'_, '_> {
    /// Whether attributes begin here.
    pub(super) fn at_attributes(&self) -> bool {
        self.is_keyword(Keyword::Attribute)
            || self.is(Punct::LeftBracket) && self.peek() == Tok::Punct(Punct::LeftBracket)
    }

    /// Attributes that may stand here, any number of lists.
    pub(super) fn attributes(&mut self, into: &mut Vec<Attribute>) -> Parse<()> {
        while self.at_attributes() {
            if self.is(Punct::LeftBracket) { self.bracket_list(into)? } else { self.attribute_list(into)? }
        }
        Ok(())
    }

    /// Attributes where they mean nothing.
    pub(super) fn skip_attributes(&mut self) -> Parse<()> {
        self.attributes(&mut Vec::new())
    }

    /// `__attribute__((name, name(arguments), ...))`
    fn attribute_list(&mut self, into: &mut Vec<Attribute>) -> Parse<()> {
        self.advance();
        let outer = self.span;
        self.expect(Punct::LeftParen, "expected '(' after 'attribute'")?;
        let inner = self.span;
        self.expect(Punct::LeftParen, "expected '(' after '('")?;
        self.bracketed(Punct::RightParen, inner, |parser| parser.items(into, Punct::RightParen))?;
        self.close(Punct::RightParen, outer)
    }

    /// `[[name, space::name(arguments), ...]]`
    fn bracket_list(&mut self, into: &mut Vec<Attribute>) -> Parse<()> {
        let outer = self.span;
        self.advance();
        let inner = self.span;
        self.advance();
        self.bracketed(Punct::RightBracket, inner, |parser| parser.items(into, Punct::RightBracket))?;
        self.close(Punct::RightBracket, outer)
    }

    fn items(&mut self, into: &mut Vec<Attribute>, end: Punct) -> Parse<()> {
        loop {
            while self.eat(Punct::Comma) {}
            if self.is(end) {
                return Ok(());
            }
            let attribute = self.nested(Self::attribute)?;
            into.push(attribute);
            if !self.is(Punct::Comma) {
                return Ok(());
            }
        }
    }

    /// The current token as the name of an attribute: any word, also a keyword.
    fn word(&self) -> Option<Symbol> {
        self.raw_kind().identifier()
    }

    fn attribute(&mut self) -> Parse<Attribute> {
        let start = self.span;
        let Some(mut symbol) = self.word() else { return self.fail("expected identifier") };
        self.advance();
        if self.eat(Punct::ColonColon) {
            let Some(second) = self.word() else { return self.fail("expected identifier") };
            self.advance();
            symbol = match self.text(symbol) {
                "clang" | "__clang__" | "_Clang" | "gnu" | "__gnu__" => second,
                space => {
                    let whole = format!("{space}::{}", self.text(second));
                    self.session.names.intern(&whole)
                }
            };
        }
        let name = Name { symbol: self.plain(symbol), span: self.since(start) };
        let mut arguments = Vec::new();
        let open = self.span;
        if self.eat(Punct::LeftParen) {
            if !self.is(Punct::RightParen) {
                loop {
                    arguments.push(if self.starts_type() {
                        AttributeArgument::Type(self.type_name()?)
                    } else {
                        AttributeArgument::Expr(self.assignment()?)
                    });
                    if !self.eat(Punct::Comma) {
                        break;
                    }
                }
            }
            if !self.is(Punct::RightParen) {
                // Attributes of other compilers have their own grammar.
                self.skip(Until::Closing);
            }
            self.close(Punct::RightParen, open)?;
        }
        Ok(Attribute { name, arguments, span: self.since(start) })
    }

    /// A name without the underscores that may surround it.
    fn plain(&mut self, symbol: Symbol) -> Symbol {
        let text = self.session.names.text(symbol);
        match text.strip_prefix("__").and_then(|text| text.strip_suffix("__")) {
            Some(plain) if !plain.is_empty() => {
                let plain = plain.to_owned();
                self.session.names.intern(&plain)
            }
            _ => symbol,
        }
    }
}
