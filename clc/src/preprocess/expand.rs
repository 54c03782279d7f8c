//! Tokens with macros expanded.

use std::rc::Rc;

use super::Preprocessor;
use super::lexer::PpToken;
use super::macros::{Entry, Macro, MacroId};
use super::predefined::{self, Predefined};
use super::stream::{Stream, TokenStream, Tokens};
use super::token::{Punct, TokenKind};
use crate::limits;
use crate::source::{Expansion, ExpansionId, Span, Symbol};

impl Preprocessor<'_, '_> {
    /// The next token after expansion of macros.
    pub(super) fn lex(&mut self) -> PpToken {
        loop {
            let token = self.raw();
            let TokenKind::Identifier(name) = token.token.kind else { return token };
            if token.is_plain {
                return token;
            }
            match self.entry(name) {
                Entry::Some(id) => {
                    if let Some(token) = self.expand(token, id) {
                        return token;
                    }
                }
                // In an argument it stays: the pragma belongs where the argument is used.
                Entry::None if name == self.known.pragma && self.argument_depth == 0 => {
                    if let Some(token) = self.pragma_operator(token) {
                        return token;
                    }
                }
                Entry::None | Entry::Unknown => return token,
            }
        }
    }

    /// What a name is: predefined macros are defined when they are first met.
    pub(super) fn entry(&mut self, name: Symbol) -> Entry {
        let entry = self.macros.entry(name);
        if entry != Entry::Unknown {
            return entry;
        }
        let text = self.session.names.text(name);
        match predefined::find(text, self.session.options) {
            None => self.macros.set(name, Entry::None),
            Some(Predefined::Dynamic(dynamic)) => self.macros.define(Macro {
                name,
                span: Span::NONE,
                parameters: None,
                is_variadic: false,
                body: Rc::new([]),
                dynamic: Some(dynamic),
                is_disabled: false,
            }),
            Some(Predefined::Text(text)) => self.define_predefined(name, &text),
        }
        self.macros.entry(name)
    }

    /// Expands a macro: either a token, or the next token is part of the expansion.
    fn expand(&mut self, mut name: PpToken, id: MacroId) -> Option<PpToken> {
        let one = self.macros.get(id);
        if one.is_disabled {
            name.is_plain = true;
            return Some(name);
        }
        if let Some(dynamic) = one.dynamic {
            return self.expand_dynamic(name, dynamic);
        }
        let body = Rc::clone(&one.body);
        let symbol = one.name;
        let is_function = one.parameters.is_some();
        let mut usage = name.token.span;
        let arguments = if is_function {
            if !self.is_call_next() {
                return Some(name);
            }
            let arguments = match self.arguments(name, id) {
                Ok(arguments) => arguments,
                // Without arguments it is not a call.
                Err(token) => return Some(token),
            };
            if arguments.end.expansion == usage.expansion && arguments.end.hi > usage.hi {
                usage.hi = arguments.end.hi;
            }
            Some(arguments)
        } else {
            None
        };
        // Behind the return for names without arguments, which would look at the body in vain each time.
        let has_paste = body.iter().any(|token| token.token.kind == TokenKind::Punct(Punct::HashHash));
        let (line_start, space_before) = (name.token.line_start, name.token.space_before);
        if body.is_empty() {
            self.line_pending |= line_start;
            self.space_pending |= space_before;
            self.count_step(usage);
            return None;
        }
        let expansion = self.add_expansion(Expansion { name: symbol, usage, is_argument: false });
        if let ([only], None, false) = (&*body, &arguments, has_paste)
            && !matches!(only.token.kind, TokenKind::Identifier(_))
        {
            let mut token = *only;
            token.token.span.expansion = expansion;
            token.token.line_start = line_start;
            token.token.space_before = space_before;
            return Some(token);
        }
        let mut stream = TokenStream {
            tokens: Tokens::Shared(body),
            at: 0,
            id: Some(id),
            expansion: Some(expansion),
            line_start,
            space_before,
            space_after: false,
            is_closed: false,
        };
        if arguments.is_some() || has_paste {
            let result = self.substitute(id, arguments.unwrap_or_default(), usage, expansion);
            stream.tokens = Tokens::Owned(result.tokens);
            stream.space_after = result.space_after;
            stream.expansion = None;
        }
        if self.streams.len() >= limits::MACRO_NESTING * 8 {
            self.stop(usage, "macros are nested too deeply");
        }
        self.macros.set_disabled(id, true);
        self.streams.push(Stream::Tokens(stream));
        None
    }

    /// The tokens of an argument, or of a pragma, after expansion of macros.
    pub(super) fn expand_all(&mut self, tokens: Vec<PpToken>) -> Vec<PpToken> {
        let Some(first) = tokens.first() else { return tokens };
        if self.argument_depth >= limits::MACRO_NESTING {
            let span = first.token.span;
            self.stop(span, format!("macro calls are nested more than {} deep", limits::MACRO_NESTING));
            return Vec::new();
        }
        self.argument_depth += 1;
        let pending = (std::mem::take(&mut self.space_pending), std::mem::take(&mut self.line_pending));
        let (line_start, space_before) = (first.token.line_start, first.token.space_before);
        self.streams.push(Stream::Tokens(TokenStream {
            tokens: Tokens::Owned(tokens),
            at: 0,
            id: None,
            expansion: None,
            line_start,
            space_before,
            space_after: false,
            is_closed: true,
        }));
        let mut result = Vec::new();
        loop {
            let token = self.lex();
            if token.token.kind == TokenKind::End {
                break;
            }
            result.push(token);
        }
        self.streams.pop();
        (self.space_pending, self.line_pending) = pending;
        self.argument_depth -= 1;
        result
    }

    /// Records an expansion.
    pub(super) fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        self.count_step(expansion.usage);
        self.session.sources.add_expansion(expansion)
    }

    /// Counts a token that expansions handled.
    pub(super) fn count_step(&mut self, span: Span) {
        self.count_steps(span, 1);
    }

    /// Counts text that `#` or `##` copies: as much as a token of usual length is one step.
    pub(super) fn count_text(&mut self, span: Span, bytes: usize) {
        self.count_steps(span, 1 + bytes / 16);
    }

    fn count_steps(&mut self, span: Span, count: usize) {
        self.steps += count;
        if self.steps >= limits::EXPANSION_STEPS {
            self.stop(span, "macros take too long to expand");
        }
    }
}
