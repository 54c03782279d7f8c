//! Declarators and parameters.

use super::ast::{
    ArithmeticWord, Attribute, Declarator, DeclaratorPart, Expr, FunctionPart, Parameter, Qualifiers, Specifiers,
    TypeSpecifier,
};
use super::keyword::Keyword;
use super::names::Meaning;
use super::parser::{Parse, Parser, Tok};
use super::specifiers::Place;
use crate::preprocess::Punct;
use crate::source::Span;

/// Whether a declarator has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// It has.
    Named,
    /// It has in a record; another message.
    Member,
    /// It has not.
    Abstract,
    /// It may have.
    Parameter,
}

/// What is collected of a declarator.
#[derive(Debug, Default)]
struct Collected {
    name: Option<super::ast::Name>,
    parts: Vec<DeclaratorPart>,
    attributes: Vec<Attribute>,
}

impl Parser<'_, '_> {
    /// A declarator with a name.
    pub(super) fn declarator(&mut self) -> Parse<Declarator> {
        self.any_declarator(Naming::Named)
    }

    /// The declarator of a member.
    pub(super) fn member_declarator(&mut self) -> Parse<Declarator> {
        self.any_declarator(Naming::Member)
    }

    /// A declarator without a name.
    pub(super) fn abstract_declarator(&mut self) -> Parse<Declarator> {
        self.any_declarator(Naming::Abstract)
    }

    /// A declarator without parts and name: of an unnamed bit-field.
    pub(super) fn no_declarator(&self) -> Declarator {
        let span = Span { hi: self.span.lo, ..self.span };
        Declarator { name: None, parts: Vec::new(), attributes: Vec::new(), span }
    }

    fn any_declarator(&mut self, naming: Naming) -> Parse<Declarator> {
        let start = self.span;
        let position = self.position();
        let mut collected = Collected::default();
        self.declarator_parts(naming, &mut collected)?;
        let span = if self.position() == position { Span { hi: start.lo, ..start } } else { self.since(start) };
        let Collected { name, parts, attributes } = collected;
        if parts.len() > crate::limits::NESTING as usize {
            let text = format!("declarator exceeds the maximum of {} parts", crate::limits::NESTING);
            return Err(self.stop(text));
        }
        Ok(Declarator { name, parts, attributes, span })
    }

    /// Appends the parts of a declarator in the order in which they apply.
    fn declarator_parts(&mut self, naming: Naming, collected: &mut Collected) -> Parse<()> {
        loop {
            if self.is(Punct::Star) || self.is(Punct::Caret) {
                let is_block = self.is(Punct::Caret);
                self.advance();
                let (qualifiers, attributes) = self.pointer_qualifiers()?;
                collected.parts.push(match is_block {
                    true => DeclaratorPart::BlockPointer(qualifiers),
                    false => DeclaratorPart::Pointer(qualifiers, attributes),
                });
            } else if self.at_attributes() {
                self.attributes(&mut collected.attributes)?;
            } else if !self.eat_keyword(Keyword::Extension) {
                break;
            }
        }
        let mut inner = Collected::default();
        if self.is(Punct::LeftParen) && self.is_group(naming) {
            let open = self.span;
            self.advance();
            self.bracketed(Punct::RightParen, open, |parser| parser.declarator_parts(naming, &mut inner))?;
        } else if naming != Naming::Abstract {
            inner.name = self.name();
            if inner.name.is_some() {
                self.advance();
            } else if naming != Naming::Parameter {
                let is_member = naming == Naming::Member;
                let member = "expected member name or ';' after declaration specifiers";
                return self.fail(if is_member { member } else { "expected identifier or '('" });
            }
        }
        let first = collected.parts.len();
        loop {
            let open = self.span;
            if self.at_attributes() {
                self.attributes(&mut collected.attributes)?;
            } else if self.is(Punct::LeftParen) {
                self.advance();
                let mut part = self.bracketed(Punct::RightParen, open, Self::parameters)?;
                part.span = self.since(open);
                collected.parts.push(DeclaratorPart::Function(part));
            } else if self.is(Punct::LeftBracket) {
                self.advance();
                let (size, qualifiers, is_static) = self.bracketed(Punct::RightBracket, open, Self::array)?;
                let span = self.since(open);
                collected.parts.push(DeclaratorPart::Array { size, qualifiers, is_static, span });
            } else {
                break;
            }
        }
        collected.parts[first..].reverse();
        collected.parts.append(&mut inner.parts);
        collected.attributes.append(&mut inner.attributes);
        collected.name = inner.name;
        Ok(())
    }

    /// Whether `(` begins a declarator in parentheses, and not parameters.
    fn is_group(&mut self, naming: Naming) -> bool {
        match naming {
            Naming::Named | Naming::Member => true,
            Naming::Abstract | Naming::Parameter => {
                let next = self.peek();
                if next == Tok::Keyword(Keyword::Attribute) {
                    return !self.is_attributed_type();
                }
                let begins_parameters =
                    matches!(next, Tok::Punct(Punct::RightParen | Punct::Ellipsis) | Tok::Keyword(Keyword::Register));
                !begins_parameters && !self.starts_type_at(1)
            }
        }
    }

    /// Whether, behind a `(` and attributes, a type begins.
    fn is_attributed_type(&mut self) -> bool {
        let (mut ahead, mut depth) = (2, 0u32);
        loop {
            let tok = self.peek_at(ahead);
            if tok == Tok::End {
                return false;
            }
            if depth == 0 && tok.nesting() == 0 {
                return self.starts_type_at(ahead);
            }
            depth = depth.saturating_add_signed(tok.nesting());
            ahead += 1;
        }
    }

    /// What follows a `*`.
    fn pointer_qualifiers(&mut self) -> Parse<(Qualifiers, Vec<Attribute>)> {
        let (mut qualifiers, mut attributes) = (Qualifiers::default(), Vec::new());
        loop {
            if self.at_attributes() {
                self.attributes(&mut attributes)?;
                continue;
            }
            let Tok::Keyword(keyword) = self.tok else { break };
            if !self.qualifier(keyword, &mut qualifiers) {
                break;
            }
        }
        Ok((qualifiers, attributes))
    }

    /// What follows a `[`.
    fn array(&mut self) -> Parse<(Option<Box<Expr>>, Qualifiers, bool)> {
        let mut qualifiers = Qualifiers::default();
        let mut is_static = false;
        while let Tok::Keyword(keyword) = self.tok {
            if self.eat_keyword(Keyword::Static) {
                is_static = true;
            } else if !self.qualifier(keyword, &mut qualifiers) {
                break;
            }
        }
        if self.is(Punct::Star) && self.peek() == Tok::Punct(Punct::RightBracket) {
            self.error(self.span, "variable length arrays are not supported in OpenCL");
            self.advance();
        }
        let size = if self.is(Punct::RightBracket) { None } else { Some(Box::new(self.assignment()?)) };
        Ok((size, qualifiers, is_static))
    }

    /// What follows the `(` of a function declarator.
    fn parameters(&mut self) -> Parse<FunctionPart> {
        self.names.open();
        let result = self.parameter_list();
        self.names.close();
        result
    }

    fn parameter_list(&mut self) -> Parse<FunctionPart> {
        let mut parameters = Vec::new();
        let mut is_variadic = false;
        let is_empty = self.is(Punct::RightParen);
        loop {
            if is_empty {
                break;
            }
            if self.is(Punct::Ellipsis) {
                if parameters.is_empty() {
                    self.error(self.span, "ISO C requires a named parameter before '...'");
                }
                self.advance();
                is_variadic = true;
                break;
            }
            parameters.push(self.parameter()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        if let [parameter] = &parameters[..]
            && is_void(parameter)
        {
            parameters.clear();
        }
        Ok(FunctionPart { parameters, is_variadic, is_empty, span: self.span })
    }

    fn parameter(&mut self) -> Parse<Parameter> {
        let start = self.span;
        let position = self.position();
        if matches!(self.tok, Tok::Punct(punct) if punct != Punct::LeftBracket) || self.tok == Tok::End {
            return self.fail("expected parameter declarator");
        }
        let specifiers = self.specifiers(Place::Parameter)?;
        if self.position() == position {
            return self.fail("expected parameter declarator");
        }
        let declarator = self.any_declarator(Naming::Parameter)?;
        if let Some(name) = declarator.name {
            self.names.declare(name.symbol, Meaning::Ordinary);
        }
        Ok(Parameter { specifiers, declarator, span: self.since(start) })
    }

    /// Declares the names of the parameters of a function or block in the scope of its body.
    pub(super) fn declare_parameters(&mut self, declarator: &Declarator) {
        if let Some(DeclaratorPart::Function(function)) = declarator.parts.last() {
            for name in function.parameters.iter().filter_map(|parameter| parameter.declarator.name) {
                self.names.declare(name.symbol, Meaning::Ordinary);
            }
        }
    }
}

/// Whether a parameter is the `void` of `(void)`.
fn is_void(parameter: &Parameter) -> bool {
    let Specifiers { qualifiers, ty, storage, .. } = &parameter.specifiers;
    let is_word = matches!(ty, TypeSpecifier::Words(words) if matches!(words[..], [(ArithmeticWord::Void, _)]));
    let Declarator { name, parts, .. } = &parameter.declarator;
    is_word && name.is_none() && parts.is_empty() && storage.is_empty() && *qualifiers == Qualifiers::default()
}
