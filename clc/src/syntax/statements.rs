//! Statements.

use super::ast::{Attribute, Block, Expr, Name, Stmt, StmtKind};
use super::declarations::Declared;
use super::keyword::Keyword;
use super::parser::{Failed, Parse, Parser, Tok};
use super::recovery::Until;
use crate::limits;
use crate::preprocess::Punct;
use crate::source::Span;

/// What stands before the statement of a label or case.
#[derive(Debug)]
enum Prefix {
    Case(Expr, Option<Expr>),
    Default,
    Label(Name),
}

impl Parser<'_, '_> {
    /// `{ ... }`, a scope.
    pub(super) fn block(&mut self) -> Parse<Block> {
        self.names.open();
        let result = self.block_items();
        self.names.close();
        result
    }

    fn block_items(&mut self) -> Parse<Block> {
        let open = self.span;
        self.expect(Punct::LeftBrace, "expected '{'")?;
        let mut items = Vec::new();
        while !self.is(Punct::RightBrace) && self.tok != Tok::End {
            if self.is_stopped() {
                return Err(Failed);
            }
            let position = self.position();
            match self.item_of_block() {
                Ok(Some(stmt)) => items.push(stmt),
                Ok(None) => {}
                Err(Failed) => self.skip(Until::Statement),
            }
            if self.position() == position && !self.is(Punct::RightBrace) {
                self.advance();
            }
        }
        self.close(Punct::RightBrace, open)?;
        Ok(Block { items, span: self.since(open) })
    }

    /// A statement or a declaration. `None` for what was only reported.
    fn item_of_block(&mut self) -> Parse<Option<Stmt>> {
        let start = self.span;
        if let Some(pragma) = self.pragma() {
            self.advance();
            return Ok(Some(Stmt { kind: StmtKind::Pragma(pragma), span: start }));
        }
        if self.is_label() {
            return self.labelled(true).map(Some);
        }
        let mut attributes = Vec::new();
        while self.at_attributes() || self.is_extension_of_declaration() {
            if !self.eat_keyword(Keyword::Extension) {
                self.attributes(&mut attributes)?;
            }
        }
        if self.starts_declaration() || self.starts_unknown_type() {
            return self.declaration_statement(attributes, start);
        }
        if self.is_keyword(Keyword::StaticAssert) {
            let kind = StmtKind::StaticAssert(self.static_assert()?);
            return Ok(Some(Stmt { kind, span: self.since(start) }));
        }
        let stmt = self.nested(Self::statement)?;
        Ok(Some(self.attributed(attributes, stmt, start)))
    }

    /// Whether `__extension__` stands before a declaration.
    fn is_extension_of_declaration(&mut self) -> bool {
        self.is_keyword(Keyword::Extension)
            && (self.starts_type_at(1) || matches!(self.peek(), Tok::Keyword(Keyword::Typedef | Keyword::Extension)))
    }

    fn attributed(&self, attributes: Vec<Attribute>, stmt: Stmt, start: Span) -> Stmt {
        if attributes.is_empty() {
            return stmt;
        }
        Stmt { kind: StmtKind::Attributed(attributes, Box::new(stmt)), span: self.since(start) }
    }

    fn declaration_statement(&mut self, attributes: Vec<Attribute>, start: Span) -> Parse<Option<Stmt>> {
        match self.declaration(attributes)? {
            Declared::Declaration(declaration) => {
                Ok(Some(Stmt { kind: StmtKind::Declaration(declaration), span: self.since(start) }))
            }
            Declared::Function(specifiers, declarator) => {
                self.nested_function(specifiers, &declarator)?;
                Ok(None)
            }
        }
    }

    /// Whether a label begins here.
    fn is_label(&self) -> bool {
        let is_name = matches!(self.tok, Tok::Name(_));
        matches!(self.tok, Tok::Keyword(Keyword::Case | Keyword::Default))
            || is_name && self.peek() == Tok::Punct(Punct::Colon)
    }

    /// Whether a statement begins here, told by a keyword.
    pub(super) fn starts_statement(&self) -> bool {
        matches!(
            self.tok,
            Tok::Keyword(
                Keyword::If
                    | Keyword::For
                    | Keyword::While
                    | Keyword::Do
                    | Keyword::Switch
                    | Keyword::Case
                    | Keyword::Default
                    | Keyword::Return
                    | Keyword::Break
                    | Keyword::Continue
                    | Keyword::Goto
            )
        )
    }

    /// The statement that is part of another: no declaration, and in a scope of its own.
    fn substatement(&mut self) -> Parse<Stmt> {
        self.names.open();
        let result = self.nested(Self::statement);
        self.names.close();
        match result {
            Err(Failed) if !self.is_stopped() => {
                let span = self.span;
                self.skip(Until::Statement);
                Ok(Stmt { kind: StmtKind::Empty, span })
            }
            result => result,
        }
    }

    /// A statement.
    fn statement(&mut self) -> Parse<Stmt> {
        let start = self.span;
        if self.is_label() {
            return self.labelled(false);
        }
        let starts_declaration = self.starts_declaration();
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other tokens begin an expression, or nothing")]
        let kind = match self.tok {
            Tok::Pragma(_) => return self.after_pragma(),
            Tok::Punct(Punct::LeftBrace) => StmtKind::Block(self.block()?),
            Tok::Punct(Punct::Semicolon) => {
                self.advance();
                StmtKind::Empty
            }
            Tok::Keyword(Keyword::Attribute) => return self.attributed_statement(),
            Tok::Punct(Punct::LeftBracket) if self.at_attributes() => return self.attributed_statement(),
            Tok::Keyword(Keyword::If) => return self.if_statement(),
            Tok::Keyword(Keyword::While) => {
                let condition = self.condition("while")?;
                StmtKind::While(condition, Box::new(self.substatement()?))
            }
            Tok::Keyword(Keyword::Switch) => {
                let value = self.condition("switch")?;
                StmtKind::Switch(value, Box::new(self.substatement()?))
            }
            Tok::Keyword(Keyword::Do) => self.do_while()?,
            Tok::Keyword(Keyword::For) => {
                self.names.open();
                let result = self.for_statement();
                self.names.close();
                result?
            }
            Tok::Keyword(Keyword::Goto) => {
                self.advance();
                let name = self.expect_name()?;
                self.semicolon("expected ';' after goto statement");
                StmtKind::Goto(name)
            }
            Tok::Keyword(Keyword::Break) => {
                self.advance();
                self.semicolon("expected ';' after break statement");
                StmtKind::Break
            }
            Tok::Keyword(Keyword::Continue) => {
                self.advance();
                self.semicolon("expected ';' after continue statement");
                StmtKind::Continue
            }
            Tok::Keyword(Keyword::Return) => {
                self.advance();
                let value = if self.is(Punct::Semicolon) { None } else { Some(self.expression()?) };
                self.semicolon("expected ';' after return statement");
                StmtKind::Return(value)
            }
            Tok::Keyword(Keyword::Asm) => StmtKind::Asm { is_empty: self.asm()? },
            Tok::Keyword(Keyword::Else) => return self.fail("expected expression"),
            Tok::Keyword(Keyword::Extension) => StmtKind::Expr(self.expression_statement()?),
            _ if starts_declaration => return self.fail("expected expression"),
            _ => StmtKind::Expr(self.expression_statement()?),
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    fn expression_statement(&mut self) -> Parse<Expr> {
        let expr = self.expression()?;
        self.semicolon("expected ';' after expression");
        Ok(expr)
    }

    /// A pragma where one statement is expected: the two are a block.
    fn after_pragma(&mut self) -> Parse<Stmt> {
        let start = self.span;
        let mut items = Vec::new();
        while let Some(pragma) = self.pragma() {
            items.push(Stmt { kind: StmtKind::Pragma(pragma), span: self.span });
            self.advance();
        }
        items.push(self.nested(Self::statement)?);
        let span = self.since(start);
        Ok(Stmt { kind: StmtKind::Block(Block { items, span }), span })
    }

    fn attributed_statement(&mut self) -> Parse<Stmt> {
        let start = self.span;
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        let stmt = self.nested(Self::statement)?;
        Ok(self.attributed(attributes, stmt, start))
    }

    /// Labels and the statement after them. They may be many: they do not recurse.
    fn labelled(&mut self, in_block: bool) -> Parse<Stmt> {
        let mut prefixes = Vec::new();
        while self.is_label() {
            let start = self.span;
            if prefixes.len() >= limits::CHAIN as usize {
                return Err(self.stop(format!("more than {} labels before a statement", limits::CHAIN)));
            }
            prefixes.push((start, self.label()?));
        }
        let mut stmt = self.after_label(in_block)?;
        for (start, prefix) in prefixes.into_iter().rev() {
            let inner = Box::new(stmt);
            let kind = match prefix {
                Prefix::Case(first, last) => StmtKind::Case(first, last, inner),
                Prefix::Default => StmtKind::Default(inner),
                Prefix::Label(name) => StmtKind::Label(name, inner),
            };
            stmt = Stmt { kind, span: self.since(start) };
        }
        Ok(stmt)
    }

    fn label(&mut self) -> Parse<Prefix> {
        if let Some(name) = self.name() {
            self.advance();
            self.advance();
            if self.is_keyword(Keyword::Attribute) {
                self.skip_label_attributes()?;
            }
            return Ok(Prefix::Label(name));
        }
        if self.eat_keyword(Keyword::Default) {
            self.colon("expected ':' after 'default'");
            return Ok(Prefix::Default);
        }
        self.advance();
        let (first, last) = self.range()?;
        self.colon("expected ':' after 'case'");
        Ok(Prefix::Case(first, last))
    }

    /// The colon of a label; a semicolon instead is reported and taken.
    fn colon(&mut self, text: &str) {
        if !self.eat(Punct::Colon) {
            self.missing(text, ":");
            self.eat(Punct::Semicolon);
        }
    }

    /// Attributes of a label, unless they are those of a statement that follows: then the statement is a loop.
    fn skip_label_attributes(&mut self) -> Parse<()> {
        let mut ahead = 1;
        let mut depth = 0u32;
        loop {
            let tok = self.peek_at(ahead);
            if depth == 0 && matches!(tok, Tok::Keyword(Keyword::For | Keyword::While | Keyword::Do)) {
                return Ok(());
            }
            let is_inside = depth > 0 && ahead < 4096;
            if !is_inside && tok.nesting() == 0 && tok != Tok::Keyword(Keyword::Attribute) {
                return self.skip_attributes();
            }
            depth = depth.saturating_add_signed(tok.nesting());
            ahead += 1;
        }
    }

    /// What follows a label: in a block also a declaration, or its end.
    fn after_label(&mut self, in_block: bool) -> Parse<Stmt> {
        let span = self.span;
        if self.is(Punct::RightBrace) {
            return Ok(Stmt { kind: StmtKind::Empty, span: Span { hi: span.lo, ..span } });
        }
        let nothing = Stmt { kind: StmtKind::Empty, span };
        if in_block {
            if let Tok::Pragma(_) = self.tok {
                // The pragma concerns the statements after it.
                return Ok(nothing);
            }
            return Ok(self.nested(Self::item_of_block)?.unwrap_or(nothing));
        }
        self.nested(Self::statement)
    }

    /// `if (...)`, behind which a chain of `else if` does not recurse.
    fn if_statement(&mut self) -> Parse<Stmt> {
        let mut branches = Vec::new();
        let mut last = None;
        loop {
            let start = self.span;
            if branches.len() >= limits::CHAIN as usize {
                return Err(self.stop(format!("more than {} branches in a chain of 'else if'", limits::CHAIN)));
            }
            let condition = self.condition("if")?;
            let then = self.substatement()?;
            branches.push((start, condition, then));
            if !self.eat_keyword(Keyword::Else) {
                break;
            }
            if !self.is_keyword(Keyword::If) {
                last = Some(Box::new(self.substatement()?));
                break;
            }
        }
        for (start, condition, then) in branches.into_iter().rev() {
            let kind = StmtKind::If(condition, Box::new(then), last);
            last = Some(Box::new(Stmt { kind, span: self.since(start) }));
        }
        last.map(|stmt| *stmt).ok_or(Failed)
    }

    /// A keyword and the expression in parentheses behind it.
    fn condition(&mut self, keyword: &str) -> Parse<Expr> {
        self.advance();
        let open = self.span;
        if !self.is(Punct::LeftParen) {
            return self.fail(format!("expected '(' after '{keyword}'"));
        }
        self.advance();
        let start = self.span;
        let result = self.nested(Self::expression);
        let closed = match result {
            Ok(_) => self.close(Punct::RightParen, open),
            Err(Failed) => Err(Failed),
        };
        match (result, closed) {
            (Ok(expr), Ok(())) => Ok(expr),
            _ => {
                // The statement goes on if the parenthesis is found.
                self.skip(Until::Closing);
                if !self.eat(Punct::RightParen) && !self.is(Punct::LeftBrace) {
                    return Err(Failed);
                }
                Ok(self.error_expr(start))
            }
        }
    }

    fn do_while(&mut self) -> Parse<StmtKind> {
        self.advance();
        let body = self.substatement()?;
        if !self.is_keyword(Keyword::While) {
            return self.fail("expected 'while' in do/while loop");
        }
        let condition = self.condition("do/while")?;
        self.semicolon("expected ';' after do/while statement");
        Ok(StmtKind::DoWhile(Box::new(body), condition))
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.advance();
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '(' after 'for'")?;
        let header = self.nested(|parser| parser.for_header(open));
        let (init, condition, step) = match header {
            Ok(header) => header,
            Err(Failed) => {
                self.skip_for_header();
                if !self.eat(Punct::RightParen) && !self.is(Punct::LeftBrace) {
                    return Err(Failed);
                }
                let error = self.error_expr(open);
                (None, Some(error), None)
            }
        };
        let body = Box::new(self.substatement()?);
        Ok(StmtKind::For(init, condition, step, body))
    }

    /// Goes to the `)` of the header of a `for` statement.
    fn skip_for_header(&mut self) {
        self.skip(Until::Closing);
        for _ in 0..2 {
            if self.eat(Punct::Semicolon) {
                self.skip(Until::Closing);
            }
        }
    }

    #[allow(clippy::type_complexity, reason = "the three parts of the header")]
    fn for_header(&mut self, open: Span) -> Parse<(Option<Box<Stmt>>, Option<Expr>, Option<Expr>)> {
        let start = self.span;
        let mut init = None;
        let mut attributes = Vec::new();
        self.attributes(&mut attributes)?;
        if self.is_extension_of_declaration() {
            self.advance();
        }
        if self.starts_declaration() || self.starts_unknown_type() {
            let stmt = self.declaration_statement(attributes, start)?;
            init = stmt.map(Box::new);
        } else if !self.eat(Punct::Semicolon) {
            let expr = self.expression()?;
            self.for_semicolon();
            init = Some(Box::new(Stmt { kind: StmtKind::Expr(expr), span: self.since(start) }));
        }
        let mut condition = None;
        if !self.eat(Punct::Semicolon) {
            condition = Some(self.expression()?);
            self.for_semicolon();
        }
        let step = if self.is(Punct::RightParen) { None } else { Some(self.expression()?) };
        self.close(Punct::RightParen, open)?;
        Ok((init, condition, step))
    }

    fn for_semicolon(&mut self) {
        if !self.eat(Punct::Semicolon) {
            self.error(self.span, "expected ';' in 'for' statement specifier");
        }
    }

    /// `asm`, with everything up to its `;`: whether it has no instructions and writes no variable. Programs order accesses
    /// for the compiler with such a statement.
    pub(super) fn asm(&mut self) -> Parse<bool> {
        self.advance();
        while matches!(self.tok, Tok::Keyword(Keyword::Volatile | Keyword::Goto | Keyword::Inline | Keyword::Const)) {
            self.advance();
        }
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '(' after 'asm'")?;
        let template = self.strings();
        let is_blank = |text: &str| text.trim_matches('"').trim().is_empty();
        let mut is_empty = !template.is_empty() && template.iter().all(|part| is_blank(self.text(part.symbol)));
        loop {
            #[expect(clippy::wildcard_enum_match_arm, reason = "all other tokens are behind the operands")]
            match self.tok {
                // A constraint: what begins with `=` is written, and has no value without an instruction.
                Tok::String(symbol) => is_empty &= !self.text(symbol).starts_with("\"="),
                Tok::Punct(Punct::LeftParen | Punct::LeftBracket) => {
                    self.advance();
                    self.skip(Until::Closing);
                }
                Tok::Name(_) | Tok::Punct(Punct::Colon | Punct::ColonColon | Punct::Comma) => {}
                _ => break,
            }
            self.advance();
        }
        self.skip(Until::Closing);
        while self.is(Punct::RightBracket) {
            self.advance();
            self.skip(Until::Closing);
        }
        self.close(Punct::RightParen, open)?;
        self.semicolon("expected ';' after expression");
        Ok(is_empty)
    }
}
