//! Declarations: specifiers, declarators with initializers, and what ends them.

use super::ast::{
    Attribute, Declaration, Declarator, DeclaratorPart, InitDeclarator, Initializer, Specifiers, StaticAssert, Storage,
};
use super::keyword::Keyword;
use super::names::Meaning;
use super::parser::{Failed, Parse, Parser, Tok};
use super::recovery::Until;
use super::specifiers::{Place, declares_tag};
use crate::preprocess::Punct;

/// What a declaration turned out to be.
#[derive(Debug)]
pub(super) enum Declared {
    /// A declaration, with its `;`.
    Declaration(Declaration),
    /// A function whose body follows.
    Function(Specifiers, Declarator),
}

/// Whether a declarator is that of a function.
fn is_function(declarator: &Declarator) -> bool {
    matches!(declarator.parts.last(), Some(DeclaratorPart::Function(_)))
}

impl Parser<'_, '_> {
    /// A declaration with what stands before it: attributes already parsed.
    pub(super) fn declaration(&mut self, attributes: Vec<Attribute>) -> Parse<Declared> {
        let start = attributes.first().map_or(self.span, |attribute| attribute.span);
        let mut specifiers = self.specifiers(Place::Declaration)?;
        Self::prepend(attributes, &mut specifiers);
        let mut declarators = Vec::new();
        if self.eat(Punct::Semicolon) {
            return Ok(Declared::Declaration(Declaration { specifiers, declarators, span: self.since(start) }));
        }
        if declares_tag(&specifiers) && matches!(self.tok, Tok::Keyword(_)) && self.starts_declaration() {
            // `struct s { ... }` without its `;`.
            self.missing(&format!("expected ';' after {}", tag_kind(&specifiers)), ";");
            return Ok(Declared::Declaration(Declaration { specifiers, declarators, span: self.since(start) }));
        }
        let is_typedef = specifiers.storage.contains(Storage::TYPEDEF);
        loop {
            let mut declarator = self.declarator()?;
            self.skip_asm_label()?;
            self.attributes(&mut declarator.attributes)?;
            if let Some(name) = declarator.name {
                let meaning = match is_typedef {
                    false => Meaning::Ordinary,
                    true if self.is_vector_type(&specifiers, &declarator) => Meaning::VectorTypedef,
                    true => Meaning::Typedef,
                };
                self.names.declare(name.symbol, meaning);
            }
            if declarators.is_empty() && is_function(&declarator) {
                self.skip_pragmas();
                if self.is(Punct::LeftBrace) {
                    return Ok(Declared::Function(specifiers, declarator));
                }
            }
            let init = if self.eat(Punct::Equal) { Some(self.initializer_or_error()) } else { None };
            declarators.push(InitDeclarator { declarator, init });
            if !self.eat(Punct::Comma) {
                break;
            }
            self.attributes(&mut specifiers.attributes)?;
        }
        self.end_declaration(&declarators);
        Ok(Declared::Declaration(Declaration { specifiers, declarators, span: self.since(start) }))
    }

    /// The `;` of a declaration.
    fn end_declaration(&mut self, declarators: &[InitDeclarator]) {
        if self.eat(Punct::Semicolon) {
            return;
        }
        let at_file_scope = self.names.at_file_scope();
        let is_function = at_file_scope
            && matches!(declarators, [InitDeclarator { declarator, init: None }] if is_function(declarator));
        if is_function && !self.starts_declaration() && self.tok != Tok::End {
            self.error(self.span, "expected function body after function declarator");
        } else {
            let text = match at_file_scope {
                true => "expected ';' after top level declarator",
                false => "expected ';' at end of declaration",
            };
            if self.semicolon(text) {
                return;
            }
        }
        if !self.starts_declaration() && (at_file_scope || !self.starts_statement()) {
            let until = if at_file_scope { Until::Declaration } else { Until::Statement };
            self.skip(until);
        }
    }

    /// An initializer. An error in it does not concern what is declared.
    fn initializer_or_error(&mut self) -> Initializer {
        let start = self.span;
        match self.initializer() {
            Ok(init) => init,
            Err(Failed) => {
                self.skip(Until::Separator);
                Initializer::Expr(self.error_expr(self.since(start)))
            }
        }
    }

    /// `asm("name")` behind a declarator.
    fn skip_asm_label(&mut self) -> Parse<()> {
        if !self.eat_keyword(Keyword::Asm) {
            return Ok(());
        }
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '(' after 'asm'")?;
        if self.strings().is_empty() {
            return self.fail("expected string literal in 'asm'");
        }
        self.close(Punct::RightParen, open)
    }

    /// `_Static_assert(condition, "message");`
    pub(super) fn static_assert(&mut self) -> Parse<StaticAssert> {
        let start = self.span;
        self.advance();
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '(' after '_Static_assert'")?;
        let (condition, message) = self.bracketed(Punct::RightParen, open, |parser| {
            let condition = parser.constant()?;
            let mut message = Vec::new();
            if parser.eat(Punct::Comma) {
                message = parser.strings();
                if message.is_empty() {
                    return parser.fail("expected string literal for diagnostic message in static_assert");
                }
            }
            Ok((condition, message))
        })?;
        let span = self.since(start);
        self.semicolon("expected ';' after '_Static_assert'");
        Ok(StaticAssert { condition, message, span })
    }
}

fn tag_kind(specifiers: &Specifiers) -> &'static str {
    use super::ast::TypeSpecifier as T;
    match &specifiers.ty {
        T::Record(record) if record.is_union => "union",
        T::Enum(_) => "enum",
        T::Record(_) | T::Missing | T::Words(_) | T::Name(_) | T::Typeof(_) | T::Atomic(_) | T::Auto(_) => "struct",
    }
}
