//! `#define` and `#undef`.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::Preprocessor;
use super::lexer::PpToken;
use super::macros::{Entry, Macro};
use super::token::{Punct, TokenKind};
use crate::diagnostics::Diagnostic;
use crate::source::{Span, Symbol};

/// The names of a macro's parameters. There may be tens of thousands.
type Parameters = IndexSet<Symbol, FxBuildHasher>;

/// The error for a token that is not a name where a macro's name is wanted.
pub(super) fn not_a_macro_name(kind: TokenKind) -> &'static str {
    if kind == TokenKind::End { "macro name missing" } else { "macro name must be an identifier" }
}

impl Preprocessor<'_, '_> {
    /// `#define`
    pub(super) fn define_directive(&mut self) {
        let Some(name) = self.macro_name() else { return self.skip_directive() };
        let Some(one) = self.definition(name) else { return self.skip_directive() };
        match self.entry(one.name) {
            Entry::Some(id) => {
                let old = self.macros.get(id);
                if old.dynamic.is_some() {
                    self.session.diagnostics.warning(one.span, "builtin-macro-redefined", "redefining builtin macro");
                } else if !old.is_same(&one) {
                    let text = format!("'{}' macro redefined", self.session.names.text(one.name));
                    let mut warning = Diagnostic::warning(one.span, "macro-redefined", text);
                    if old.span != Span::NONE {
                        warning = warning.note(old.span, "previous definition is here");
                    }
                    self.session.diagnostics.report(warning);
                }
            }
            Entry::None | Entry::Unknown => {}
        }
        self.macros.define(one);
    }

    /// `#undef`
    pub(super) fn undef_directive(&mut self) {
        let Some(name) = self.macro_name() else { return self.skip_directive() };
        let TokenKind::Identifier(symbol) = name.token.kind else { return self.skip_directive() };
        self.end_directive("undef");
        if let Entry::Some(id) = self.entry(symbol)
            && self.macros.get(id).dynamic.is_some()
        {
            self.session.diagnostics.warning(name.token.span, "builtin-macro-redefined", "undefining builtin macro");
        }
        self.macros.set(symbol, Entry::None);
    }

    /// The name that a directive wants.
    pub(super) fn macro_name(&mut self) -> Option<PpToken> {
        let name = self.raw();
        let text = match name.token.kind.identifier() {
            Some(symbol) if symbol == self.known.defined => "'defined' cannot be used as a macro name",
            Some(_) => return Some(name),
            None => not_a_macro_name(name.token.kind),
        };
        self.session.diagnostics.error(name.token.span, text);
        None
    }

    /// What stands behind the name in `#define`.
    fn definition(&mut self, name: PpToken) -> Option<Macro> {
        let TokenKind::Identifier(symbol) = name.token.kind else { return None };
        let mut first = self.raw();
        let mut parameters = None;
        let mut is_variadic = false;
        if first.token.kind == TokenKind::Punct(Punct::LeftParen) && !first.token.space_before {
            let names = self.parameters(&mut is_variadic)?;
            parameters = Some(names);
            first = self.raw();
        } else if first.token.kind != TokenKind::End && !first.token.space_before {
            let text = "ISO C99 requires whitespace after the macro name";
            self.session.diagnostics.warning(first.token.span, "c99-extensions", text);
        }
        let mut body = Vec::new();
        let mut token = first;
        while token.token.kind != TokenKind::End {
            if let (TokenKind::Identifier(name), Some(names)) = (token.token.kind, &parameters) {
                let number = names.get_index_of(&name);
                token.parameter = number.and_then(|number| u16::try_from(number + 1).ok()).unwrap_or(0);
            }
            token.token.line_start = false;
            body.push(token);
            token = self.raw();
        }
        if let Some(first) = body.first_mut() {
            first.token.space_before = false;
        }
        self.join_paste_spans(&mut body);
        let one = Macro {
            name: symbol,
            span: name.token.span,
            parameters: parameters.map(|names: Parameters| names.into_iter().collect()),
            is_variadic,
            body: Rc::from(body),
            dynamic: None,
            is_disabled: false,
        };
        self.check_body(&one, token.token.span).then_some(one)
    }

    /// The place of `##` becomes that of the whole paste, which is what its result is reported at.
    fn join_paste_spans(&self, body: &mut [PpToken]) {
        for index in 1..body.len().saturating_sub(1) {
            if body[index].token.kind == TokenKind::Punct(Punct::HashHash) {
                let (left, right) = (body[index - 1].token.span, body[index + 1].token.span);
                body[index].token.span.lo = left.lo;
                body[index].token.span.hi = right.hi;
            }
        }
    }

    /// Reads a parameter list behind its parenthesis.
    fn parameters(&mut self, is_variadic: &mut bool) -> Option<Parameters> {
        let mut names = Parameters::default();
        loop {
            let token = self.raw();
            let error = match token.token.kind {
                TokenKind::Punct(Punct::RightParen) if names.is_empty() => return Some(names),
                TokenKind::Punct(Punct::RightParen) => "expected identifier in macro parameter list",
                TokenKind::Punct(Punct::Ellipsis) if names.insert(self.known.va_args) => {
                    return self.last_parameter(is_variadic, names);
                }
                TokenKind::Punct(Punct::Ellipsis) => return self.duplicate_parameter(self.known.va_args, token),
                TokenKind::End => "missing ')' in macro parameter list",
                TokenKind::Identifier(name) if names.insert(name) => "",
                TokenKind::Identifier(name) => return self.duplicate_parameter(name, token),
                TokenKind::Number(_)
                | TokenKind::Char(_)
                | TokenKind::String(_)
                | TokenKind::Punct(_)
                | TokenKind::Pragma(_)
                | TokenKind::Unknown(_) => "invalid token in macro parameter list",
            };
            if !error.is_empty() {
                self.session.diagnostics.error(token.token.span, error);
                return None;
            }
            let token = self.raw();
            let kind = token.token.kind;
            if kind == TokenKind::Punct(Punct::RightParen) {
                return Some(names);
            }
            // GNU's named variable arguments.
            if kind == TokenKind::Punct(Punct::Ellipsis) {
                return self.last_parameter(is_variadic, names);
            }
            if kind != TokenKind::Punct(Punct::Comma) {
                let is_end = kind == TokenKind::End;
                let missing = if is_end { "missing ')'" } else { "expected comma" };
                self.session.diagnostics.error(token.token.span, format!("{missing} in macro parameter list"));
                return None;
            }
            if names.len() >= usize::from(u16::MAX) - 1 {
                self.session.diagnostics.error(token.token.span, "too many macro parameters");
                return None;
            }
        }
    }

    /// Reports a parameter whose name another one has.
    fn duplicate_parameter(&mut self, name: Symbol, token: PpToken) -> Option<Parameters> {
        let text = format!("duplicate macro parameter name '{}'", self.session.names.text(name));
        self.session.diagnostics.error(token.token.span, text);
        None
    }

    /// The parenthesis behind `...`.
    fn last_parameter(&mut self, is_variadic: &mut bool, names: Parameters) -> Option<Parameters> {
        *is_variadic = true;
        let token = self.raw();
        if token.token.kind == TokenKind::Punct(Punct::RightParen) {
            return Some(names);
        }
        self.session.diagnostics.error(token.token.span, "missing ')' in macro parameter list");
        None
    }

    /// Checks the operators of a body; `end` is where it ends.
    fn check_body(&mut self, one: &Macro, end: Span) -> bool {
        let is_paste = |token: &PpToken| token.token.kind == TokenKind::Punct(Punct::HashHash);
        let error = match (one.body.first(), one.body.last()) {
            (Some(first), _) if is_paste(first) => Some((first, "'##' cannot appear at start of macro expansion")),
            (_, Some(last)) if is_paste(last) => Some((last, "'##' cannot appear at end of macro expansion")),
            _ => None,
        };
        if let Some((token, text)) = error {
            self.session.diagnostics.error(token.token.span, text);
            return false;
        }
        if one.parameters.is_none() {
            return true;
        }
        let is_optional =
            |token: &PpToken| one.is_variadic && token.token.kind == TokenKind::Identifier(self.known.va_opt);
        for (index, token) in one.body.iter().enumerate() {
            let next = one.body.get(index + 1);
            if token.token.kind == TokenKind::Punct(Punct::Hash)
                && !next.is_some_and(|next| next.parameter != 0 || is_optional(next))
            {
                let span = next.map_or(end, |next| next.token.span);
                self.session.diagnostics.error(span, "'#' is not followed by a macro parameter");
                return false;
            }
        }
        if one.is_variadic && one.mentions(self.known.va_opt) { self.check_optional(one) } else { true }
    }

    /// Checks each `__VA_OPT__`: parentheses, no nesting, no `##` at its edges.
    fn check_optional(&mut self, one: &Macro) -> bool {
        let mut open: Option<(Span, usize, usize)> = None;
        let mut error = None;
        let mut index = 0;
        while let Some(token) = one.body.get(index) {
            let is = |punct| token.token.kind == TokenKind::Punct(punct);
            let span = token.token.span;
            if token.token.kind == TokenKind::Identifier(self.known.va_opt) {
                let parenthesis = one.body.get(index + 1);
                if open.is_some() {
                    error = Some((span, "__VA_OPT__ cannot be nested within its own replacement tokens"));
                    break;
                }
                if parenthesis.is_none_or(|token| token.token.kind != TokenKind::Punct(Punct::LeftParen)) {
                    error = Some((span, "missing '(' following __VA_OPT__"));
                    break;
                }
                open = Some((span, 0, index + 2));
                index += 2;
                continue;
            }
            if let Some((_, depth, start)) = &mut open {
                if is(Punct::HashHash) && index == *start {
                    error = Some((span, "'##' cannot appear at start of __VA_OPT__ argument"));
                    break;
                }
                if is(Punct::LeftParen) {
                    *depth += 1;
                } else if is(Punct::RightParen) && *depth > 0 {
                    *depth -= 1;
                } else if is(Punct::RightParen) {
                    let last = one.body.get(index - 1);
                    if index > *start && last.is_some_and(|last| last.token.kind == TokenKind::Punct(Punct::HashHash)) {
                        error = Some((span, "'##' cannot appear at end of __VA_OPT__ argument"));
                        break;
                    }
                    open = None;
                }
            }
            index += 1;
        }
        if let (None, Some((span, ..))) = (error, open) {
            error = Some((span, "unterminated __VA_OPT__"));
        }
        if let Some((span, text)) = error {
            self.session.diagnostics.error(span, text);
        }
        error.is_none()
    }

    /// Defines a predefined macro from what would stand behind `#define`. Its tokens are in no file.
    pub(super) fn define_predefined(&mut self, name: Symbol, text: &str) {
        let tokens = self.lex_text(text, Span::NONE, usize::MAX);
        let mut tokens = tokens.into_iter().skip(1).peekable();
        let mut parameters = None;
        let is_open =
            |token: &PpToken| token.token.kind == TokenKind::Punct(Punct::LeftParen) && !token.token.space_before;
        if tokens.peek().is_some_and(is_open) {
            let names = tokens.by_ref().take_while(|token| token.token.kind != TokenKind::Punct(Punct::RightParen));
            let names = names.filter_map(|token| token.token.kind.identifier());
            parameters = Some(names.collect::<Rc<[Symbol]>>());
        }
        let numbered = tokens.map(|mut token| {
            if let (TokenKind::Identifier(name), Some(names)) = (token.token.kind, &parameters) {
                token.parameter = names.iter().position(|other| *other == name).map_or(0, |number| number as u16 + 1);
            }
            token.token.line_start = false;
            token
        });
        let body = numbered.collect();
        self.macros.define(Macro {
            name,
            span: Span::NONE,
            parameters,
            is_variadic: false,
            body,
            dynamic: None,
            is_disabled: false,
        });
    }
}
