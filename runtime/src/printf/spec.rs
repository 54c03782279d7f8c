//! Parses formats into text and conversion specifications.
//!
//! The grammar is that of OpenCL C (section "printf Format String"): no `*`, `n`, `j`, `L`; vectors with `vn`; `z` and `t` as in
//! OpenCL C 3.1. Combinations that are undefined there but valid in C (`%lf`, `%lld`) have their meaning in C.

use super::BUFFER_BYTES;

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

/// Parses a format from its start.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn new(format: &'a [u8]) -> Self {
        Self { rest: format }
    }

    /// Number of bytes that have not been parsed.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Parses text up to the next specification or `%%`; of `%%`, the first byte is part of the text.
    #[inline]
    pub(super) fn text(&mut self) -> &'a [u8] {
        let plain = text_len(self.rest);
        let (len, end) =
            if matches!(self.rest[plain..], [b'%', b'%', ..]) { (plain + 1, plain + 2) } else { (plain, plain) };
        let text = &self.rest[..len];
        self.skip(end);
        text
    }

    /// Whether a specification follows.
    #[inline]
    pub(super) fn at_specification(&self) -> bool {
        self.rest.first() == Some(&b'%') && self.rest.get(1) != Some(&b'%')
    }

    /// Parses a specification.
    #[inline]
    pub(super) fn specification(&mut self) -> Option<Spec> {
        if !self.eat(b'%') {
            return None;
        }
        let flags = self.flags();
        let width = self.number()?.unwrap_or(0);
        let precision = if self.eat(b'.') { Some(self.number()?.unwrap_or(0)) } else { None };
        let lanes = if self.eat(b'v') { self.lanes()? } else { 1 };
        let size = self.length(lanes > 1);
        let plain = size.is_none();
        let conversion = match self.peek()? {
            b'd' | b'i' => Conversion::Signed,
            letter @ (b'o' | b'u' | b'x' | b'X') => Conversion::Unsigned(letter),
            letter @ (b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G') => Conversion::Float(letter),
            b'c' if plain && lanes == 1 => Conversion::Char,
            b's' if plain && lanes == 1 => Conversion::String,
            b'p' if plain && lanes == 1 => Conversion::Pointer,
            _ => return None,
        };
        self.skip(1);
        Some(Spec { flags, width, precision, lanes, size, conversion })
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Removes bytes that have been seen.
    #[inline]
    fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.skip(1);
        }
        found
    }

    #[inline]
    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some(b'-') => flags.left = true,
                Some(b'+') => flags.plus = true,
                Some(b' ') => flags.space = true,
                Some(b'#') => flags.alternative = true,
                Some(b'0') => flags.zero = true,
                _ => return flags,
            }
            self.skip(1);
        }
    }

    /// Parses an optional decimal number; `None` if it exceeds the limit.
    #[expect(clippy::option_option, reason = "a missing number and an invalid one are different results")]
    #[inline]
    fn number(&mut self) -> Option<Option<usize>> {
        let mut number = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            self.skip(1);
            let value = number.unwrap_or(0) * 10 + usize::from(digit - b'0');
            if value > BUFFER_BYTES {
                return None;
            }
            number = Some(value);
        }
        Some(number)
    }

    #[inline]
    fn lanes(&mut self) -> Option<u8> {
        let (lanes, letters) = match self.rest {
            [b'2', ..] => (2, 1),
            [b'3', ..] => (3, 1),
            [b'4', ..] => (4, 1),
            [b'8', ..] => (8, 1),
            [b'1', b'6', ..] => (16, 2),
            _ => return None,
        };
        self.skip(letters);
        Some(lanes)
    }

    /// Parses the length modifier: the resulting size of an integer.
    #[inline]
    fn length(&mut self, vector: bool) -> Option<u8> {
        let (size, letters) = match self.rest {
            [b'h', b'h', ..] => (1, 2),
            [b'h', b'l', ..] if vector => (4, 2),
            [b'h', ..] => (2, 1),
            [b'l', b'l', ..] => (8, 2),
            [b'l' | b'z' | b't', ..] => (8, 1),
            _ => return None,
        };
        self.skip(letters);
        Some(size)
    }
}

/// Length of the text before the first `%`, or of all.
#[inline]
fn text_len(format: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    let (words, rest) = format.as_chunks();
    let mut len = 0;
    for word in words {
        // The lowest byte that is zero here is the first `%`.
        let difference = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'%'));
        let found = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
        if found != 0 {
            return len + (found.trailing_zeros() / 8) as usize;
        }
        len += 8;
    }
    len + rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len())
}
