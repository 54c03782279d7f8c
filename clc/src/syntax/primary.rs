//! Primary expressions: names, literals, and what begins with a keyword or `^`.

use super::ast::{Declarator, Designator, Expr, ExprKind, Name, TypeName, TypeOrExpr};
use super::expressions::Parenthesized;
use super::keyword::Keyword;
use super::parser::{Parse, Parser, Tok};
use crate::preprocess::Punct;
use crate::source::Span;

/// Expressions that begin with a keyword and have parentheses with more than one operand.
#[derive(Clone, Copy, Debug)]
enum Form {
    Generic,
    Offsetof,
    TypesCompatible,
    ChooseExpr,
    Astype,
    ConvertVector,
    ShuffleVector,
    VaArg,
}

/// The keywords of these expressions.
const FORMS: [(Keyword, Form); 8] = [
    (Keyword::Generic, Form::Generic),
    (Keyword::BuiltinOffsetof, Form::Offsetof),
    (Keyword::BuiltinTypesCompatible, Form::TypesCompatible),
    (Keyword::BuiltinChooseExpr, Form::ChooseExpr),
    (Keyword::BuiltinAstype, Form::Astype),
    (Keyword::BuiltinConvertVector, Form::ConvertVector),
    (Keyword::BuiltinShuffleVector, Form::ShuffleVector),
    (Keyword::BuiltinVaArg, Form::VaArg),
];

impl Parser<'_, '_> {
    /// A primary expression.
    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let start = self.span;
        let kind = match self.tok {
            Tok::Name(symbol) => {
                if self.meaning(symbol).is_type() {
                    let text = format!("unexpected type name '{}': expected expression", self.text(symbol));
                    return self.fail(text);
                }
                self.advance();
                ExprKind::Name(symbol)
            }
            Tok::Number(symbol) => {
                self.advance();
                ExprKind::Number(symbol)
            }
            Tok::Char(symbol) => {
                self.advance();
                ExprKind::Char(symbol)
            }
            Tok::String(_) => ExprKind::String(self.strings()),
            Tok::Keyword(Keyword::FuncName) => {
                self.advance();
                ExprKind::FuncName
            }
            Tok::Keyword(keyword) => return self.keyword_expression(keyword, start),
            Tok::Punct(Punct::Caret) => return self.block_literal(start),
            Tok::Punct(_) | Tok::Pragma(_) | Tok::Unknown | Tok::End => return self.fail("expected expression"),
        };
        Ok(Expr { kind, span: start, caret: start }.ending(self.previous))
    }

    /// Adjacent string literals.
    pub(super) fn strings(&mut self) -> Vec<Name> {
        let mut strings = Vec::new();
        while let Tok::String(symbol) = self.tok {
            strings.push(Name { symbol, span: self.span });
            self.advance();
        }
        strings
    }

    /// `sizeof`, `_Alignof` or `vec_step`.
    pub(super) fn type_query(&mut self, keyword: Keyword) -> Parse<Expr> {
        let start = self.span;
        self.advance();
        let of = self.nested(|parser| parser.measured(|parser| parser.type_or_unary(keyword)))?;
        self.grow()?;
        let of = Box::new(of);
        let kind = if keyword == Keyword::Alignof {
            ExprKind::Alignof(of)
        } else if keyword == Keyword::VecStep {
            ExprKind::VecStep(of)
        } else {
            ExprKind::Sizeof(of)
        };
        Ok(Expr { kind, span: self.since(start), caret: start })
    }

    fn type_or_unary(&mut self, keyword: Keyword) -> Parse<TypeOrExpr> {
        let open = self.span;
        if !self.is(Punct::LeftParen) {
            if self.starts_type() {
                let name = keyword.text();
                return self.fail(format!("expected parentheses around type name in {name} expression"));
            }
            return Ok(TypeOrExpr::Expr(self.cast()?));
        }
        Ok(match self.parenthesized()? {
            Parenthesized::Type(ty) if self.is(Punct::LeftBrace) => {
                let literal = self.compound_literal(ty, open)?;
                TypeOrExpr::Expr(self.postfix(literal)?)
            }
            Parenthesized::Type(ty) => TypeOrExpr::Type(ty),
            Parenthesized::Expr(expr) => TypeOrExpr::Expr(self.postfix(expr)?),
        })
    }

    /// What begins with a keyword.
    fn keyword_expression(&mut self, keyword: Keyword, start: Span) -> Parse<Expr> {
        let Some((_, form)) = FORMS.iter().find(|row| row.0 == keyword) else {
            return self.fail("expected expression");
        };
        self.advance();
        let open = self.span;
        self.expect(Punct::LeftParen, "expected '('")?;
        let parse = |parser: &mut Self| parser.measured(|parser| parser.form(*form, start));
        let kind = self.bracketed(Punct::RightParen, open, parse)?;
        self.grow()?;
        Ok(Expr { kind, span: self.since(start), caret: start })
    }

    /// The contents of the parentheses.
    fn form(&mut self, form: Form, start: Span) -> Parse<ExprKind> {
        Ok(match form {
            Form::Generic => self.generic_selection()?,
            Form::Offsetof => {
                let ty = self.type_name()?;
                self.comma()?;
                let mut designators = vec![Designator::Field(self.expect_name()?)];
                loop {
                    if self.eat(Punct::Dot) {
                        designators.push(Designator::Field(self.expect_name()?));
                    } else if self.is(Punct::LeftBracket) {
                        let open = self.span;
                        self.advance();
                        let index = self.bracketed(Punct::RightBracket, open, Self::expression)?;
                        designators.push(Designator::Index(index, None));
                    } else {
                        break ExprKind::Offsetof(Box::new(ty), designators);
                    }
                }
            }
            Form::TypesCompatible => {
                let first = self.type_name()?;
                self.comma()?;
                ExprKind::TypesCompatible(Box::new(first), Box::new(self.type_name()?))
            }
            Form::ShuffleVector => ExprKind::ShuffleVector(self.assignments()?),
            Form::ChooseExpr => {
                let condition = self.first_argument()?;
                let chosen = self.first_argument()?;
                ExprKind::ChooseExpr(condition, chosen, Box::new(self.assignment()?))
            }
            Form::Astype => ExprKind::Astype(self.first_argument()?, Box::new(self.type_name()?)),
            Form::ConvertVector => ExprKind::ConvertVector(self.first_argument()?, Box::new(self.type_name()?)),
            Form::VaArg => {
                self.first_argument()?;
                self.type_name()?;
                self.error(start, "variable arguments are not supported in OpenCL");
                ExprKind::Error
            }
        })
    }

    /// An argument and the comma behind it.
    fn first_argument(&mut self) -> Parse<Box<Expr>> {
        let argument = Box::new(self.assignment()?);
        self.comma()?;
        Ok(argument)
    }

    fn comma(&mut self) -> Parse<()> {
        self.expect(Punct::Comma, "expected ','")
    }

    fn generic_selection(&mut self) -> Parse<ExprKind> {
        let control = Box::new(self.assignment()?);
        self.comma()?;
        let mut associations = Vec::new();
        let mut default: Option<Span> = None;
        loop {
            let at = self.span;
            let ty = if self.eat_keyword(Keyword::Default) {
                if let Some(first) = default.replace(at) {
                    let text = "duplicate default generic association";
                    let diagnostic = crate::diagnostics::Diagnostic::error(at, text);
                    let diagnostic = diagnostic.note(first, "previous default generic association is here");
                    self.session.diagnostics.report(diagnostic);
                }
                None
            } else {
                Some(self.type_name()?)
            };
            self.expect(Punct::Colon, "expected ':'")?;
            associations.push((ty, self.assignment()?));
            if !self.eat(Punct::Comma) {
                return Ok(ExprKind::Generic(control, associations));
            }
        }
    }

    /// A block: `^ type (parameters) { ... }`.
    fn block_literal(&mut self, start: Span) -> Parse<Expr> {
        self.advance();
        self.skip_attributes()?;
        let expr = self.nested(|parser| {
            parser.names.open();
            let result = parser.measured(|parser| parser.block_parts(start));
            parser.names.close();
            result
        })?;
        self.grow()?;
        Ok(expr)
    }

    fn block_parts(&mut self, start: Span) -> Parse<Expr> {
        let ty = if self.is(Punct::LeftBrace) {
            None
        } else {
            let specifiers = if self.is(Punct::LeftParen) { self.no_specifiers() } else { self.type_specifiers()? };
            let declarator: Declarator = self.abstract_declarator()?;
            self.declare_parameters(&declarator);
            Some(Box::new(TypeName { specifiers, declarator, span: self.since(start) }))
        };
        if !self.is(Punct::LeftBrace) {
            return self.fail("expected expression");
        }
        let body = self.block()?;
        Ok(Expr { kind: ExprKind::Block(ty, body), span: self.since(start), caret: start })
    }
}

impl Expr {
    /// The same expression, ending with another token.
    fn ending(mut self, last: Span) -> Self {
        self.span = self.span.to(last);
        self
    }
}
