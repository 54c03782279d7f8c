//! Literals of the text form: lanes of constants, and quoted strings.
//!
//! Every lane is written exactly: integers in signed decimal, addresses in hexadecimal, floats as the shortest decimal that
//! reads back as the same bits, NaNs by their bits (`nan:0x7fc00000`). Reading accepts more: any integer form for integers,
//! and plain hexadecimal bits (`0x3f800000`) for floats.

use std::fmt::{self, Write};

use half::f16;

use crate::types::Elem;

/// Writes one lane of a constant.
pub(crate) fn write_lane(f: &mut impl Write, elem: Elem, bits: u64) -> fmt::Result {
    match elem {
        Elem::B1 => f.write_str(if bits & 1 == 1 { "true" } else { "false" }),
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => write!(f, "{}", crate::eval::int::signed(elem, bits)),
        Elem::Ptr(_) => write!(f, "{bits:#x}"),
        Elem::F16 => write_float(f, f16::from_bits(bits as u16).to_f32(), bits),
        Elem::F32 => write_float(f, f32::from_bits(bits as u32), bits),
        Elem::F64 => write_float(f, f64::from_bits(bits), bits),
    }
}

/// The shortest decimal that reads back as the number; bits for a NaN.
fn write_float<T: Into<f64> + fmt::Debug + Copy>(f: &mut impl Write, number: T, bits: u64) -> fmt::Result {
    if number.into().is_nan() { write!(f, "nan:{bits:#x}") } else { write!(f, "{number:?}") }
}

/// Reads one lane of a constant; `None` if the text is not such a lane or does not fit.
pub(crate) fn read_lane(elem: Elem, text: &str) -> Option<u64> {
    match elem {
        Elem::B1 => match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        },
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            let value = read_int(text)?;
            let width = elem.bits();
            let fits = value >= -(1i128 << (width - 1)) && value < 1i128 << width;
            fits.then_some(value as u64 & elem.mask())
        }
        Elem::F16 | Elem::F32 | Elem::F64 => {
            if let Some(bits) = text.strip_prefix("nan:") {
                let bits = read_bits(elem, bits)?;
                return crate::eval::float::to_f64(elem, bits).is_nan().then_some(bits);
            }
            if text.starts_with("0x") {
                return read_bits(elem, text);
            }
            let number = text.trim_start_matches('-');
            if !(number == "inf" || number.starts_with(|c: char| c.is_ascii_digit())) {
                return None;
            }
            match elem {
                // Through f32: exact for what is printed, and rounded twice at most for hand-written digits.
                Elem::F16 => Some(u64::from(f16::from_f32(text.parse().ok()?).to_bits())),
                Elem::F32 => Some(u64::from(text.parse::<f32>().ok()?.to_bits())),
                Elem::F64 | Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
                    Some(text.parse::<f64>().ok()?.to_bits())
                }
            }
        }
    }
}

fn read_bits(elem: Elem, text: &str) -> Option<u64> {
    let bits = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (bits <= elem.mask()).then_some(bits)
}

/// Reads a decimal or hexadecimal integer with an optional sign.
pub(crate) fn read_int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some(if negative { -i128::from(magnitude) } else { i128::from(magnitude) })
}

/// Writes a quoted string; what is not printable ASCII, and quotes and backslashes, are escaped.
pub(crate) fn write_string(f: &mut impl Write, text: &str) -> fmt::Result {
    write!(f, "\"{}\"", text.escape_default())
}

/// Reads what stands between the quotes of a string; `None` on an unknown escape.
pub(crate) fn read_string(quoted: &str) -> Option<String> {
    let mut chars = quoted.chars();
    let mut text = String::with_capacity(quoted.len());
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            c @ ('\\' | '"' | '\'') => text.push(c),
            'u' => {
                let (code, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                chars = rest.chars();
            }
            _ => return None,
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_round_trip() {
        let mut random = fastrand::Rng::with_seed(1);
        let elems = [
            Elem::B1,
            Elem::I8,
            Elem::I16,
            Elem::I32,
            Elem::I64,
            Elem::F16,
            Elem::F32,
            Elem::F64,
            Elem::Ptr(crate::types::Space::Global),
        ];
        for elem in elems {
            let special = [0, 1, elem.mask(), elem.mask() >> 1, (elem.mask() >> 1) + 1, elem.mask() & 0x7f80_0001];
            for round in 0..2000 {
                let x = random.u64(..);
                let bits = special.get(round).copied().unwrap_or((x >> (x & 31)) & elem.mask());
                let mut text = String::new();
                write_lane(&mut text, elem, bits).unwrap();
                assert_eq!(read_lane(elem, &text), Some(bits), "{elem} {text}");
            }
        }
    }

    #[test]
    fn every_half_round_trips() {
        for bits in 0..=u64::from(u16::MAX) {
            let mut text = String::new();
            write_lane(&mut text, Elem::F16, bits).unwrap();
            assert_eq!(read_lane(Elem::F16, &text), Some(bits), "{text}");
        }
    }

    #[test]
    fn out_of_range_is_refused() {
        for (elem, text) in [
            (Elem::I8, "256"),
            (Elem::I8, "-129"),
            (Elem::B1, "2"),
            (Elem::I64, "0x10000000000000000"),
            (Elem::F16, "0x10000"),
            (Elem::F32, "nan:0x3f800000"),
            (Elem::F32, "nan"),
            (Elem::F32, "infinity"),
            (Elem::I32, "1.5"),
        ] {
            assert_eq!(read_lane(elem, text), None, "{elem} {text}");
        }
        assert_eq!(read_lane(Elem::I8, "255"), Some(255));
    }

    #[test]
    fn strings_round_trip() {
        for text in ["", "plain", "a\"b\\c\n\t\r'", "ünïcödé \u{1F600} \u{7f}"] {
            let mut quoted = String::new();
            write_string(&mut quoted, text).unwrap();
            assert!(quoted.is_ascii());
            assert_eq!(read_string(&quoted[1..quoted.len() - 1]).as_deref(), Some(text));
        }
        assert_eq!(read_string("\\q"), None);
        assert_eq!(read_string("\\u{110000}"), None);
    }
}
