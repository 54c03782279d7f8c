//! Prints floats of usual magnitude, exactly: `%f`, and `%g` where its result has no exponent. [`super::clib`] prints the others.

use super::integer::{Digits, decimal};
use super::spec::{Conversion, Spec};
use super::value::{Field, fill};

/// The most digits after the point.
const MAX_DECIMALS: usize = 19;

/// A power of ten.
const fn ten_to(exponent: usize) -> u64 {
    10u64.pow(exponent as u32)
}

/// A number with digits after the point: `whole + part / 10^decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fixed {
    whole: u64,
    part: u64,
    decimals: usize,
}

impl Fixed {
    /// The nearest such number to a finite value that is not negative; of two, the one with an even last digit. `None` if it has
    /// too many digits for the arithmetic here.
    fn nearest(value: f64, decimals: usize) -> Option<Self> {
        if decimals > MAX_DECIMALS {
            return None;
        }
        let bits = value.to_bits();
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
        // The value is mantissa / 2^shift.
        let (mantissa, shift) = if exponent == 0 { (fraction, 1074) } else { (fraction | 1 << 52, 1075 - exponent) };
        if shift <= 0 {
            let whole = if shift >= -11 { mantissa << -shift } else { return None };
            return Some(Self { whole, part: 0, decimals });
        }
        let whole = if shift < 64 { mantissa >> shift } else { 0 };
        let rest = if shift < 64 { mantissa & ((1 << shift) - 1) } else { mantissa };
        // Less than 2^53 * 10^19, which is less than 2^117.
        let scaled = u128::from(rest) * u128::from(ten_to(decimals));
        if shift >= 128 {
            // Less than a half.
            return Some(Self { whole, part: 0, decimals });
        }
        let (part, rest) = ((scaled >> shift) as u64, scaled & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let last = if decimals == 0 { whole } else { part };
        let up = rest > half || (rest == half && last % 2 == 1);
        Some(match part + u64::from(up) {
            part if part == ten_to(decimals) => Self { whole: whole + 1, part: 0, decimals },
            part => Self { whole, part, decimals },
        })
    }

    /// The nearest such number with this many significant digits, as `%g` prints it. `None` if it would print an exponent, and as
    /// for [`Fixed::nearest`].
    fn with_digits(value: f64, digits: usize) -> Option<Self> {
        if value == 0.0 {
            return Self::nearest(value, digits - 1);
        }
        // The number of digits before the point; if there are none, minus the number of zeros after it.
        let before = if value >= 1.0 {
            if value >= 1e18 {
                return None;
            }
            decimal(value as u64, &mut Digits::default()).len() as i32
        } else {
            // No double is between one of these numbers and the double next to it.
            -([0.1, 0.01, 0.001, 0.0001].iter().position(|&least| value >= least)? as i32)
        };
        let decimals = usize::try_from(digits as i32 - before).ok()?;
        let mut nearest = Self::nearest(value, decimals)?;
        // It may have been rounded up to a power of ten, and then has one more digit.
        let has_one_more = if before > 0 {
            decimal(nearest.whole, &mut Digits::default()).len() as i32 > before
        } else if before == 0 {
            nearest.whole > 0
        } else {
            nearest.part == ten_to(digits)
        };
        if has_one_more {
            nearest.decimals = nearest.decimals.checked_sub(1)?;
            nearest.part /= 10;
        }
        Some(nearest)
    }

    /// Removes zeros from the end.
    fn without_zeros(mut self) -> Self {
        if self.part == 0 {
            self.decimals = 0;
        }
        while self.decimals > 0 && self.part.is_multiple_of(10) {
            self.part /= 10;
            self.decimals -= 1;
        }
        self
    }
}

/// Prints a number; false if [`super::clib`] has to.
pub(super) fn print(spec: &Spec, value: f64, text: &mut Vec<u8>) -> bool {
    let Conversion::Float(letter) = spec.conversion else { return false };
    if !value.is_finite() {
        return false;
    }
    let (flags, precision) = (&spec.flags, spec.precision.unwrap_or(6));
    let fixed = match letter {
        b'f' | b'F' => Fixed::nearest(value.abs(), precision),
        b'g' | b'G' => {
            let fixed = Fixed::with_digits(value.abs(), precision.max(1));
            if flags.alternative { fixed } else { fixed.map(Fixed::without_zeros) }
        }
        _ => None,
    };
    let Some(Fixed { whole, part, decimals }) = fixed else { return false };
    let prefix: &[u8] = match () {
        () if value.is_sign_negative() => b"-",
        () if flags.plus => b"+",
        () if flags.space => b" ",
        () => b"",
    };
    let (mut whole_place, mut part_place) = (Digits::default(), Digits::default());
    let part = decimal(part, &mut part_place);
    let whole = if whole == 0 { b"0" } else { decimal(whole, &mut whole_place) };
    let point = decimals > 0 || flags.alternative;
    let len = whole.len() + usize::from(point) + decimals;
    Field { spec, prefix, len, fill_zeros: flags.zero }.print(text, |text| {
        text.extend_from_slice(whole);
        if point {
            text.push(b'.');
        }
        fill(text, b'0', decimals - part.len());
        text.extend_from_slice(part);
    });
    true
}
