//! Arguments of function-like macros.

use std::ops::Range;

use smallvec::SmallVec;

use super::Preprocessor;
use super::lexer::PpToken;
use super::macros::{Entry, MacroId};
use super::token::{Punct, TokenKind};
use crate::diagnostics::Diagnostic;
use crate::source::Span;

/// The arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// The tokens of all of them.
    pub tokens: Vec<PpToken>,
    /// The part of each parameter.
    pub ranges: SmallVec<[Range<usize>; 8]>,
    /// Whether a variadic macro got no variable argument, not even an empty one.
    pub are_varargs_missing: bool,
    /// The closing parenthesis.
    pub end: Span,
}

impl Arguments {
    /// The tokens of a parameter, as written.
    pub(super) fn get(&self, index: usize) -> &[PpToken] {
        self.ranges.get(index).and_then(|range| self.tokens.get(range.clone())).unwrap_or_default()
    }
}

impl Preprocessor<'_, '_> {
    /// Reads the arguments of a call. If that is not possible, the token that takes the place of the call.
    pub(super) fn arguments(&mut self, name: PpToken, id: MacroId) -> Result<Arguments, PpToken> {
        self.reading_arguments += 1;
        let result = self.read_arguments(name, id);
        self.reading_arguments -= 1;
        result
    }

    fn read_arguments(&mut self, name: PpToken, id: MacroId) -> Result<Arguments, PpToken> {
        let expected = self.macros.get(id).parameters.as_ref().map_or(0, |names| names.len());
        let is_variadic = self.macros.get(id).is_variadic;
        let mut arguments = Arguments::default();
        let mut too_many = None;
        // The opening parenthesis.
        let open = self.raw();
        let mut depth = 0;
        let mut start = 0;
        loop {
            let mut token = self.raw();
            match token.token.kind {
                TokenKind::End => {
                    self.report_call(name.token.span, id, "unterminated function-like macro invocation");
                    return Err(token);
                }
                TokenKind::Punct(Punct::RightParen) if depth == 0 => {
                    arguments.end = token.token.span;
                    let nothing = arguments.ranges.is_empty() && arguments.tokens.len() == start;
                    if nothing {
                        break;
                    }
                    if arguments.ranges.len() == expected {
                        too_many = too_many
                            .or(arguments.tokens.get(start).map(|token| token.token.span))
                            .or(Some(open.token.span));
                    }
                    arguments.ranges.push(start..arguments.tokens.len());
                    break;
                }
                TokenKind::Punct(Punct::Comma)
                    if depth == 0 && !(is_variadic && arguments.ranges.len() + 1 >= expected) =>
                {
                    if arguments.ranges.len() == expected && too_many.is_none() {
                        too_many = Some(arguments.tokens.get(start).map_or(token.token.span, |token| token.token.span));
                    }
                    arguments.ranges.push(start..arguments.tokens.len());
                    start = arguments.tokens.len();
                    continue;
                }
                TokenKind::Punct(_) => depth += token.token.kind.nesting(),
                // To read arguments can leave the macro that a name stands for, which enables it: the name stays what it is.
                TokenKind::Identifier(name) if !token.is_plain => {
                    if let Entry::Some(id) = self.macros.entry(name) {
                        token.is_plain = self.macros.get(id).is_disabled;
                    }
                }
                TokenKind::Identifier(_)
                | TokenKind::Number(_)
                | TokenKind::Char(_)
                | TokenKind::String(_)
                | TokenKind::Pragma(_)
                | TokenKind::Unknown(_) => {}
            }
            arguments.tokens.push(token);
        }
        if let Some(span) = too_many {
            self.report_call(span, id, "too many arguments provided to function-like macro invocation");
            return Err(name);
        }
        self.complete(name, id, arguments, expected, is_variadic)
    }

    /// Adds arguments that may be missing.
    fn complete(
        &mut self,
        name: PpToken,
        id: MacroId,
        mut arguments: Arguments,
        expected: usize,
        is_variadic: bool,
    ) -> Result<Arguments, PpToken> {
        let given = arguments.ranges.len();
        if given >= expected {
            return Ok(arguments);
        }
        if given == 0 && expected == 1 {
            // `f()` has one argument, which is empty.
            arguments.are_varargs_missing = is_variadic;
        } else if is_variadic && (given + 1 == expected || (given == 0 && expected == 2)) {
            arguments.are_varargs_missing = true;
        } else {
            let end = arguments.end;
            self.report_call(end, id, "too few arguments provided to function-like macro invocation");
            return Err(name);
        }
        let end = arguments.tokens.len();
        arguments.ranges.resize(expected, end..end);
        Ok(arguments)
    }

    /// Reports an error of a call, and where the macro is defined.
    fn report_call(&mut self, span: Span, id: MacroId, text: &str) {
        let one = self.macros.get(id);
        let mut diagnostic = Diagnostic::error(span, text);
        if one.span != Span::NONE {
            let name = self.session.names.text(one.name);
            diagnostic = diagnostic.note(one.span, format!("macro '{name}' defined here"));
        }
        self.session.diagnostics.report(diagnostic);
    }
}
