//! Prints integers and pointers, as C does.

use super::spec::{Conversion, Spec};
use super::value::{Field, fill};

/// Digits of a 64-bit number in the smallest base, 8.
const MAX_DIGITS: usize = 22;

/// The numbers 00 to 99.
static PAIRS: [[u8; 2]; 100] = pairs();

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
}

/// Place for the digits of a number.
type Digits = [u8; MAX_DIGITS];

/// The digits of a number in base 10, without zeros before the first one; none for 0.
#[inline]
fn decimal(mut number: u64, place: &mut Digits) -> &[u8] {
    let mut start = MAX_DIGITS;
    while number >= 100 {
        start -= 2;
        place[start..start + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        start -= 2;
        place[start..start + 2].copy_from_slice(&PAIRS[number as usize]);
    } else if number > 0 {
        start -= 1;
        place[start] = b'0' + number as u8;
    }
    &place[start..]
}

/// As [`decimal`], in base `2^bits` and with these letters.
#[inline]
fn binary<'a>(mut number: u64, bits: u32, letters: &[u8; 16], place: &'a mut Digits) -> &'a [u8] {
    let mut start = MAX_DIGITS;
    while number > 0 {
        start -= 1;
        place[start] = letters[(number & ((1 << bits) - 1)) as usize];
        number >>= bits;
    }
    &place[start..]
}

/// Prints an integer by a specification of class `Signed` or `Unsigned`.
pub(super) fn print(spec: &Spec, value: u64, text: &mut Vec<u8>) {
    let flags = &spec.flags;
    let is_negative = value.cast_signed() < 0;
    let mut place = [0; MAX_DIGITS];
    let (digits, prefix) = match spec.conversion {
        Conversion::Signed => {
            let sign: &[u8] = match () {
                () if is_negative => b"-",
                () if flags.plus => b"+",
                () if flags.space => b" ",
                () => b"",
            };
            (decimal(value.cast_signed().unsigned_abs(), &mut place), sign)
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
fn unsigned(letter: u8, value: u64, alternative: bool, place: &mut Digits) -> (&[u8], &'static [u8]) {
    let prefixed = alternative && value != 0;
    match letter {
        b'x' => (binary(value, 4, b"0123456789abcdef", place), if prefixed { b"0x" } else { b"" }),
        b'X' => (binary(value, 4, b"0123456789ABCDEF", place), if prefixed { b"0X" } else { b"" }),
        b'o' => (binary(value, 3, b"01234567........", place), b""),
        _ => (decimal(value, place), b""),
    }
}

/// Prints a pointer as the C library does: in hexadecimal, or `(nil)`. It takes no flag but `-`.
pub(super) fn print_pointer(spec: &Spec, value: u64, text: &mut Vec<u8>) {
    let mut place = [0; MAX_DIGITS];
    let (digits, prefix) = unsigned(b'x', value, true, &mut place);
    let body: &[u8] = if value == 0 { b"(nil)" } else { digits };
    Field { spec, prefix, len: body.len(), fill_zeros: false }.print(text, |text| text.extend_from_slice(body));
}
