//! Numbers for people.

/// A number of bytes in the largest unit that keeps it above 1.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes >> shift > 0);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(shift, unit)| format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64).replace(".0 ", " "),
    )
}

/// A duration, with three digits.
pub fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1.0, "ns"));
    format!("{} {unit}", digits(ns / scale))
}

/// A rate or a count, with three digits and a metric prefix.
pub fn metric(value: f64) -> String {
    let prefixes = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| value >= *scale).unwrap_or((1.0, " "));
    format!("{}{prefix}", digits(value / scale))
}

/// A number with three digits.
pub fn digits(value: f64) -> String {
    let places = if value == 0.0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.places$}")
}

/// A count with groups of three digits.
pub fn count(value: u64) -> String {
    let text = value.to_string();
    let mut out = String::new();
    for (place, digit) in text.chars().enumerate() {
        if place > 0 && (text.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!([size(12), size(256 << 10), size(3 << 29)], ["12 bytes", "256 KiB", "1.5 GiB"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([duration(0.0), duration(1234.0), duration(5.6e7)], ["0 ns", "1.23 µs", "56.0 ms"]);
        assert_eq!([metric(0.0), metric(999.0), metric(2.5e9)], ["0 ", "999 ", "2.50 G"]);
        assert_eq!([count(7), count(1000), count(1_234_567)], ["7", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
    }
}
