//! Initializers.

use super::ast::{Designator, Expr, InitItem, InitList, Initializer, Name};
use super::parser::{Parse, Parser, Tok};
use crate::preprocess::Punct;

impl Parser<'_, '_> {
    /// What follows `=`.
    pub(super) fn initializer(&mut self) -> Parse<Initializer> {
        if self.is(Punct::LeftBrace) {
            return Ok(Initializer::List(self.init_list()?));
        }
        Ok(Initializer::Expr(self.assignment()?))
    }

    /// `{ ... }`
    pub(super) fn init_list(&mut self) -> Parse<InitList> {
        let open = self.span;
        self.expect(Punct::LeftBrace, "expected '{'")?;
        let items = self.bracketed(Punct::RightBrace, open, |parser| {
            let mut items = Vec::new();
            while !parser.is(Punct::RightBrace) {
                parser.skip_pragmas();
                let designators = parser.designators()?;
                items.push(InitItem { designators, value: parser.initializer()? });
                if !parser.eat(Punct::Comma) {
                    break;
                }
            }
            parser.skip_pragmas();
            Ok(items)
        })?;
        Ok(InitList { items, span: self.since(open) })
    }

    /// The designators of an item, with `=`, or none.
    fn designators(&mut self) -> Parse<Vec<Designator>> {
        let mut designators = Vec::new();
        if let (Some(name), Tok::Punct(Punct::Colon)) = (self.name(), self.peek()) {
            // GNU C's `name: value`.
            self.advance();
            self.advance();
            return Ok(vec![Designator::Field(name)]);
        }
        loop {
            if self.eat(Punct::Dot) {
                let Some(symbol) = self.name() else {
                    return self.fail("expected a field designator, such as '.field = 4'");
                };
                self.advance();
                designators.push(Designator::Field(Name { ..symbol }));
            } else if self.is(Punct::LeftBracket) {
                let open = self.span;
                self.advance();
                let (first, last) = self.bracketed(Punct::RightBracket, open, Self::range)?;
                designators.push(Designator::Index(first, last));
            } else {
                break;
            }
            if designators.len() > crate::limits::NESTING as usize {
                let text = format!("designator exceeds the maximum of {} parts", crate::limits::NESTING);
                return Err(self.stop(text));
            }
        }
        // GNU C allows to leave the `=` out after one index.
        let is_index = matches!(designators[..], [Designator::Index(..)]);
        if !designators.is_empty() && !self.eat(Punct::Equal) && !is_index {
            return self.fail("expected '=' or another designator");
        }
        Ok(designators)
    }

    /// A constant expression, or a range of GNU C.
    pub(super) fn range(&mut self) -> Parse<(Expr, Option<Expr>)> {
        let first = self.constant()?;
        let last = if self.eat(Punct::Ellipsis) { Some(self.constant()?) } else { None };
        Ok((first, last))
    }
}
