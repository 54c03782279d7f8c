//! Prints floats, as C does: the standard library gives the digits, exactly and rounded to nearest. [`super::clib`] prints
//! hexadecimal floats, infinities, NaNs and very long numbers.

use std::fmt::Write;

use super::spec::{Conversion, Spec};
use super::value::{Field, Text, fill};

/// The most digits that are asked for here; with more, the C library prints.
const MAX_PRECISION: usize = 1000;

/// The text of a number without its sign.
struct Parts<'a> {
    whole: &'a [u8],
    /// Zeros between the point and the other digits.
    zeros: usize,
    part: &'a [u8],
    exponent: Option<i32>,
}

impl<'a> Parts<'a> {
    /// With an exponent: one digit is before the point.
    fn with_exponent(digits: &'a [u8], exponent: i32) -> Self {
        Self { whole: &digits[..1], zeros: 0, part: &digits[1..], exponent: Some(exponent) }
    }

    /// Without: the point is after the digit for `10^0`.
    fn without_exponent(digits: &'a [u8], exponent: i32) -> Self {
        match usize::try_from(exponent) {
            Ok(exponent) => {
                let (whole, part) = digits.split_at(exponent + 1);
                Self { whole, zeros: 0, part, exponent: None }
            }
            Err(_) => Self { whole: b"0", zeros: (-1 - exponent) as usize, part: digits, exponent: None },
        }
    }

    /// Without zeros at the end.
    fn shortened(mut self) -> Self {
        while let [rest @ .., b'0'] = self.part {
            self.part = rest;
        }
        if self.part.is_empty() {
            self.zeros = 0;
        }
        self
    }
}

/// Prints a number; false if [`super::clib`] has to.
pub(super) fn print(spec: &Spec, value: f64, text: &mut Vec<u8>) -> bool {
    let mut place = Text::default();
    if !value.is_finite() {
        return false;
    }
    let Some(parts) = parts_of(spec, value.abs(), &mut place) else { return false };
    let flags = &spec.flags;
    let prefix: &[u8] = match () {
        () if value.is_sign_negative() => b"-",
        () if flags.plus => b"+",
        () if flags.space => b" ",
        () => b"",
    };
    let Parts { whole, zeros, part, exponent } = parts;
    let mut end = Text::default();
    if let (Some(exponent), Conversion::Float(letter)) = (exponent, spec.conversion) {
        // `e` or `E`, by `g` or `G`. Writing to memory does not fail.
        let letter = if letter.is_ascii_uppercase() { 'E' } else { 'e' };
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(end, "{letter}{sign}{:02}", exponent.unsigned_abs());
    }
    let point = zeros + part.len() > 0 || flags.alternative;
    let len = whole.len() + usize::from(point) + zeros + part.len() + end.0.len();
    Field { spec, prefix, len, fill_zeros: flags.zero }.print(text, |text| {
        text.extend_from_slice(whole);
        if point {
            text.push(b'.');
        }
        fill(text, b'0', zeros);
        text.extend_from_slice(part);
        text.extend_from_slice(&end.0);
    });
    true
}

/// What to print for a finite number that is not negative.
fn parts_of<'a>(spec: &Spec, value: f64, place: &'a mut Text) -> Option<Parts<'a>> {
    let Conversion::Float(letter) = spec.conversion else { return None };
    let precision = spec.precision.unwrap_or(6);
    if precision > MAX_PRECISION {
        return None;
    }
    match letter {
        b'f' | b'F' => {
            write!(place, "{value:.precision$}").ok()?;
            let whole = place.0.iter().position(|&byte| byte == b'.').unwrap_or(place.0.len());
            let part = place.0.get(whole + 1..).unwrap_or_default();
            Some(Parts { whole: &place.0[..whole], zeros: 0, part, exponent: None })
        }
        b'e' | b'E' => {
            let (digits, exponent) = digits_of(value, precision + 1, place)?;
            Some(Parts::with_exponent(digits, exponent))
        }
        b'g' | b'G' => {
            let precision = precision.max(1);
            let (digits, exponent) = digits_of(value, precision, place)?;
            let parts = if exponent < -4 || exponent >= precision as i32 {
                Parts::with_exponent(digits, exponent)
            } else {
                Parts::without_exponent(digits, exponent)
            };
            Some(if spec.flags.alternative { parts } else { parts.shortened() })
        }
        // `a` and `A`.
        _ => None,
    }
}

/// So many significant digits, and the exponent of the first one.
fn digits_of(value: f64, count: usize, place: &mut Text) -> Option<(&[u8], i32)> {
    let decimals = count - 1;
    write!(place, "{value:.decimals$e}").ok()?;
    let end = place.0.iter().position(|&byte| byte == b'e')?;
    let exponent = std::str::from_utf8(&place.0[end + 1..]).ok()?.parse().ok()?;
    place.0.truncate(end);
    if decimals > 0 {
        // The point.
        place.0.remove(1);
    }
    Some((&place.0, exponent))
}
