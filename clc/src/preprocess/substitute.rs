//! A macro's body with its parameters replaced: `#`, `##`, `__VA_OPT__`, and the comma before `##__VA_ARGS__`.

use std::rc::Rc;

use super::Preprocessor;
use super::arguments::Arguments;
use super::lexer::PpToken;
use super::macros::MacroId;
use super::token::{Punct, TokenKind};
use crate::diagnostics::Diagnostic;
use crate::limits;
use crate::source::{Expansion, ExpansionId, Span, Symbol};

/// The result of a substitution.
#[derive(Debug)]
pub(super) struct Substituted {
    pub tokens: Vec<PpToken>,
    /// Whether white space follows.
    pub space_after: bool,
}

/// A `__VA_OPT__` that is being read.
#[derive(Clone, Copy, Debug)]
struct Optional {
    /// Number of tokens before it.
    start: usize,
    /// Open parentheses in it.
    depth: i32,
    /// Whether there are variable arguments.
    is_present: bool,
    /// Whether `#` precedes it, and whether white space precedes that.
    stringify: Option<(PpToken, bool)>,
    /// Whether it begins or ends with an empty argument: then it is not pasted on that side.
    begins_empty: bool,
    ends_empty: bool,
}

/// A substitution.
struct Substitution<'a> {
    body: &'a [PpToken],
    arguments: &'a Arguments,
    /// The arguments after expansion, as far as they were needed.
    expanded: Vec<Option<Vec<PpToken>>>,
    is_variadic: bool,
    parameters: usize,
    name: Symbol,
    usage: Span,
    expansion: ExpansionId,
    result: Vec<PpToken>,
    space_next: bool,
    /// The expansion of argument tokens from this expansion.
    rebased: Option<(ExpansionId, ExpansionId)>,
}

fn is(token: &PpToken, punct: Punct) -> bool {
    token.token.kind == TokenKind::Punct(punct)
}

/// Whether it is the operator, not a `##` of an argument or the result of a paste.
fn is_paste(token: Option<&PpToken>) -> bool {
    token.is_some_and(|token| is(token, Punct::HashHash) && !token.is_plain)
}

impl Preprocessor<'_, '_> {
    /// The tokens that take the place of a call.
    pub(super) fn substitute(
        &mut self,
        id: MacroId,
        arguments: Arguments,
        usage: Span,
        expansion: ExpansionId,
    ) -> Substituted {
        let one = self.macros.get(id);
        let body = Rc::clone(&one.body);
        let mut substitution = Substitution {
            body: &body,
            arguments: &arguments,
            expanded: vec![None; arguments.ranges.len()],
            is_variadic: one.is_variadic,
            parameters: one.parameters.as_ref().map_or(0, |names| names.len()),
            name: one.name,
            usage,
            expansion,
            result: Vec::with_capacity(body.len() + arguments.tokens.len()),
            space_next: false,
            rebased: None,
        };
        self.fill(&mut substitution);
        let Substitution { mut result, space_next, .. } = substitution;
        self.paste_all(&mut result);
        Substituted { tokens: result, space_after: space_next }
    }

    fn fill(&mut self, s: &mut Substitution<'_>) {
        let mut optional: Option<Optional> = None;
        let mut index = 0;
        while index < s.body.len() && !self.is_stopped {
            let token = s.body[index];
            let previous = index.checked_sub(1).and_then(|before| s.body.get(before));
            if index != 0 && !is_paste(previous) && token.token.space_before {
                s.space_next = true;
            }
            index += 1;
            if s.is_variadic && token.token.kind == TokenKind::Identifier(self.known.va_opt) && optional.is_none() {
                optional = Some(self.begin_optional(s, None));
                index += 1;
                continue;
            }
            if let Some(open) = &mut optional {
                let closes = is(&token, Punct::RightParen) && open.depth == 0;
                if closes {
                    index = self.end_optional(s, *open, index);
                    optional = None;
                    continue;
                }
                open.depth += token.token.kind.nesting();
                if !open.is_present {
                    continue;
                }
            }
            if is(&token, Punct::Hash) && s.parameters > 0 {
                let next = s.body.get(index).copied();
                index += 1;
                match next {
                    Some(next) if next.parameter != 0 => self.stringify_parameter(s, token, next),
                    Some(_) => {
                        // `#__VA_OPT__(`
                        optional = Some(self.begin_optional(s, Some(token)));
                        index += 1;
                    }
                    None => {}
                }
                continue;
            }
            if token.parameter == 0 {
                self.plain(s, token, is_paste(previous));
                continue;
            }
            let paste_before = is_paste(previous);
            let paste_after = is_paste(s.body.get(index));
            if !paste_before && !paste_after {
                self.expanded_parameter(s, token, optional.as_mut(), index);
            } else if self.pasted_parameter(s, token, optional.as_mut(), index, paste_after) {
                index += 1;
            }
        }
    }

    /// A token of the body that is not a parameter.
    fn plain(&mut self, s: &mut Substitution<'_>, mut token: PpToken, paste_before: bool) {
        let has_left = is_paste(s.result.last());
        if std::mem::take(&mut s.space_next) {
            token.token.space_before = true;
        } else if paste_before && !has_left {
            token.token.space_before = false;
        }
        token.token.span.expansion = s.expansion;
        s.result.push(token);
    }

    /// `#parameter`
    fn stringify_parameter(&mut self, s: &mut Substitution<'_>, hash: PpToken, parameter: PpToken) {
        let argument = s.arguments.get(usize::from(parameter.parameter) - 1);
        let span = Span { expansion: s.expansion, ..hash.token.span };
        let mut token = self.stringify(argument, span);
        token.token.space_before = std::mem::take(&mut s.space_next);
        s.result.push(token);
    }

    /// A parameter that is not pasted: its argument is expanded.
    fn expanded_parameter(
        &mut self,
        s: &mut Substitution<'_>,
        token: PpToken,
        optional: Option<&mut Optional>,
        next: usize,
    ) {
        let number = usize::from(token.parameter) - 1;
        let argument = s.arguments.get(number);
        if argument.iter().any(|token| matches!(token.token.kind, TokenKind::Identifier(_))) {
            let is_done = s.expanded.get(number).is_some_and(Option::is_some);
            if !is_done {
                let expanded = self.expand_all(argument.to_vec());
                if let Some(place) = s.expanded.get_mut(number) {
                    *place = Some(expanded);
                }
            }
        }
        let first = s.result.len();
        self.append(s, number, true);
        match s.result.get_mut(first) {
            Some(token) => {
                token.token.space_before = std::mem::take(&mut s.space_next);
                token.token.line_start = false;
            }
            // Nothing: what would be pasted to it is not.
            None => {
                if let Some(optional) = optional {
                    if is_paste(s.result.last()) {
                        optional.begins_empty = true;
                    } else if s.body.get(next).is_some_and(|token| is(token, Punct::RightParen)) {
                        optional.ends_empty = true;
                    }
                }
            }
        }
    }

    /// A parameter before or after `##`: its argument is taken as it is. Whether the next token, a `##`, is dropped.
    fn pasted_parameter(
        &mut self,
        s: &mut Substitution<'_>,
        token: PpToken,
        optional: Option<&mut Optional>,
        next: usize,
        paste_after: bool,
    ) -> bool {
        let number = usize::from(token.parameter) - 1;
        let has_left = is_paste(s.result.last());
        let is_last = s.is_variadic && number + 1 == s.parameters;
        if !s.arguments.get(number).is_empty() {
            let comma = s.result.len().checked_sub(2).and_then(|at| s.result.get(at));
            let keeps_comma = has_left && is_last && comma.is_some_and(|token| is(token, Punct::Comma));
            if keeps_comma {
                // `, ## __VA_ARGS__` is not a paste.
                s.result.pop();
            }
            let first = s.result.len();
            self.append(s, number, false);
            if !keeps_comma && let Some(token) = s.result.get_mut(first) {
                token.token.line_start = false;
                token.token.space_before = s.space_next;
            }
            s.space_next = false;
            return false;
        }
        if paste_after {
            return true;
        }
        let closes = s.body.get(next).is_some_and(|token| is(token, Punct::RightParen));
        match optional {
            Some(optional) if closes && !has_left => optional.ends_empty = true,
            Some(optional) if has_left && s.result.len() <= optional.start => optional.begins_empty = true,
            _ => {
                if has_left {
                    s.result.pop();
                }
            }
        }
        // With C99's rules alone, the comma stays if there is no named parameter.
        let drops_comma = s.arguments.are_varargs_missing && is_last && s.parameters > 1;
        if drops_comma && s.result.last().is_some_and(|token| is(token, Punct::Comma)) {
            s.result.pop();
            if is_paste(s.result.last()) {
                s.result.pop();
            }
            s.space_next = false;
        }
        false
    }

    /// Appends an argument.
    fn append(&mut self, s: &mut Substitution<'_>, number: usize, is_expanded: bool) {
        let length = match s.expanded.get(number) {
            Some(Some(tokens)) if is_expanded => tokens.len(),
            _ => s.arguments.get(number).len(),
        };
        for index in 0..length {
            let source = match s.expanded.get(number) {
                Some(Some(tokens)) if is_expanded => tokens.get(index),
                _ => s.arguments.get(number).get(index),
            };
            let Some(mut token) = source.copied() else { break };
            let from = token.token.span.expansion;
            token.token.span.expansion = match s.rebased {
                Some((known, to)) if known == from => to,
                _ => {
                    let usage = Span { expansion: from, ..s.usage };
                    let to = self.add_expansion(Expansion { name: s.name, usage, is_argument: true });
                    s.rebased = Some((from, to));
                    to
                }
            };
            // A `##` of an argument is not an operator.
            token.is_plain |= is(&token, Punct::HashHash);
            self.count_step(token.token.span);
            if self.is_stopped || s.result.len() >= limits::EXPANDED_TOKENS {
                return self.stop(s.usage, "macros take too long to expand");
            }
            s.result.push(token);
        }
    }

    /// `__VA_OPT__(`
    fn begin_optional(&mut self, s: &mut Substitution<'_>, hash: Option<PpToken>) -> Optional {
        let last = s.parameters.saturating_sub(1);
        let tokens = s.arguments.get(last);
        let is_present = !tokens.is_empty() && !s.arguments.are_varargs_missing && {
            let tokens = tokens.to_vec();
            !self.expand_all(tokens).is_empty()
        };
        Optional {
            start: s.result.len(),
            depth: 0,
            is_present,
            stringify: hash.map(|hash| (hash, s.space_next)),
            begins_empty: false,
            ends_empty: false,
        }
    }

    /// The end of `__VA_OPT__`: where to continue.
    fn end_optional(&mut self, s: &mut Substitution<'_>, optional: Optional, index: usize) -> usize {
        let paste_follows = is_paste(s.body.get(index));
        if let Some((hash, space)) = optional.stringify {
            let mut inner = s.result.split_off(optional.start);
            self.paste_all(&mut inner);
            let span = Span { expansion: s.expansion, ..hash.token.span };
            let mut token = self.stringify(&inner, span);
            token.token.space_before = space;
            s.space_next = false;
            s.result.push(token);
            return index;
        }
        if s.result.len() == optional.start {
            if is_paste(s.result.last()) {
                s.result.pop();
            } else if paste_follows {
                return index + 1;
            }
            return index;
        }
        if optional.begins_empty
            && let Some(before) = optional.start.checked_sub(1)
        {
            s.result.remove(before);
        }
        if optional.ends_empty && paste_follows { index + 1 } else { index }
    }

    /// Carries out all `##`.
    fn paste_all(&mut self, tokens: &mut Vec<PpToken>) {
        if !tokens.iter().any(|token| is_paste(Some(token))) {
            return;
        }
        let mut result: Vec<PpToken> = Vec::with_capacity(tokens.len());
        let mut index = 0;
        while let Some(token) = tokens.get(index).copied() {
            index += 1;
            if let (true, Some(right), Some(left)) = (is_paste(Some(&token)), tokens.get(index), result.last().copied())
            {
                if let Some(pasted) = self.paste(left, token, *right) {
                    result.pop();
                    result.push(pasted);
                    index += 1;
                }
                continue;
            }
            result.push(token);
        }
        *tokens = result;
    }

    /// Pastes two tokens; `None`, and an error, if the result is not a token.
    fn paste(&mut self, left: PpToken, operator: PpToken, right: PpToken) -> Option<PpToken> {
        if self.is_stopped {
            return None;
        }
        let mut text = self.spelling(&left).into_owned();
        text.push_str(&self.spelling(&right));
        // A chain of pastes copies, and keeps, all its beginnings.
        self.count_text(operator.token.span, text.len());
        let Some(kind) = self.lex_one(&text) else {
            let message = format!("pasting formed '{text}', an invalid preprocessing token");
            self.session.diagnostics.report(Diagnostic::error(operator.token.span, message));
            return None;
        };
        let mut token = PpToken::new(kind, operator.token.span);
        token.token.space_before = left.token.space_before;
        token.token.line_start = left.token.line_start;
        // `# ## #` is not an operator.
        token.is_plain = kind == TokenKind::Punct(Punct::HashHash);
        Some(token)
    }
}
