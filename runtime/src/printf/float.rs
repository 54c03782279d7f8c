//! Prints floats of usual magnitude and precision, exactly. [`super::clib`] prints the others.

use super::integer::{Digits, PAIRS, decimal};
use super::spec::{Conversion, Spec};
use super::value::{Field, fill};

/// The most digits that are computed here: those of a 64-bit number.
const MAX_DIGITS: usize = 19;

/// The most significant digits of numbers below [`SMALL`].
const MAX_DIGITS_OF_SMALL: usize = 15;

/// From here to 1, the doubles next to powers of ten are not less than these.
const SMALL: f64 = 1e-4;

/// The doubles next to negative powers of ten.
const NEGATIVE_POWERS: [f64; MAX_DIGITS] = [
    1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17,
    1e-18, 1e-19,
];

/// A power of ten.
const fn ten_to(exponent: u32) -> u64 {
    10u64.pow(exponent)
}

/// A finite double that is not negative as `mantissa / 2^shift`.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    if exponent == 0 { (fraction, 1074) } else { (fraction | 1 << 52, 1075 - exponent) }
}

/// The nearest integer to `value * 10^decimals`; of two, the even one. `None` if it is not less than `10^19`, or if `decimals` is more
/// than 19 or less than -19.
fn scaled(value: f64, decimals: i32) -> Option<u64> {
    let (mantissa, shift) = parts(value);
    if decimals.unsigned_abs() > MAX_DIGITS as u32 || shift < -11 {
        return None;
    }
    let power = u128::from(ten_to(decimals.unsigned_abs()));
    let (mut dividend, mut divisor) = (u128::from(mantissa), 1u128);
    if decimals >= 0 {
        // Less than 2^53 * 10^19, which is less than 2^117.
        dividend *= power;
    } else {
        divisor *= power;
    }
    if shift <= 0 {
        dividend = dividend.checked_mul(1 << -shift)?;
    } else if decimals >= 0 {
        if shift >= 128 {
            // Less than a half.
            return Some(0);
        }
        let (quotient, rest, half) = (dividend >> shift, dividend & ((1 << shift) - 1), 1 << (shift - 1));
        return rounded(quotient, rest.cmp(&half));
    } else {
        if shift >= 64 {
            return Some(0);
        }
        divisor <<= shift;
    }
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    rounded(quotient, rest.cmp(&(divisor - rest)))
}

/// A quotient, rounded to nearest; `rest` compares the rest of the division with a half.
fn rounded(quotient: u128, rest: core::cmp::Ordering) -> Option<u64> {
    let up = rest.is_gt() || (rest.is_eq() && quotient % 2 == 1);
    u64::try_from(quotient + u128::from(up)).ok().filter(|number| *number < ten_to(MAX_DIGITS as u32))
}

/// The whole number and the digits after the point of the nearest number with so many decimals, rounded as by [`scaled`].
fn fixed(value: f64, decimals: usize) -> Option<(u64, u64)> {
    let (mantissa, shift) = parts(value);
    let power = ten_to(u32::try_from(decimals).ok().filter(|decimals| *decimals <= MAX_DIGITS as u32)?);
    if shift <= 0 {
        return (shift >= -11).then(|| (mantissa << -shift, 0));
    }
    let whole = if shift < 64 { mantissa >> shift } else { 0 };
    let rest = if shift < 64 { mantissa & ((1 << shift) - 1) } else { mantissa };
    if shift >= 128 {
        // Less than a half.
        return Some((whole, 0));
    }
    let product = u128::from(rest) * u128::from(power);
    let (part, rest, half) = ((product >> shift) as u64, product & ((1 << shift) - 1), 1 << (shift - 1));
    let last = if decimals == 0 { whole } else { part };
    let up = rest > half || (rest == half && last % 2 == 1);
    let part = part + u64::from(up);
    Some(if part == power { (whole + 1, 0) } else { (whole, part) })
}

/// The nearest number with so many significant digits as a whole number and an exponent: `number / 10^(digits - 1) * 10^exponent`,
/// where the number has exactly these digits. The value is not 0.
fn significant(value: f64, digits: usize) -> Option<(u64, i32)> {
    if digits > MAX_DIGITS || (value < SMALL && digits > MAX_DIGITS_OF_SMALL) {
        return None;
    }
    let exponent = if value >= 1.0 {
        if value >= 1e19 {
            return None;
        }
        decimal(value as u64, &mut Digits::default()).len() as i32 - 1
    } else {
        // One too high for a double that is less than its power of ten; with few digits, it is rounded up to that.
        -(NEGATIVE_POWERS.iter().position(|&least| value >= least)? as i32) - 1
    };
    let number = scaled(value, digits as i32 - 1 - exponent)?;
    // It may have been rounded up to a power of ten with one more digit.
    Some(if number == ten_to(digits as u32) { (number / 10, exponent + 1) } else { (number, exponent) })
}

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
    let mut place = [Digits::default(), Digits::default()];
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
    let point = zeros + part.len() > 0 || flags.alternative;
    let len = whole.len() + usize::from(point) + zeros + part.len() + if exponent.is_some() { 4 } else { 0 };
    Field { spec, prefix, len, fill_zeros: flags.zero }.print(text, |text| {
        text.extend_from_slice(whole);
        if point {
            text.push(b'.');
        }
        fill(text, b'0', zeros);
        text.extend_from_slice(part);
        if let Some(exponent) = exponent {
            let Conversion::Float(letter) = spec.conversion else { return };
            // `e` or `E`, by `g` or `G`.
            let letter = if letter.is_ascii_uppercase() { b'E' } else { b'e' };
            let sign = if exponent < 0 { b'-' } else { b'+' };
            let [tens, ones] = PAIRS[exponent.unsigned_abs() as usize];
            text.extend_from_slice(&[letter, sign, tens, ones]);
        }
    });
    true
}

/// What to print for a finite number that is not negative.
fn parts_of<'a>(spec: &Spec, value: f64, place: &'a mut [Digits; 2]) -> Option<Parts<'a>> {
    let Conversion::Float(letter) = spec.conversion else { return None };
    let precision = spec.precision.unwrap_or(6);
    let [whole_place, place] = place;
    match letter {
        b'f' | b'F' => {
            let (whole, part) = fixed(value, precision)?;
            let part = decimal(part, place);
            let whole = if whole == 0 { b"0" } else { decimal(whole, whole_place) };
            Some(Parts { whole, zeros: precision - part.len(), part, exponent: None })
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
fn digits_of(value: f64, count: usize, place: &mut Digits) -> Option<(&[u8], i32)> {
    if value == 0.0 {
        place.fill(b'0');
        return Some((place.get(..count)?, 0));
    }
    let (number, exponent) = significant(value, count)?;
    Some((decimal(number, place), exponent))
}
