//! Floating-point constants as text: correctly rounded bits of `half`, `float` and `double`, from decimal and hexadecimal digits.

use crate::types::FloatFormat;

/// The bits of a constant, and whether it fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The encoding.
    pub bits: u64,
    /// The magnitude is above the largest finite value.
    pub overflows: bool,
    /// The value is not zero, but its encoding is.
    pub underflows: bool,
}

/// Parses digits without a suffix: `1.5e3`, or `0x1.8p3` without the `0x`. The text was checked: it has the right shape.
pub(super) fn parse(text: &str, is_hex: bool, format: FloatFormat) -> Parsed {
    let bits = if is_hex { hexadecimal(text, format) } else { decimal(text, format) };
    let digits = text.split(if is_hex { ['p', 'P'] } else { ['e', 'E'] }).next().unwrap_or("");
    let is_zero = !digits.bytes().any(|byte| byte != b'0' && byte != b'.');
    Parsed { bits, overflows: bits == format.infinity(), underflows: bits == 0 && !is_zero }
}

fn decimal(text: &str, format: FloatFormat) -> u64 {
    // Rust's parser wants a digit on one side of the point, which C's grammar guarantees, and takes any length.
    match format {
        FloatFormat::Single => u64::from(text.parse::<f32>().map_or(0, f32::to_bits)),
        FloatFormat::Half => decimal_half(text),
        FloatFormat::Double => text.parse::<f64>().map_or(0, f64::to_bits),
    }
}

/// A `half` by way of a `double`. Rounding twice is wrong only if the first step lands in the middle between two halves: then the
/// digits decide.
fn decimal_half(text: &str) -> u64 {
    let value: f64 = text.parse().unwrap_or(0.0);
    let rounded = half::f16::from_f64(value);
    if !value.is_finite() || rounded.to_f64() == value {
        return u64::from(rounded.to_bits());
    }
    let bits = rounded.to_bits();
    let nearest = |bits: u16| if bits == 0x7c00 { 65536.0 } else { half::f16::from_bits(bits).to_f64() };
    let (below, above) = if nearest(bits) > value { (bits.saturating_sub(1), bits) } else { (bits, bits + 1) };
    if (nearest(below) + nearest(above)) / 2.0 != value {
        return u64::from(bits);
    }
    let order = normalized(text).cmp(&normalized(&format!("{value:.64}")));
    u64::from(match order {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Equal => bits,
        std::cmp::Ordering::Greater => above,
    })
}

/// The exponent of the first digit, and the digits without zeros at the ends: ordered as the numbers are. Zero is the least.
fn normalized(text: &str) -> (i64, Vec<u8>) {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|digit| **digit == b'0').count();
    all.drain(..zeros);
    while all.last() == Some(&b'0') {
        all.pop();
    }
    if all.is_empty() {
        return (i64::MIN, all);
    }
    (exponent.saturating_add(whole.len() as i64 - zeros as i64), all)
}

fn hexadecimal(text: &str, format: FloatFormat) -> u64 {
    let (digits, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let negative = exponent.starts_with('-');
    let magnitude = exponent.trim_start_matches(['+', '-']);
    // An exponent that is too large for the parser is too large for every type.
    let mut exponent: i64 = magnitude.parse().unwrap_or(1 << 40).min(1 << 40);
    if negative {
        exponent = -exponent;
    }
    let mut significand: u64 = 0;
    let mut sticky = false;
    let mut after_point = false;
    for byte in digits.bytes() {
        let Some(digit) = char::from(byte).to_digit(16) else {
            after_point |= byte == b'.';
            continue;
        };
        if significand >> 58 == 0 {
            significand = significand << 4 | u64::from(digit);
            exponent -= if after_point { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if after_point { 0 } else { 4 };
        }
    }
    round(significand, sticky, exponent, format)
}

/// The encoding of `significand * 2^exponent`, plus something smaller than the last bit if `sticky` is set: to nearest even.
fn round(significand: u64, sticky: bool, exponent: i64, format: FloatFormat) -> u64 {
    if significand == 0 {
        return 0;
    }
    let (precision, maximum) = (format.precision(), format.max_exponent());
    let minimum = 1 - maximum;
    let top = exponent + 63 - i64::from(significand.leading_zeros());
    let infinity = format.infinity();
    if top > maximum {
        return infinity;
    }
    // The exponent of the last bit that is kept.
    let last = top.max(minimum) - i64::from(precision) + 1;
    let drop = last - exponent;
    let kept = if drop <= 0 {
        significand << -drop
    } else if drop > 64 {
        0
    } else {
        let wide = u128::from(significand);
        let kept = wide >> drop;
        let rest = wide & ((1 << drop) - 1);
        let middle = 1_u128 << (drop - 1);
        let up = rest > middle || rest == middle && (sticky || kept & 1 == 1);
        (kept + u128::from(up)) as u64
    };
    // A carry out of the significand increments the exponent, as the encoding has it.
    let biased = (top.max(minimum) - minimum) as u64;
    let encoded = if kept >> (precision - 1) == 0 { kept } else { (biased << (precision - 1)) + kept };
    encoded.min(infinity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(text: &str, is_hex: bool) -> u64 {
        parse(text, is_hex, FloatFormat::Half).bits
    }

    #[test]
    fn decimals_are_rounded_once() {
        assert_eq!(half("1.0", false), 0x3c00);
        assert_eq!(half("0.1", false), 0x2e66);
        assert_eq!(half("65504", false), 0x7bff);
        assert_eq!(half("65519.999999999999999999", false), 0x7bff);
        assert_eq!(half("65520", false), 0x7c00);
        assert_eq!(half("1e10", false), 0x7c00);
        // The middle between 1 and the next half is 1.00048828125; a digit far behind decides.
        assert_eq!(half("1.00048828125", false), 0x3c00);
        assert_eq!(half("1.000488281250000000000000000000001", false), 0x3c01);
        assert_eq!(half("1.000488281249999999999999999999999", false), 0x3c00);
        assert_eq!(half("2.98023223876953125e-8", false), 0);
        assert_eq!(half("2.98023223876953125000000000000001e-8", false), 1);
        assert_eq!(parse("0.1", false, FloatFormat::Single).bits, u64::from(0.1_f32.to_bits()));
        assert_eq!(parse(".5", false, FloatFormat::Double).bits, 0.5_f64.to_bits());
        assert_eq!(parse("5.", false, FloatFormat::Double).bits, 5.0_f64.to_bits());
    }

    #[test]
    fn hexadecimals_are_rounded_to_nearest_even() {
        let float = |text| parse(text, true, FloatFormat::Single).bits as u32;
        assert_eq!(float("1p0"), 1.0_f32.to_bits());
        assert_eq!(float("1.8p3"), 12.0_f32.to_bits());
        assert_eq!(float(".8p1"), 1.0_f32.to_bits());
        assert_eq!(float("1.fffffep127"), f32::MAX.to_bits());
        assert_eq!(float("1.ffffffp127"), f32::INFINITY.to_bits());
        assert_eq!(float("1p-149"), 1);
        assert_eq!(float("1p-150"), 0);
        assert_eq!(float("1.8p-150"), 1);
        assert_eq!(float("1.000001p0"), 1.0_f32.to_bits());
        assert_eq!(float("1.000003p0"), 1.0_f32.to_bits() + 2);
        assert_eq!(float("1.0000010000000000000000000001p0"), 1.0_f32.to_bits() + 1);
        assert_eq!(float("1p-126"), f32::MIN_POSITIVE.to_bits());
        assert_eq!(float("0.ffffffp-126"), f32::MIN_POSITIVE.to_bits());
        assert_eq!(parse("1.fffffffffffffp1023", true, FloatFormat::Double).bits, f64::MAX.to_bits());
        assert_eq!(half("1.ffcp15", true), 0x7bff);
        assert_eq!(half("1p-24", true), 1);
        assert_eq!(float("1p999999999999999999999"), f32::INFINITY.to_bits());
        assert_eq!(float("1p-999999999999999999999"), 0);
    }

    #[test]
    fn range_errors_are_told() {
        assert!(parse("1e50", false, FloatFormat::Single).overflows);
        assert!(parse("1e-50", false, FloatFormat::Single).underflows);
        assert!(!parse("0.000", false, FloatFormat::Single).underflows);
        assert!(!parse("0e5", false, FloatFormat::Single).underflows);
    }
}
