//! Conditions of `#if`: integers of 64 bits, signed or unsigned.

use super::Preprocessor;
use super::define::not_a_macro_name;
use super::directives::within;
use super::lexer::PpToken;
use super::macros::Entry;
use super::token::{Punct, TokenKind};
use crate::diagnostics::Diagnostic;
use crate::limits;
use crate::source::Span;

/// A value and the text that it is from.
#[derive(Clone, Copy, Debug)]
struct Value {
    bits: u64,
    is_unsigned: bool,
    span: Span,
}

impl Value {
    fn signed(self) -> i64 {
        self.bits as i64
    }

    fn is_negative(self) -> bool {
        !self.is_unsigned && self.signed() < 0
    }
}

/// The state of an evaluation: a token of lookahead, and the nesting of brackets.
struct Evaluation {
    next: PpToken,
    depth: usize,
}

/// An error was reported.
struct Reported;

/// The binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
    Comma,
}

/// What may follow an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Infix {
    Binary(Operator),
    Question,
    /// Ends an operand of another operator, or what is in parentheses.
    Closing,
}

/// The punctuators that may follow an operand, with their precedence.
const INFIX: [(Punct, Infix, u32); 22] = [
    (Punct::Percent, Infix::Binary(Operator::Rem), 14),
    (Punct::Slash, Infix::Binary(Operator::Div), 14),
    (Punct::Star, Infix::Binary(Operator::Mul), 14),
    (Punct::Plus, Infix::Binary(Operator::Add), 13),
    (Punct::Minus, Infix::Binary(Operator::Sub), 13),
    (Punct::ShiftLeft, Infix::Binary(Operator::Shl), 12),
    (Punct::ShiftRight, Infix::Binary(Operator::Shr), 12),
    (Punct::LessEqual, Infix::Binary(Operator::LessEqual), 11),
    (Punct::Less, Infix::Binary(Operator::Less), 11),
    (Punct::GreaterEqual, Infix::Binary(Operator::GreaterEqual), 11),
    (Punct::Greater, Infix::Binary(Operator::Greater), 11),
    (Punct::BangEqual, Infix::Binary(Operator::NotEqual), 10),
    (Punct::EqualEqual, Infix::Binary(Operator::Equal), 10),
    (Punct::Ampersand, Infix::Binary(Operator::And), 9),
    (Punct::Caret, Infix::Binary(Operator::Xor), 8),
    (Punct::Pipe, Infix::Binary(Operator::Or), 7),
    (Punct::AndAnd, Infix::Binary(Operator::LogicalAnd), 6),
    (Punct::OrOr, Infix::Binary(Operator::LogicalOr), 5),
    (Punct::Question, Infix::Question, 4),
    (Punct::Comma, Infix::Binary(Operator::Comma), 3),
    (Punct::Colon, Infix::Closing, 2),
    (Punct::RightParen, Infix::Closing, 1),
];

/// What a token that follows an operand means, and its precedence; `None` for tokens that may not.
fn infix(kind: TokenKind) -> Option<(Infix, u32)> {
    let TokenKind::Punct(punct) = kind else { return None };
    INFIX.iter().find(|row| row.0 == punct).map(|row| (row.1, row.2))
}

impl Preprocessor<'_, '_> {
    /// Evaluates the condition up to the end of the directive; `None` after an error.
    pub(super) fn expression(&mut self) -> Option<bool> {
        let next = self.lex();
        let mut evaluation = Evaluation { next, depth: 0 };
        if next.token.kind == TokenKind::End {
            self.session.diagnostics.error(next.token.span, "expected value in expression");
            return None;
        }
        let left = self.value(&mut evaluation, true).ok()?;
        let value = self.binary(&mut evaluation, left, 3, true).ok()?;
        let end = evaluation.next;
        if end.token.kind != TokenKind::End {
            let text = "expected end of line in preprocessor expression";
            self.session.diagnostics.error(end.token.span, text);
            return None;
        }
        Some(value.bits != 0)
    }

    fn fail<T>(&mut self, span: Span, text: impl Into<String>) -> Result<T, Reported> {
        self.session.diagnostics.error(span, text);
        Err(Reported)
    }

    /// Reads a value: a primary with its prefix operators. `is_live` is whether it is evaluated at all.
    fn value(&mut self, e: &mut Evaluation, is_live: bool) -> Result<Value, Reported> {
        if e.depth >= limits::MACRO_NESTING {
            let text = format!("bracket nesting level exceeded maximum of {}", limits::MACRO_NESTING);
            return self.fail(e.next.token.span, text);
        }
        let token = e.next;
        let span = token.token.span;
        let make = |bits: u64| Value { bits, is_unsigned: false, span };
        match token.token.kind {
            TokenKind::End => self.fail(span, "expected value in expression"),
            TokenKind::Identifier(name) if name == self.known.defined => {
                let value = self.defined(span)?;
                e.next = self.lex();
                Ok(make(u64::from(value)))
            }
            TokenKind::Identifier(name) => {
                let text = self.session.names.text(name).to_owned();
                e.next = self.lex();
                if text == "true" {
                    return Ok(make(1));
                }
                if is_live && e.next.token.kind == TokenKind::Punct(Punct::LeftParen) && text != "false" {
                    return self.fail(span, format!("function-like macro '{text}' is not defined"));
                }
                if is_live && text != "false" {
                    self.session.diagnostics.warning(span, "undef", format!("'{text}' is not defined, evaluates to 0"));
                }
                Ok(make(0))
            }
            TokenKind::Number(text) => {
                let text = self.session.names.text(text).to_owned();
                let (bits, is_unsigned) = self.number(&text, span, is_live)?;
                e.next = self.lex();
                Ok(Value { bits, is_unsigned, span })
            }
            TokenKind::Char(text) => {
                let text = self.session.names.text(text).to_owned();
                let bits = self.character(&text, span);
                e.next = self.lex();
                Ok(make(bits))
            }
            TokenKind::Punct(Punct::LeftParen) => {
                e.depth += 1;
                e.next = self.lex();
                let left = self.value(e, is_live)?;
                let value = self.binary(e, left, 3, is_live)?;
                e.depth -= 1;
                let close = e.next;
                if close.token.kind != TokenKind::Punct(Punct::RightParen) {
                    let text = "expected ')' in preprocessor expression";
                    let error = Diagnostic::error(close.token.span, text).range(value.span);
                    self.session.diagnostics.report(error.note(span, "to match this '('"));
                    return Err(Reported);
                }
                e.next = self.lex();
                Ok(Value { span: span.to(close.token.span), ..value })
            }
            TokenKind::Punct(operator @ (Punct::Plus | Punct::Minus | Punct::Tilde | Punct::Bang)) => {
                e.depth += 1;
                e.next = self.lex();
                let value = self.value(e, is_live)?;
                e.depth -= 1;
                let span = span.to(value.span);
                if operator == Punct::Minus && is_live && !value.is_unsigned && value.signed() == i64::MIN {
                    self.session.diagnostics.warning(span, "", "integer overflow in preprocessor expression");
                }
                let bits = value.bits;
                Ok(if operator == Punct::Minus {
                    Value { bits: bits.wrapping_neg(), span, ..value }
                } else if operator == Punct::Tilde {
                    Value { bits: !bits, span, ..value }
                } else if operator == Punct::Bang {
                    Value { bits: u64::from(bits == 0), is_unsigned: false, span }
                } else {
                    Value { span, ..value }
                })
            }
            TokenKind::Punct(Punct::RightParen) => self.fail(span, "expected value in expression"),
            TokenKind::String(_) | TokenKind::Punct(_) | TokenKind::Pragma(_) | TokenKind::Unknown(_) => {
                self.fail(span, "invalid token at start of a preprocessor expression")
            }
        }
    }

    /// The name behind `defined`.
    fn defined(&mut self, span: Span) -> Result<bool, Reported> {
        if span.expansion.0 != 0 {
            let text = "macro expansion producing 'defined' has undefined behavior";
            self.session.diagnostics.warning(span, "expansion-to-defined", text);
        }
        let mut token = self.raw();
        let open = (token.token.kind == TokenKind::Punct(Punct::LeftParen)).then_some(token);
        if open.is_some() {
            token = self.raw();
        }
        let TokenKind::Identifier(name) = token.token.kind else {
            return self.fail(token.token.span, not_a_macro_name(token.token.kind));
        };
        let is_defined = matches!(self.entry(name), Entry::Some(_));
        if let Some(open) = open {
            let close = self.raw();
            if close.token.kind != TokenKind::Punct(Punct::RightParen) {
                let error = Diagnostic::error(close.token.span, "missing ')' after 'defined'");
                self.session.diagnostics.report(error.note(open.token.span, "to match this '('"));
                return Err(Reported);
            }
        }
        Ok(is_defined)
    }

    /// Applies binary operators of at least the precedence `minimum`.
    fn binary(&mut self, e: &mut Evaluation, left: Value, minimum: u32, is_live: bool) -> Result<Value, Reported> {
        let mut left = left;
        loop {
            let operator = e.next;
            let Some((infix, precedence)) = infix(operator.token.kind) else {
                if operator.token.kind == TokenKind::End {
                    return Ok(left);
                }
                let text = "token is not a valid binary operator in a preprocessor subexpression";
                let error = Diagnostic::error(operator.token.span, text).range(left.span);
                self.session.diagnostics.report(error);
                return Err(Reported);
            };
            if precedence < minimum {
                return Ok(left);
            }
            let is_skipped = match infix {
                Infix::Question | Infix::Binary(Operator::LogicalAnd) => left.bits == 0,
                Infix::Binary(Operator::LogicalOr) => left.bits != 0,
                Infix::Binary(_) | Infix::Closing => false,
            };
            let is_right_live = is_live && !is_skipped;
            e.next = self.lex();
            let mut right = self.value(e, is_right_live)?;
            let binary = match infix {
                Infix::Binary(binary) => binary,
                Infix::Question => {
                    left = self.choice(e, left, right, operator.token.span, is_live)?;
                    continue;
                }
                Infix::Closing => {
                    unreachable!("broken invariant: what closes has a lower precedence than any operator")
                }
            };
            // Operators of higher precedence belong to the right side.
            e.depth += 1;
            right = self.binary_above(e, right, precedence, is_right_live)?;
            e.depth -= 1;
            left = self.apply(binary, operator.token.span, left, right, is_right_live)?;
        }
    }

    /// Applies operators of a higher precedence.
    fn binary_above(
        &mut self,
        e: &mut Evaluation,
        left: Value,
        precedence: u32,
        is_live: bool,
    ) -> Result<Value, Reported> {
        match infix(e.next.token.kind) {
            Some((_, next)) if next <= precedence => Ok(left),
            _ => self.binary(e, left, precedence + 1, is_live),
        }
    }

    /// The rest of `a ? b : c`; `middle` is the beginning of `b`.
    fn choice(
        &mut self,
        e: &mut Evaluation,
        condition: Value,
        middle: Value,
        at: Span,
        is_live: bool,
    ) -> Result<Value, Reported> {
        let is_first = condition.bits != 0;
        e.depth += 1;
        let first = self.binary(e, middle, 3, is_live && is_first)?;
        let colon = e.next;
        if colon.token.kind != TokenKind::Punct(Punct::Colon) {
            let error = Diagnostic::error(colon.token.span, "expected ':'").range(condition.span).range(first.span);
            self.session.diagnostics.report(error.note(at, "to match this '?'"));
            return Err(Reported);
        }
        e.next = self.lex();
        let second = self.value(e, is_live && !is_first)?;
        let second = self.binary(e, second, 4, is_live && !is_first)?;
        e.depth -= 1;
        let chosen = if is_first { first } else { second };
        let is_unsigned = first.is_unsigned || second.is_unsigned;
        Ok(Value { is_unsigned, span: condition.span.to(second.span), ..chosen })
    }

    /// Applies one operator.
    fn apply(&mut self, op: Operator, at: Span, left: Value, right: Value, is_live: bool) -> Result<Value, Reported> {
        let span = left.span.to(right.span);
        let is_logical = matches!(op, Operator::LogicalAnd | Operator::LogicalOr | Operator::Comma);
        let is_shift = matches!(op, Operator::Shl | Operator::Shr);
        let is_unsigned = if is_shift { left.is_unsigned } else { left.is_unsigned || right.is_unsigned };
        if !is_logical && !is_shift && is_unsigned && is_live {
            for (side, value) in [("left", left), ("right", right)] {
                if value.is_negative() {
                    let text = format!(
                        "{side} side of operator converted from negative value to unsigned: {} to {}",
                        value.signed(),
                        value.bits
                    );
                    let warning = Diagnostic::warning(at, "", text).range(left.span).range(right.span);
                    self.session.diagnostics.report(warning);
                }
            }
        }
        let (a, b) = (left.bits, right.bits);
        let (x, y) = (left.signed(), right.signed());
        if matches!(op, Operator::Div | Operator::Rem) && b == 0 {
            if !is_live {
                return Ok(Value { bits: 0, is_unsigned, span });
            }
            let what = if op == Operator::Div { "division" } else { "remainder" };
            let error = Diagnostic::error(at, format!("{what} by zero in preprocessor expression"));
            self.session.diagnostics.report(error.range(left.span).range(right.span));
            return Err(Reported);
        }
        let less = if is_unsigned { a < b } else { x < y };
        // The result, and whether it overflowed.
        let (bits, is_overflow) = match op {
            Operator::Mul if is_unsigned => (a.wrapping_mul(b), false),
            Operator::Mul => (a.wrapping_mul(b), x.checked_mul(y).is_none()),
            Operator::Div if is_unsigned => (a / b, false),
            Operator::Div => (x.wrapping_div(y) as u64, x.checked_div(y).is_none()),
            Operator::Rem if is_unsigned => (a % b, false),
            Operator::Rem => (x.wrapping_rem(y) as u64, false),
            Operator::Add => (a.wrapping_add(b), !is_unsigned && x.checked_add(y).is_none()),
            Operator::Sub => (a.wrapping_sub(b), !is_unsigned && x.checked_sub(y).is_none()),
            Operator::Shl => {
                let count = if right.is_negative() { 0 } else { b.min(64) as u32 };
                let bits = a.checked_shl(count).unwrap_or(0);
                (bits, b >= 64 || (!is_unsigned && (bits as i64).wrapping_shr(count) != x))
            }
            Operator::Shr => {
                let count = b.min(63) as u32;
                let zero = is_unsigned && b >= 64;
                let bits = if zero {
                    0
                } else if is_unsigned {
                    a >> count
                } else {
                    (x >> count) as u64
                };
                (bits, b >= 64)
            }
            Operator::Less => (u64::from(less), false),
            Operator::LessEqual => (u64::from(less || a == b), false),
            Operator::Greater => (u64::from(!less && a != b), false),
            Operator::GreaterEqual => (u64::from(!less), false),
            Operator::Equal => (u64::from(a == b), false),
            Operator::NotEqual => (u64::from(a != b), false),
            Operator::And => (a & b, false),
            Operator::Xor => (a ^ b, false),
            Operator::Or => (a | b, false),
            Operator::LogicalAnd => (u64::from(a != 0 && b != 0), false),
            Operator::LogicalOr => (u64::from(a != 0 || b != 0), false),
            Operator::Comma => (b, false),
        };
        if is_overflow && is_live {
            let warning = Diagnostic::warning(at, "", "integer overflow in preprocessor expression");
            self.session.diagnostics.report(warning.range(left.span).range(right.span));
        }
        // Comparisons and logical operators give a signed number.
        let is_unsigned = match op {
            Operator::Mul
            | Operator::Div
            | Operator::Rem
            | Operator::Add
            | Operator::Sub
            | Operator::Shl
            | Operator::Shr
            | Operator::And
            | Operator::Xor
            | Operator::Or => is_unsigned,
            Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
            | Operator::Equal
            | Operator::NotEqual
            | Operator::LogicalAnd
            | Operator::LogicalOr => false,
            Operator::Comma => right.is_unsigned,
        };
        Ok(Value { bits, is_unsigned, span })
    }

    /// The value of a number, and whether it is unsigned.
    fn number(&mut self, text: &str, span: Span, is_live: bool) -> Result<(u64, bool), Reported> {
        let lower = text.to_ascii_lowercase();
        let (radix, what, digits) = match lower.as_bytes() {
            [b'0', b'x', rest @ ..] if !rest.is_empty() => (16, "hexadecimal", &lower[2..]),
            [b'0', b'b', rest @ ..] if !rest.is_empty() => (2, "binary", &lower[2..]),
            [b'0', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => (8, "octal", &lower[1..]),
            _ => (10, "decimal", &*lower),
        };
        let is_float = match radix {
            16 => digits.contains(['.', 'p']),
            _ => digits.contains(['.', 'e']) && !digits.contains('x'),
        };
        if is_float {
            return self.fail(span, "floating point literal in preprocessor expression");
        }
        let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix.max(10))).count();
        let (digits, suffix) = digits.split_at(length);
        let from = text.len() - suffix.len() - digits.len();
        if let Some((at, bad)) = digits.char_indices().find(|(_, digit)| !digit.is_digit(radix)) {
            let span = within(span, text, from + at);
            return self.fail(span, format!("invalid digit '{bad}' in {what} constant"));
        }
        let is_unsigned = match suffix {
            "" | "l" | "ll" => false,
            "u" | "ul" | "lu" | "ull" | "llu" => true,
            _ => {
                let from = text.len() - suffix.len();
                let suffix = text.get(from..).unwrap_or_default();
                return self.fail(within(span, text, from), format!("invalid suffix '{suffix}' on integer constant"));
            }
        };
        let mut bits = 0_u64;
        let mut is_large = false;
        for digit in digits.chars().filter_map(|digit| digit.to_digit(radix)) {
            let (product, overflow) = bits.overflowing_mul(u64::from(radix));
            let (sum, carry) = product.overflowing_add(u64::from(digit));
            is_large |= overflow || carry;
            bits = sum;
        }
        if is_large && is_live {
            let text = "integer literal is too large to be represented in any integer type";
            self.session.diagnostics.error(span, text);
        } else if is_live && !is_unsigned && bits > i64::MAX as u64 && radix == 10 {
            let text =
                "integer literal is too large to be represented in a signed integer type, interpreting as unsigned";
            self.session.diagnostics.warning(span, "implicitly-unsigned-literal", text);
        }
        Ok((bits, is_unsigned || is_large || bits > i64::MAX as u64))
    }

    /// The value of a character constant.
    fn character(&mut self, text: &str, span: Span) -> u64 {
        let inner = text.strip_prefix('L').unwrap_or(text);
        let inner = inner.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or_default();
        let mut characters = inner.chars().peekable();
        let mut count = 0;
        let mut bits = 0_i64;
        while let Some(character) = characters.next() {
            let value = match character {
                '\\' => escape(&mut characters),
                other => other as u32,
            };
            count += 1;
            bits = if count == 1 && value < 256 { i64::from(value as u8 as i8) } else { bits << 8 | i64::from(value) };
        }
        if count > 1 {
            self.session.diagnostics.warning(span, "multichar", "multi-character character constant");
        }
        bits as u64
    }
}

/// The value of an escape sequence behind its backslash.
fn escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> u32 {
    let Some(character) = characters.next() else { return 0 };
    let mut digits = |radix: u32, most: usize, first: u32| {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = characters.peek().and_then(|character| character.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            characters.next();
        }
        value
    };
    match character {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' | 'E' => 27,
        'x' => digits(16, 8, 0),
        'u' => digits(16, 4, 0),
        'U' => digits(16, 8, 0),
        '0'..='7' => digits(8, 2, character as u32 - '0' as u32),
        other => other as u32,
    }
}
