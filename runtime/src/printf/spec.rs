//! Parses formats into text and conversion specifications.
//!
//! The grammar is that of OpenCL C (section "printf Format String"): no `*`, `n`, `j`, `L`; vectors with `vn`; `z` and `t` as in
//! OpenCL C 3.1. Combinations that are undefined there but valid in C (`%lf`, `%lld`) have their meaning in C.

use super::{BUFFER_BYTES, FormatError};

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatPiece<'a> {
    /// Literal text.
    Text(&'a [u8]),
    /// A conversion of the next value.
    Conversion(Spec),
}

/// A conversion specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) flags: Flags,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
    /// Number of elements; 1 without a vector specifier.
    pub(super) lanes: u8,
    /// Size of an integer in bytes according to the length modifier; `None` without one.
    pub(super) size: Option<u8>,
    pub(super) conversion: Conversion,
}

/// The flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternative: bool,
    pub(super) zero: bool,
}

/// The kind of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// `d`, `i`.
    Signed,
    /// `o`, `u`, `x`, `X`: the letter.
    Unsigned(u8),
    /// `a A e E f F g G`: the letter.
    Float(u8),
    /// `c`.
    Char,
    /// `s`.
    String,
    /// `p`.
    Pointer,
}

/// The pieces of a format, in order, up to the first error.
pub(super) fn pieces(format: &[u8]) -> impl Iterator<Item = Result<FormatPiece<'_>, FormatError>> {
    let mut at = 0;
    let mut failed = false;
    core::iter::from_fn(move || {
        if failed || at >= format.len() {
            return None;
        }
        let rest = &format[at..];
        let text = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        if text > 0 {
            at += text;
            return Some(Ok(FormatPiece::Text(&rest[..text])));
        }
        if rest.starts_with(b"%%") {
            at += 2;
            return Some(Ok(FormatPiece::Text(b"%")));
        }
        let mut reader = Reader { rest: &rest[1..] };
        match reader.specification() {
            Some(spec) => {
                at = format.len() - reader.rest.len();
                Some(Ok(FormatPiece::Conversion(spec)))
            }
            None => {
                failed = true;
                Some(Err(FormatError::Specification(at)))
            }
        }
    })
}

/// Parses a specification, after its `%`.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn specification(&mut self) -> Option<Spec> {
        let flags = self.flags();
        let width = self.number()?.unwrap_or(0);
        let precision = if self.eat(b".") { Some(self.number()?.unwrap_or(0)) } else { None };
        let lanes = if self.eat(b"v") { self.lanes()? } else { 1 };
        let (size, plain) = self.length(lanes > 1);
        let (letter, rest) = self.rest.split_first()?;
        self.rest = rest;
        let conversion = match letter {
            b'd' | b'i' => Conversion::Signed,
            b'o' | b'u' | b'x' | b'X' => Conversion::Unsigned(*letter),
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => Conversion::Float(*letter),
            b'c' if plain && lanes == 1 => Conversion::Char,
            b's' if plain && lanes == 1 => Conversion::String,
            b'p' if plain && lanes == 1 => Conversion::Pointer,
            _ => return None,
        };
        Some(Spec { flags, width, precision, lanes, size, conversion })
    }

    fn eat(&mut self, token: &[u8]) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            if self.eat(b"-") {
                flags.left = true;
            } else if self.eat(b"+") {
                flags.plus = true;
            } else if self.eat(b" ") {
                flags.space = true;
            } else if self.eat(b"#") {
                flags.alternative = true;
            } else if self.eat(b"0") {
                flags.zero = true;
            } else {
                return flags;
            }
        }
    }

    /// Parses an optional decimal number; `None` if it exceeds the limit.
    #[expect(clippy::option_option, reason = "a missing number and an invalid one are different results")]
    fn number(&mut self) -> Option<Option<usize>> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if number.is_empty() {
            return Some(None);
        }
        let number = number.iter().try_fold(0usize, |value, digit| {
            let value = value * 10 + usize::from(digit - b'0');
            (value <= BUFFER_BYTES).then_some(value)
        });
        number.map(Some)
    }

    fn lanes(&mut self) -> Option<u8> {
        // 16 comes first: a 1 alone is not a vector width.
        let lanes = [(&b"16"[..], 16), (b"2", 2), (b"3", 3), (b"4", 4), (b"8", 8)];
        lanes.into_iter().find_map(|(text, lanes)| self.eat(text).then_some(lanes))
    }

    /// Parses the length modifier: the resulting size of an integer, and whether there was none.
    fn length(&mut self, vector: bool) -> (Option<u8>, bool) {
        let modifiers: [(&[u8], u8); 7] =
            [(b"hh", 1), (b"hl", 4), (b"h", 2), (b"ll", 8), (b"l", 8), (b"z", 8), (b"t", 8)];
        for (text, size) in modifiers {
            if (vector || text != b"hl") && self.eat(text) {
                return (Some(size), false);
            }
        }
        (None, true)
    }
}
