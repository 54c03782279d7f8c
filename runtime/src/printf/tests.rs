//! A table of calls and their texts.
#![allow(unsafe_code, reason = "`%s` reads strings")]

use clift_include::abi::{PrintfArg, PrintfArgKind};

use super::{FormatError, format};

/// A call's values, as generated code stores them.
#[derive(Default)]
struct Values {
    args: Vec<PrintfArg>,
    data: Vec<u8>,
}

impl Values {
    fn add(mut self, kind: PrintfArgKind, elements: &[&[u8]]) -> Self {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.args.push(PrintfArg {
            kind,
            elem_bytes: elements[0].len() as u8,
            lanes: elements.len() as u8,
            reserved: 0,
            offset: self.data.len() as u32,
        });
        elements.iter().for_each(|element| self.data.extend_from_slice(element));
        self
    }

    fn i(self, value: i32) -> Self {
        self.add(PrintfArgKind::Int, &[&value.to_le_bytes()])
    }

    fn l(self, value: i64) -> Self {
        self.add(PrintfArgKind::Int, &[&value.to_le_bytes()])
    }

    fn d(self, value: f64) -> Self {
        self.add(PrintfArgKind::Float, &[&value.to_le_bytes()])
    }

    fn f(self, value: f32) -> Self {
        self.add(PrintfArgKind::Float, &[&value.to_le_bytes()])
    }

    fn p(self, value: *const u8) -> Self {
        self.add(PrintfArgKind::Pointer, &[&value.expose_provenance().to_le_bytes()])
    }

    fn print(&self, text: &str) -> Result<String, FormatError> {
        let mut out = Vec::new();
        // SAFETY: the tests' strings end with a NUL.
        unsafe { format(text.as_bytes(), &self.args, &self.data, &mut out) }?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn v() -> Values {
    Values::default()
}

#[track_caller]
fn check(values: Values, text: &str, expected: &str) {
    assert_eq!(values.print(text).as_deref(), Ok(expected), "{text}");
}

#[test]
fn text() {
    check(v(), "", "");
    check(v(), "100%%!\n", "100%!\n");
    check(v().i(1).i(2), "%d", "1");
}

#[test]
fn integers() {
    check(v().i(-7), "%d|", "-7|");
    check(v().i(-7), "%i", "-7");
    check(v().i(5), "%5d", "    5");
    check(v().i(5), "%-5d|", "5    |");
    check(v().i(5), "%+05d", "+0005");
    check(v().i(5), "% d", " 5");
    check(v().i(5), "%.3d", "005");
    check(v().i(0), "%.0d|", "|");
    check(v().i(10), "%04.5o", "00012");
    check(v().i(8), "%#o", "010");
    check(v().i(-1), "%u", "4294967295");
    check(v().i(0xab_cdef), "%#x", "0xabcdef");
    check(v().i(0xab_cdef).i(0), "%#X %#X", "0XABCDEF 0");
    check(v().i(399), "%8x", "     18f");
    check(v().l(-1), "%ld", "-1");
    check(v().l(-1), "%lx", "ffffffffffffffff");
    check(v().l(i64::MIN).l(3), "%lld %zu", "-9223372036854775808 3");
    check(v().l(-3), "%td", "-3");
    // Promoted by the call and converted back by the modifier.
    check(v().i(0x1ff).i(0x1ff), "%hhd %hhu", "-1 255");
    check(v().i(-1).i(0x12345), "%hu %hx", "65535 2345");
}

#[test]
fn floats() {
    check(v().f(10.3456), "%f", "10.345600");
    check(v().d(0.5), "%.0f", "0");
    check(v().d(1.5), "%5.1f|", "  1.5|");
    check(v().d(-0.0), "%f", "-0.000000");
    check(v().d(123_456.0), "%e", "1.234560e+05");
    check(v().d(123_456.0), "%E", "1.234560E+05");
    check(v().d(1e-7), "%g", "1e-07");
    check(v().d(100.0), "%#g", "100.000");
    check(v().d(100.0), "%G", "100");
    check(v().f(0.1), "%a", "0x1.99999ap-4");
    check(v().d(1.0), "%A", "0X1P+0");
    check(v().d(1.0), "%.2a", "0x1.00p+0");
    check(v().d(1.0), "%lf", "1.000000");
    check(v().d(f64::INFINITY).d(f64::NEG_INFINITY), "%f %e", "inf -inf");
    check(v().d(f64::INFINITY), "%08F", "     INF");
    check(v().d(f64::from_bits(0x7ff8 << 48)), "%g", "nan");
    check(v().d(f64::from_bits(0x7ff8 << 48)), "%G", "NAN");
    check(v().add(PrintfArgKind::Float, &[&0x3e00u16.to_le_bytes()]), "%.1f", "1.5");
}

#[test]
fn vectors() {
    let floats = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes);
    let floats: Vec<&[u8]> = floats.iter().map(|bytes| &bytes[..]).collect();
    check(v().add(PrintfArgKind::Float, &floats), "f4 = %2.2v4hlf\n", "f4 = 1.00,2.00,3.00,4.00\n");
    check(v().add(PrintfArgKind::Float, &floats[..3]), "%v3hlg", "1,2,3");
    // A three-element vector may come with a fourth lane.
    check(v().add(PrintfArgKind::Float, &floats), "%v3hlg", "1,2,3");
    let chars: [&[u8]; 4] = [&[0xfa], &[0xfb], &[0xfc], &[0xfd]];
    check(v().add(PrintfArgKind::Int, &chars), "uc = %#v4hhx\n", "uc = 0xfa,0xfb,0xfc,0xfd\n");
    check(v().add(PrintfArgKind::Int, &chars[..2]), "%4v2hhd", "  -6,  -5");
    let longs = [i64::MIN.to_le_bytes(), 1i64.to_le_bytes()];
    check(v().add(PrintfArgKind::Int, &[&longs[0], &longs[1]]), "%v2ld", "-9223372036854775808,1");
    let shorts: Vec<[u8; 2]> = (0..16i16).map(|i| (-i).to_le_bytes()).collect();
    let shorts: Vec<&[u8]> = shorts.iter().map(|bytes| &bytes[..]).collect();
    check(v().add(PrintfArgKind::Int, &shorts), "%v16hd", "0,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15");
    let halves = [0x3c00u16, 0xc000].map(u16::to_le_bytes);
    check(v().add(PrintfArgKind::Float, &[&halves[0], &halves[1]]), "%.1v2hf", "1.0,-2.0");
    let doubles = [0.5f64, -0.25].map(f64::to_le_bytes);
    check(v().add(PrintfArgKind::Float, &[&doubles[0], &doubles[1]]), "%+v2lg|", "+0.5,-0.25|");
}

#[test]
fn characters_strings_pointers() {
    check(v().i(66), "%c", "B");
    check(v().i(49).i(49), "%4c|%-4c|", "   1|1   |");
    check(v().i(0x141), "%c", "A");
    let string = b"foo bar\0";
    check(v().p(string.as_ptr()), "%s!", "foo bar!");
    check(v().p(string.as_ptr()), "%.3s!", "foo!");
    check(v().p(string.as_ptr()), "%9s|", "  foo bar|");
    check(v().p(string.as_ptr()), "%-9s|", "foo bar  |");
    check(v().p(core::ptr::null()), "%s", "(null)");
    check(v().p(core::ptr::without_provenance(0x1234)), "%p", "0x1234");
    // The precision limits how much is read.
    check(v().p(b"ab".as_ptr()), "%.2s", "ab");
}

#[test]
fn refused() {
    for text in
        ["%", "%d %", "%q", "%n", "%*d", "%jd", "%Lf", "%v5hld", "%vhld", "%v1hld", "%ls", "%lc", "%hld", "%v2s"]
    {
        let result = v().i(1).i(2).i(3).print(text);
        assert!(matches!(result, Err(FormatError::Specification(_))), "{text}: {result:?}");
    }
    assert_eq!(v().i(1).print("ab%d%y"), Err(FormatError::Specification(4)));
    assert_eq!(v().print("%d"), Err(FormatError::MissingValue));
    assert_eq!(v().i(1).print("%s"), Err(FormatError::WrongValue));
    assert!(v().i(1).print("%99999999999999999999d").is_err());
    assert_eq!(v().i(1).i(1).print("%16777216d%d"), Err(FormatError::TooLong));
    let short = Values { args: v().i(1).args, data: vec![0; 3] };
    assert_eq!(short.print("%d"), Err(FormatError::MissingValue));
}

#[test]
fn long_texts_are_complete() {
    let text = v().d(1e300).print("%.50f").expect("it prints");
    assert_eq!(text.len(), 301 + 51);
    assert_eq!(text, format!("{:.50}", 1e300));
    assert_eq!(v().i(7).print("%0300d").expect("it prints"), format!("{:0300}", 7));
}

#[test]
fn undefined_mixtures_do_not_crash() {
    for text in ["%d", "%x", "%f", "%c", "%p", "%hhd", "%v4hld", "%v16lf"] {
        let wild = v().d(1e30).print(text);
        assert!(wild.is_ok(), "{text}");
        assert!(v().i(-1).print(text).is_ok(), "{text}");
        assert!(v().p(c"".as_ptr().cast()).print(text).is_ok(), "{text}");
    }
}

/// What the C library prints for a value, by a format that has been made for its type.
fn by_c(text: &str, value: f64, number: Option<u64>) -> String {
    let format = std::ffi::CString::new(text).expect("it has no NUL");
    let mut out = vec![0u8; 2000];
    // SAFETY: the formats have one conversion, of the value's type; the buffer is valid for its length.
    let len = unsafe {
        match number {
            Some(number) => libc::snprintf(out.as_mut_ptr().cast(), out.len(), format.as_ptr(), number),
            None => libc::snprintf(out.as_mut_ptr().cast(), out.len(), format.as_ptr(), value),
        }
    };
    out.truncate(usize::try_from(len).expect("it prints"));
    String::from_utf8(out).expect("it is text")
}

/// All combinations of flags, with some widths and precisions.
fn all_fields() -> Vec<String> {
    let mut fields = Vec::new();
    for flags in 0..32u32 {
        let flags: String =
            (0..5).filter(|bit| flags >> bit & 1 == 1).map(|bit| ['-', '+', ' ', '#', '0'][bit]).collect();
        for width in ["", "5", "30"] {
            for precision in ["", ".", ".1", ".3", ".15", ".19", ".20"] {
                fields.push(format!("%{flags}{width}{precision}"));
            }
        }
    }
    fields
}

#[test]
fn integers_are_those_of_c() {
    let mut numbers = vec![0, 1, 7, 8, 9, 10, 99, 100, 101, 4095, 1 << 31, 1 << 63, u64::MAX, u64::MAX - 8];
    numbers.extend((0..20).map(|exponent| 10u64.pow(exponent)));
    numbers.extend((0..64).map(|shift| 0xfedc_ba98_7654_3210u64 >> shift));
    for field in all_fields() {
        for letter in ["d", "i", "u", "x", "X", "o"] {
            let format = format!("{field}ll{letter}");
            for &number in &numbers {
                check(v().l(number.cast_signed()), &format, &by_c(&format, 0.0, Some(number)));
            }
        }
        // In C, `p` has a width and the flag `-`, no others.
        let (left, digits) = (
            field.contains('-'),
            field.split('.').next().unwrap_or("").trim_start_matches(['%', '-', '+', ' ', '#', '0']),
        );
        let format = format!("%{}{digits}p", if left { "-" } else { "" });
        for number in [0, 1, 0x1234_5678_9abc] {
            let pointer = v().p(core::ptr::without_provenance(number));
            check(pointer, &format!("{field}p"), &by_c(&format, 0.0, Some(number as u64)));
        }
    }
}

#[test]
fn floats_are_those_of_c() {
    let mut values =
        vec![0.0, 0.5, 1.5, 2.5, 0.125, 0.375, 9.5, 99.5, 0.95, 0.095, 999_999.5, 99_999.95, 1e-5, 1.0 / 3.0];
    values.extend([f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, 9_007_199_254_740_993.0, 1.8e19, 9.2e18, 1e18]);
    for exponent in -20..24 {
        let power: f64 = format!("1e{exponent}").parse().expect("a number");
        values.extend([
            power,
            power.next_down(),
            power.next_up(),
            9.999_999_4 * power,
            9.999_999_6 * power,
            5.0 * power,
        ]);
        values.push(f64::from(power as f32));
    }
    // Ties, as far as a double has them.
    values.extend((0..53).flat_map(|shift| [1.0, 3.0, 12_345.0].map(|odd| odd / (1u64 << shift) as f64)));
    values.extend([64, 127, 128, 129, 200].map(|shift| 3.0 * 0.5f64.powi(shift)));
    for field in all_fields() {
        // Every value in every format would take long.
        for (letter, every) in [("f", 1), ("F", 31), ("g", 1), ("G", 31), ("e", 31), ("E", 31), ("a", 31)] {
            let format = format!("{field}{letter}");
            for value in values.iter().step_by(every).flat_map(|&value| [value, -value]) {
                let expected = by_c(&format, value, None);
                // The GNU C library loses the zeros of `%#g` if a number is rounded up to a power of ten that has an exponent.
                let loses_zeros = format.contains('#') && letter.eq_ignore_ascii_case("g");
                if !(loses_zeros && expected.to_ascii_lowercase().contains("1.e")) {
                    check(v().d(value), &format, &expected);
                }
            }
        }
    }
}

/// Values with random bits, and random ones of usual magnitude.
#[test]
fn random_floats_are_those_of_c() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..20_000 {
        let bits = next();
        let usual = (next() >> 11) as f64 / 10f64.powi((next() % 24) as i32);
        for value in [f64::from_bits(bits), usual, f64::from(usual as f32), (usual * 100.0).round() / 100.0] {
            let precision = next() % 19;
            for format in [
                "%f".to_owned(),
                "%g".to_owned(),
                format!("%.{precision}f"),
                format!("%.{precision}g"),
                "%e".to_owned(),
                format!("%.{precision}e"),
            ] {
                check(v().d(value), &format, &by_c(&format, value, None));
            }
        }
    }
}
