//! Operators: binary ones by precedence climbing, unary ones, casts and postfix ones.

use super::ast::{
    BinaryOp, Declarator, Expr, ExprKind, InitList, Name, Specifiers, TypeName, TypeOrExpr, TypeSpecifier, UnaryOp,
};
use super::keyword::Keyword;
use super::parser::{Parse, Parser, Tok};
use crate::preprocess::Punct;
use crate::source::Span;

/// Precedences, the loosest first.
mod level {
    pub(super) const COMMA: u8 = 1;
    pub(super) const ASSIGN: u8 = 2;
    pub(super) const CONDITIONAL: u8 = 3;
}

/// What a binary operator makes of its operands.
#[derive(Clone, Copy, Debug)]
enum Infix {
    Comma,
    Assign(Option<BinaryOp>),
    Conditional,
    Binary(BinaryOp),
}

/// A binary operator's precedence and meaning.
fn infix(punct: Punct) -> Option<(u8, Infix)> {
    use BinaryOp as B;
    let assign = |op| (level::ASSIGN, Infix::Assign(op));
    let binary = |precedence, op| (precedence, Infix::Binary(op));
    Some(match punct {
        Punct::Comma => (level::COMMA, Infix::Comma),
        Punct::Equal => assign(None),
        Punct::StarEqual => assign(Some(B::Mul)),
        Punct::SlashEqual => assign(Some(B::Div)),
        Punct::PercentEqual => assign(Some(B::Rem)),
        Punct::PlusEqual => assign(Some(B::Add)),
        Punct::MinusEqual => assign(Some(B::Sub)),
        Punct::ShiftLeftEqual => assign(Some(B::Shl)),
        Punct::ShiftRightEqual => assign(Some(B::Shr)),
        Punct::AndEqual => assign(Some(B::And)),
        Punct::CaretEqual => assign(Some(B::Xor)),
        Punct::PipeEqual => assign(Some(B::Or)),
        Punct::Question => (level::CONDITIONAL, Infix::Conditional),
        Punct::OrOr => binary(4, B::LogicalOr),
        Punct::AndAnd => binary(5, B::LogicalAnd),
        Punct::Pipe => binary(6, B::Or),
        Punct::Caret => binary(7, B::Xor),
        Punct::Ampersand => binary(8, B::And),
        Punct::EqualEqual => binary(9, B::Equal),
        Punct::BangEqual => binary(9, B::NotEqual),
        Punct::Less => binary(10, B::Less),
        Punct::Greater => binary(10, B::Greater),
        Punct::LessEqual => binary(10, B::LessEqual),
        Punct::GreaterEqual => binary(10, B::GreaterEqual),
        Punct::ShiftLeft => binary(11, B::Shl),
        Punct::ShiftRight => binary(11, B::Shr),
        Punct::Plus => binary(12, B::Add),
        Punct::Minus => binary(12, B::Sub),
        Punct::Star => binary(13, B::Mul),
        Punct::Slash => binary(13, B::Div),
        Punct::Percent => binary(13, B::Rem),
        Punct::LeftParen
        | Punct::RightParen
        | Punct::LeftBracket
        | Punct::RightBracket
        | Punct::LeftBrace
        | Punct::RightBrace
        | Punct::Dot
        | Punct::Arrow
        | Punct::Increment
        | Punct::Decrement
        | Punct::Tilde
        | Punct::Bang
        | Punct::Colon
        | Punct::Semicolon
        | Punct::Ellipsis
        | Punct::Hash
        | Punct::HashHash
        | Punct::ColonColon
        | Punct::At => return None,
    })
}

/// The prefix operators.
const PREFIX: [(Punct, UnaryOp); 8] = [
    (Punct::Plus, UnaryOp::Plus),
    (Punct::Minus, UnaryOp::Minus),
    (Punct::Tilde, UnaryOp::Not),
    (Punct::Bang, UnaryOp::LogicalNot),
    (Punct::Star, UnaryOp::Deref),
    (Punct::Ampersand, UnaryOp::AddressOf),
    (Punct::Increment, UnaryOp::PreIncrement),
    (Punct::Decrement, UnaryOp::PreDecrement),
];

/// A prefix operator's meaning.
fn prefix(punct: Punct) -> Option<UnaryOp> {
    PREFIX.iter().find(|row| row.0 == punct).map(|row| row.1)
}

/// What stands in parentheses.
#[derive(Debug)]
pub(super) enum Parenthesized {
    /// A type.
    Type(TypeName),
    /// An expression, with its parentheses.
    Expr(Expr),
}

impl From<Parenthesized> for TypeOrExpr {
    fn from(inner: Parenthesized) -> Self {
        match inner {
            Parenthesized::Type(ty) => TypeOrExpr::Type(ty),
            Parenthesized::Expr(expr) => TypeOrExpr::Expr(expr),
        }
    }
}

impl Parser<'_, '_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.operators(level::COMMA)
    }

    /// An expression without a comma operator.
    pub(super) fn assignment(&mut self) -> Parse<Expr> {
        self.operators(level::ASSIGN)
    }

    /// A constant expression: no assignment, no comma.
    pub(super) fn constant(&mut self) -> Parse<Expr> {
        self.operators(level::CONDITIONAL)
    }

    /// An expression of operators of at least this precedence.
    fn operators(&mut self, least: u8) -> Parse<Expr> {
        self.measured(|parser| {
            let left = parser.cast()?;
            parser.operators_after(left, least)
        })
    }

    /// What follows the first operand.
    fn operators_after(&mut self, mut left: Expr, least: u8) -> Parse<Expr> {
        while let Tok::Punct(punct) = self.tok {
            let Some((precedence, operator)) = infix(punct) else { break };
            if precedence < least {
                break;
            }
            let caret = self.span;
            self.advance();
            left = match operator {
                Infix::Comma => {
                    let right = self.operators(precedence + 1)?;
                    let span = left.span.to(right.span);
                    Expr { kind: ExprKind::Comma(Box::new(left), Box::new(right)), span, caret }
                }
                Infix::Binary(op) => {
                    let right = self.operators(precedence + 1)?;
                    let span = left.span.to(right.span);
                    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span, caret }
                }
                Infix::Assign(op) => {
                    let right = self.nested(|parser| parser.operators(precedence))?;
                    let span = left.span.to(right.span);
                    Expr { kind: ExprKind::Assign(op, Box::new(left), Box::new(right)), span, caret }
                }
                Infix::Conditional => self.nested(|parser| parser.conditional(left, caret))?,
            };
            self.grow()?;
        }
        Ok(left)
    }

    /// What follows the `?` of a conditional expression.
    fn conditional(&mut self, condition: Expr, caret: Span) -> Parse<Expr> {
        let then = match self.is(Punct::Colon) {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        if !self.eat(Punct::Colon) {
            if self.may_report() {
                let diagnostic = crate::diagnostics::Diagnostic::error(self.span, "expected ':'");
                self.session.diagnostics.report(diagnostic.note(caret, "to match this '?'"));
            }
            return Err(super::parser::Failed);
        }
        let other = self.operators(level::CONDITIONAL)?;
        let span = condition.span.to(other.span);
        Ok(Expr { kind: ExprKind::Conditional(Box::new(condition), then, Box::new(other)), span, caret })
    }

    /// A unary expression or a cast.
    pub(super) fn cast(&mut self) -> Parse<Expr> {
        let start = self.span;
        match self.tok {
            Tok::Punct(Punct::LeftParen) => return self.parenthesized_expression(),
            Tok::Punct(Punct::AndAnd) => {
                self.advance();
                let label = self.expect_name()?;
                return Ok(Expr { kind: ExprKind::LabelAddress(label), span: self.since(start), caret: start });
            }
            Tok::Punct(punct) => {
                if let Some(op) = prefix(punct) {
                    self.advance();
                    let operand = self.nested(Self::cast)?;
                    self.grow()?;
                    return Ok(Expr {
                        kind: ExprKind::Unary(op, Box::new(operand)),
                        span: self.since(start),
                        caret: start,
                    });
                }
            }
            Tok::Keyword(Keyword::Extension) => {
                self.advance();
                return self.nested(Self::cast);
            }
            Tok::Keyword(keyword @ (Keyword::Sizeof | Keyword::Alignof | Keyword::VecStep)) => {
                return self.type_query(keyword);
            }
            Tok::Keyword(_)
            | Tok::Name(_)
            | Tok::Number(_)
            | Tok::Char(_)
            | Tok::String(_)
            | Tok::Pragma(_)
            | Tok::Unknown
            | Tok::End => {}
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    /// What begins with `(`: a cast, a vector or compound literal, or an expression in parentheses, with what follows it.
    fn parenthesized_expression(&mut self) -> Parse<Expr> {
        let start = self.span;
        match self.parenthesized()? {
            Parenthesized::Expr(expr) => self.postfix(expr),
            Parenthesized::Type(ty) if self.is(Punct::LeftBrace) => {
                let literal = self.compound_literal(ty, start)?;
                self.postfix(literal)
            }
            Parenthesized::Type(ty) if self.is(Punct::LeftParen) => self.cast_of_parentheses(ty, start),
            Parenthesized::Type(ty) => {
                let operand = self.nested(Self::cast)?;
                self.grow()?;
                let kind = ExprKind::Cast(Box::new(ty), Box::new(operand));
                Ok(Expr { kind, span: self.since(start), caret: start })
            }
        }
    }

    /// `(type)(...)`. What follows belongs to the whole if the type is a vector type, as in `(float4)(a, b).x`, otherwise to
    /// the operand of the cast, as in `(int)(a).x`.
    fn cast_of_parentheses(&mut self, ty: TypeName, start: Span) -> Parse<Expr> {
        if self.starts_type_at(1) || self.peek() == Tok::Punct(Punct::LeftBrace) {
            let operand = self.nested(Self::cast)?;
            self.grow()?;
            let kind = ExprKind::Cast(Box::new(ty), Box::new(operand));
            return Ok(Expr { kind, span: self.since(start), caret: start });
        }
        let is_literal = self.is_vector_type(&ty.specifiers, &ty.declarator);
        let open = self.span;
        self.advance();
        let mut list = self.bracketed(Punct::RightParen, open, Self::assignments)?;
        let span = self.since(open);
        self.grow()?;
        let is_suffix = |tok| {
            matches!(
                tok,
                Tok::Punct(
                    Punct::LeftBracket
                        | Punct::LeftParen
                        | Punct::Dot
                        | Punct::Arrow
                        | Punct::Increment
                        | Punct::Decrement
                )
            )
        };
        if list.len() > 1 && (is_literal || !is_suffix(self.tok)) {
            let kind = ExprKind::CastList(Box::new(ty), list);
            return self.postfix(Expr { kind, span: self.since(start), caret: start });
        }
        let mut items = list.drain(..);
        let Some(mut inner) = items.next() else { return Ok(self.error_expr(span)) };
        for item in items {
            self.grow()?;
            let (whole, caret) = (inner.span.to(item.span), item.span);
            inner = Expr { kind: ExprKind::Comma(Box::new(inner), Box::new(item)), span: whole, caret };
        }
        let caret = inner.caret;
        self.grow()?;
        let mut operand = Expr { kind: ExprKind::Paren(Box::new(inner)), span, caret };
        if !is_literal {
            operand = self.postfix(operand)?;
        }
        let kind = ExprKind::Cast(Box::new(ty), Box::new(operand));
        let cast = Expr { kind, span: self.since(start), caret: start };
        if is_literal { self.postfix(cast) } else { Ok(cast) }
    }

    /// Whether a type is known to be a vector type.
    pub(super) fn is_vector_type(&mut self, specifiers: &Specifiers, declarator: &Declarator) -> bool {
        if !declarator.parts.is_empty() {
            return false;
        }
        match &specifiers.ty {
            TypeSpecifier::Name(name) => self.meaning(name.symbol).is_vector(),
            TypeSpecifier::Words(_) => {
                let mut attributes = specifiers.attributes.iter().chain(&declarator.attributes);
                attributes
                    .any(|attribute| matches!(self.text(attribute.name.symbol), "ext_vector_type" | "vector_size"))
            }
            TypeSpecifier::Typeof(of) => match &**of {
                TypeOrExpr::Type(ty) => self.is_vector_type(&ty.specifiers, &ty.declarator),
                TypeOrExpr::Expr(_) => false,
            },
            TypeSpecifier::Missing
            | TypeSpecifier::Record(_)
            | TypeSpecifier::Enum(_)
            | TypeSpecifier::Atomic(_)
            | TypeSpecifier::Auto(_) => false,
        }
    }

    /// `(type)`, `(expression)` or `({ ... })`.
    pub(super) fn parenthesized(&mut self) -> Parse<Parenthesized> {
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '('")?;
        // No expression begins with attributes.
        if self.starts_type() || self.is_keyword(Keyword::Attribute) {
            return Ok(Parenthesized::Type(self.bracketed(Punct::RightParen, open, Self::type_name)?));
        }
        if self.is(Punct::LeftBrace) {
            let block = self.bracketed(Punct::RightParen, open, |parser| parser.measured(Self::block))?;
            self.grow()?;
            let span = self.since(open);
            return Ok(Parenthesized::Expr(Expr { kind: ExprKind::Statements(block), span, caret: open }));
        }
        let inner = self.bracketed(Punct::RightParen, open, Self::expression)?;
        self.grow()?;
        let (span, caret) = (self.since(open), inner.caret);
        Ok(Parenthesized::Expr(Expr { kind: ExprKind::Paren(Box::new(inner)), span, caret }))
    }

    /// The braces of a compound literal.
    pub(super) fn compound_literal(&mut self, ty: TypeName, start: Span) -> Parse<Expr> {
        let list: InitList = self.measured(Self::init_list)?;
        self.grow()?;
        let kind = ExprKind::CompoundLiteral(Box::new(ty), list);
        Ok(Expr { kind, span: self.since(start), caret: start })
    }

    /// What follows a primary expression.
    pub(super) fn postfix(&mut self, mut expr: Expr) -> Parse<Expr> {
        loop {
            let at = self.span;
            let start = expr.span;
            let Tok::Punct(punct) = self.tok else { return Ok(expr) };
            #[expect(clippy::wildcard_enum_match_arm, reason = "all other punctuators are behind the expression")]
            let (kind, caret) = match punct {
                Punct::LeftBracket => {
                    self.advance();
                    let index = self.bracketed(Punct::RightBracket, at, Self::expression)?;
                    let caret = expr.caret;
                    (ExprKind::Index(Box::new(expr), Box::new(index)), caret)
                }
                Punct::LeftParen => {
                    self.advance();
                    let arguments = self.bracketed(Punct::RightParen, at, Self::arguments)?;
                    let caret = expr.caret;
                    (ExprKind::Call(Box::new(expr), arguments), caret)
                }
                Punct::Dot | Punct::Arrow => {
                    self.advance();
                    let name: Name = self.expect_name()?;
                    (ExprKind::Member(Box::new(expr), name, punct == Punct::Arrow), name.span)
                }
                Punct::Increment => {
                    self.advance();
                    (ExprKind::Unary(UnaryOp::PostIncrement, Box::new(expr)), at)
                }
                Punct::Decrement => {
                    self.advance();
                    (ExprKind::Unary(UnaryOp::PostDecrement, Box::new(expr)), at)
                }
                _ => return Ok(expr),
            };
            self.grow()?;
            expr = Expr { kind, span: self.since(start), caret };
        }
    }

    /// The arguments of a call.
    fn arguments(&mut self) -> Parse<Vec<Expr>> {
        if self.is(Punct::RightParen) { Ok(Vec::new()) } else { self.assignments() }
    }

    /// Expressions separated by commas.
    pub(super) fn assignments(&mut self) -> Parse<Vec<Expr>> {
        let mut list = vec![self.assignment()?];
        while self.eat(Punct::Comma) {
            list.push(self.assignment()?);
        }
        Ok(list)
    }
}
