//! Test values: first edge cases, then reproducible random values.

/// A reproducible 64-bit value for an index.
pub fn spread(seed: u64, i: usize) -> u64 {
    fastrand::Rng::with_seed(seed ^ (i as u64) << 32).u64(..)
}

/// Integer values as 64-bit patterns, to be truncated to the type wanted: the pairs `(left(i), right(i))` for `i` below 64
/// run through all combinations of eight edge values of a type of `bits` bits.
pub fn int_bits(bits: u32, right: bool, i: usize) -> u64 {
    let top = 1_u64 << (bits - 1);
    let edges = [0, 1, u64::MAX, top, top - 1, 2, 7, top + 1];
    if i < 64 { edges[if right { i / 8 } else { i % 8 }] } else { spread(u64::from(right), i) }
}

/// Finite values of moderate size, with exact and inexact ones, of both signs.
pub fn float(seed: u64, i: usize) -> f32 {
    let edges = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1.0e-3, -7.75, 1234.5678, 0.1, -0.333_333_34];
    let bits = spread(seed, i);
    if i < 12 {
        edges[(i + seed as usize * 5) % 12]
    } else {
        // A mantissa of 24 random bits and an exponent within 2^-10 ..= 2^9.
        let mantissa = ((bits >> 8) & 0xFF_FFFF) as f32 / 16_777_216.0 + 1.0;
        let magnitude = mantissa * 2.0_f32.powi((bits % 20) as i32 - 10);
        if bits >> 63 == 0 { magnitude } else { -magnitude }
    }
}

/// As [`float`], in double precision.
pub fn double(seed: u64, i: usize) -> f64 {
    if i < 12 {
        f64::from(float(seed, i))
    } else {
        f64::from(float(seed, i)) * (1.0 + (spread(seed ^ 0x55, i) >> 12) as f64 / (1_u64 << 60) as f64)
    }
}

/// Any value of the type: infinities, NaNs and denormals too.
pub fn any_float(seed: u64, i: usize) -> f32 {
    let edges = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(0x7F_FFFF),
        f32::MAX,
        f32::MIN,
        1.5,
        -1.0,
    ];
    if i < 144 {
        edges[if seed.is_multiple_of(2) { i % 12 } else { i / 12 }]
    } else {
        f32::from_bits(spread(seed, i) as u32)
    }
}

/// Distance in units in the last place; 0 for two NaNs.
pub fn ulps(want: f32, got: f32) -> u64 {
    if want.is_nan() && got.is_nan() {
        return 0;
    }
    if want.is_nan() != got.is_nan() {
        return u64::MAX;
    }
    let order = |value: f32| {
        let bits = i64::from(value.to_bits() as i32);
        if bits < 0 { i64::from(i32::MIN) - bits } else { bits }
    };
    order(want).abs_diff(order(got))
}

/// Distance in units in the last place; 0 for two NaNs.
pub fn ulps64(want: f64, got: f64) -> u64 {
    if want.is_nan() && got.is_nan() {
        return 0;
    }
    if want.is_nan() != got.is_nan() {
        return u64::MAX;
    }
    let order = |value: f64| {
        let bits = i128::from(value.to_bits() as i64);
        if bits < 0 { i128::from(i64::MIN) - bits } else { bits }
    };
    u64::try_from(order(want).abs_diff(order(got))).unwrap_or(u64::MAX)
}
