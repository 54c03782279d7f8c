//! `struct`, `union` and `enum`.

use super::ast::{Declarator, EnumSpecifier, Expr, Member, Name, RecordSpecifier};
use super::keyword::Keyword;
use super::names::Meaning;
use super::parser::{Parse, Parser, Tok};
use super::recovery::Until;
use super::specifiers::Place;
use crate::diagnostics::{Diagnostic, Level};
use crate::preprocess::Punct;

impl Parser<'_, '_> {
    /// A record, from its keyword.
    pub(super) fn record(&mut self) -> Parse<RecordSpecifier> {
        let start = self.span;
        let is_union = self.is_keyword(Keyword::Union);
        let keyword = if is_union { "union" } else { "struct" };
        self.advance();
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let name = self.tag(keyword);
        self.attributes(&mut attributes)?;
        let pack = self.pack;
        let mut members = None;
        if self.is(Punct::LeftBrace) {
            members = Some(self.members()?);
            if self.is_keyword(Keyword::Attribute) {
                self.attributes(&mut attributes)?;
            }
        } else if name.is_none() {
            return self.fail("expected identifier or '{'");
        }
        Ok(RecordSpecifier { is_union, name, members, attributes, pack, span: self.since(start) })
    }

    /// A tag, if there is one.
    fn tag(&mut self, keyword: &'static str) -> Option<Name> {
        let name = self.name()?;
        self.advance();
        self.names.declare_tag(name.symbol, keyword);
        Some(name)
    }

    fn members(&mut self) -> Parse<Vec<Member>> {
        let open = self.span;
        self.advance();
        let mut members = Vec::new();
        loop {
            self.skip_pragmas();
            while self.eat(Punct::Semicolon) || self.eat_keyword(Keyword::Extension) {
                self.skip_pragmas();
            }
            if self.is(Punct::RightBrace) || self.tok == Tok::End {
                break;
            }
            let position = self.position();
            let result = if self.is_keyword(Keyword::StaticAssert) {
                self.static_assert().map(Member::StaticAssert)
            } else {
                self.member()
            };
            match result {
                Ok(member) => members.push(member),
                Err(_) => self.skip(Until::Statement),
            }
            if self.position() == position {
                self.advance();
            }
        }
        self.close(Punct::RightBrace, open)?;
        Ok(members)
    }

    fn member(&mut self) -> Parse<Member> {
        let position = self.position();
        let specifiers = self.specifiers(Place::Member)?;
        if self.position() == position {
            return self.fail("expected a type");
        }
        let mut declarators = Vec::new();
        if !self.is(Punct::Semicolon) && !self.is(Punct::RightBrace) {
            loop {
                declarators.push(self.member_with_width()?);
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        if self.is(Punct::RightBrace) {
            let span = self.behind();
            let warning = Diagnostic::error(span, "expected ';' at end of declaration list").fix(span, ";");
            self.session.diagnostics.report(Diagnostic { level: Level::Warning, ..warning });
        } else if !self.eat(Punct::Semicolon) {
            self.missing("expected ';' at end of declaration list", ";");
            if !self.starts_declaration() {
                self.skip(Until::Statement);
            }
        }
        Ok(Member::Fields { specifiers, declarators })
    }

    /// A declarator, or a bit-field with or without one.
    fn member_with_width(&mut self) -> Parse<(Declarator, Option<Expr>)> {
        let mut declarator = if self.is(Punct::Colon) { self.no_declarator() } else { self.member_declarator()? };
        let width = if self.eat(Punct::Colon) { Some(self.constant()?) } else { None };
        self.attributes(&mut declarator.attributes)?;
        Ok((declarator, width))
    }

    /// An enumeration, from its keyword.
    pub(super) fn enumeration(&mut self) -> Parse<EnumSpecifier> {
        let start = self.span;
        self.advance();
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let name = self.tag("enum");
        self.attributes(&mut attributes)?;
        let mut constants = None;
        if self.is(Punct::LeftBrace) {
            let open = self.span;
            self.advance();
            constants = Some(self.bracketed(Punct::RightBrace, open, Self::constants)?);
            if self.is_keyword(Keyword::Attribute) {
                self.attributes(&mut attributes)?;
            }
        } else if name.is_none() {
            return self.fail("expected identifier or '{'");
        }
        Ok(EnumSpecifier { name, constants, attributes, span: self.since(start) })
    }

    fn constants(&mut self) -> Parse<Vec<(Name, Option<Expr>)>> {
        let mut constants = Vec::new();
        if self.is(Punct::RightBrace) {
            self.error(self.span, "use of empty enum");
        }
        while !self.is(Punct::RightBrace) {
            let name = self.expect_name()?;
            self.skip_attributes()?;
            let value = if self.eat(Punct::Equal) { Some(self.constant()?) } else { None };
            self.names.declare(name.symbol, Meaning::Ordinary);
            constants.push((name, value));
            if let Tok::Name(_) = self.tok {
                self.missing("missing ',' between enumerators", ", ");
            } else if !self.eat(Punct::Comma) {
                break;
            }
        }
        Ok(constants)
    }
}
