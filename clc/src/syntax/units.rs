//! Declarations at file scope.

use super::ast::{Block, Declarator, FunctionDefinition, Item, Specifiers, Unit};
use super::declarations::Declared;
use super::keyword::Keyword;
use super::parser::{Parse, Parser, Tok};
use super::recovery::Until;
use crate::preprocess::Punct;

impl Parser<'_, '_> {
    /// The translation unit.
    pub(super) fn unit(mut self) -> Unit {
        let mut items = Vec::new();
        while self.tok != Tok::End && !self.is_stopped() {
            let position = self.position();
            match self.item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => {}
                Err(_) => {
                    self.names.close_all();
                    self.skip(Until::Declaration);
                }
            }
            if self.position() == position {
                self.advance();
            }
        }
        Unit { items }
    }

    /// One declaration; `None` for an empty one.
    fn item(&mut self) -> Parse<Option<Item>> {
        let at = self.span;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other tokens begin a declaration, or nothing")]
        match self.tok {
            Tok::Punct(Punct::Semicolon) => {
                self.advance();
                return Ok(None);
            }
            Tok::Punct(Punct::RightBrace) => {
                self.error(at, "extraneous closing brace ('}')");
                self.advance();
                return Ok(None);
            }
            Tok::Pragma(_) => {
                let pragma = self.pragma();
                self.advance();
                return Ok(pragma.map(|pragma| Item::Pragma(pragma, at)));
            }
            Tok::Keyword(Keyword::StaticAssert) => return Ok(Some(Item::StaticAssert(self.static_assert()?))),
            Tok::Keyword(Keyword::Asm) => {
                self.error(at, "file-scope assembly is not supported");
                self.asm()?;
                return Ok(None);
            }
            _ => {}
        }
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        if !attributes.is_empty() && self.eat(Punct::Semicolon) {
            return Ok(None);
        }
        Ok(match self.declaration(attributes)? {
            Declared::Declaration(declaration) => Some(Item::Declaration(declaration)),
            Declared::Function(specifiers, declarator) => {
                let body = self.function_body(&declarator)?;
                Some(Item::Function(Box::new(FunctionDefinition { specifiers, declarator, body })))
            }
        })
    }

    /// The body of a function, in the scope of its parameters.
    pub(super) fn function_body(&mut self, declarator: &Declarator) -> Parse<Block> {
        self.names.open();
        self.declare_parameters(declarator);
        let result = self.nested(Self::block);
        self.names.close();
        result
    }

    /// A function within a function, which is an error.
    pub(super) fn nested_function(&mut self, specifiers: Specifiers, declarator: &Declarator) -> Parse<()> {
        drop(specifiers);
        self.error(self.span, "function definition is not allowed here");
        self.function_body(declarator)?;
        Ok(())
    }
}
