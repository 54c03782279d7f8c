//! Prints integers and pointers, as C does.

use std::fmt::{Display, Write};

use super::spec::{Conversion, Spec};
use super::value::{Field, Text, fill};

/// The digits of a number; none for 0.
fn digits(value: u64, number: impl Display, place: &mut Text) -> &[u8] {
    if value != 0 {
        // Writing to memory does not fail.
        let _ = write!(place, "{number}");
    }
    &place.0
}

/// Prints an integer by a specification of class `Signed` or `Unsigned`.
pub(super) fn print(spec: &Spec, value: u64, text: &mut Vec<u8>) {
    let flags = &spec.flags;
    let is_negative = value.cast_signed() < 0;
    let mut place = Text::default();
    let (digits, prefix) = match spec.conversion {
        Conversion::Signed => {
            let sign: &[u8] = match () {
                () if is_negative => b"-",
                () if flags.plus => b"+",
                () if flags.space => b" ",
                () => b"",
            };
            let number = value.cast_signed().unsigned_abs();
            (digits(number, number, &mut place), sign)
        }
        Conversion::Unsigned(letter) => unsigned(letter, value, flags.alternative, &mut place),
        Conversion::Float(_) | Conversion::Char | Conversion::String | Conversion::Pointer => {
            unreachable!("broken invariant: a conversion of integers")
        }
    };
    let mut least = spec.precision.unwrap_or(1);
    if flags.alternative && spec.conversion == Conversion::Unsigned(b'o') {
        // The first digit is a zero.
        least = least.max(digits.len() + 1);
    }
    let zeros = least.saturating_sub(digits.len());
    let fill_zeros = flags.zero && spec.precision.is_none();
    Field { spec, prefix, len: zeros + digits.len(), fill_zeros }.print(text, |text| {
        fill(text, b'0', zeros);
        text.extend_from_slice(digits);
    });
}

/// The digits and the prefix of an unsigned number.
#[inline]
fn unsigned(letter: u8, value: u64, alternative: bool, place: &mut Text) -> (&[u8], &'static [u8]) {
    let prefixed = alternative && value != 0;
    match letter {
        b'x' => (digits(value, format_args!("{value:x}"), place), if prefixed { b"0x" } else { b"" }),
        b'X' => (digits(value, format_args!("{value:X}"), place), if prefixed { b"0X" } else { b"" }),
        b'o' => (digits(value, format_args!("{value:o}"), place), b""),
        _ => (digits(value, value, place), b""),
    }
}

/// Prints a pointer as the C library does: in hexadecimal, or `(nil)`. It takes no flag but `-`.
pub(super) fn print_pointer(spec: &Spec, value: u64, text: &mut Vec<u8>) {
    let mut place = Text::default();
    let (digits, prefix) = unsigned(b'x', value, true, &mut place);
    let body: &[u8] = if value == 0 { b"(nil)" } else { digits };
    Field { spec, prefix, len: body.len(), fill_zeros: false }.print(text, |text| text.extend_from_slice(body));
}
