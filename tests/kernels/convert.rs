//! Conversions: between all widths, with saturation and rounding, and reinterpretation.

use clift_tests::kernel::{Case, GLOBAL, Need};
use clift_tests::values::{any_float, float, int_bits, spread};

/// The lane of a flat element number.
fn lane_of(element: usize, lanes: usize) -> usize {
    element % lanes
}

/// `convert_TO[_sat]` between integer types. Without saturation a conversion truncates.
fn integers() -> Vec<Case> {
    macro_rules! from {
        ($from:ty, $from_name:literal, $lanes:literal) => {{
            fn saturate(value: i128, low: i128, high: i128) -> i128 {
                value.clamp(low, high)
            }
            const TARGETS: [(&str, i128, i128); 8] = [
                ("char", i8::MIN as i128, i8::MAX as i128),
                ("uchar", 0, u8::MAX as i128),
                ("short", i16::MIN as i128, i16::MAX as i128),
                ("ushort", 0, u16::MAX as i128),
                ("int", i32::MIN as i128, i32::MAX as i128),
                ("uint", 0, u32::MAX as i128),
                ("long", i64::MIN as i128, i64::MAX as i128),
                ("ulong", 0, u64::MAX as i128),
            ];
            let suffix = if $lanes == 1 { String::new() } else { $lanes.to_string() };
            let mut source = format!(
                "kernel void t(global const {from} *a, global ulong *out) {{\nsize_t i = get_global_id(0);\n{from}{suffix} x = {load};\n",
                from = $from_name,
                load = if $lanes == 1 { "a[i]".to_owned() } else { format!("vload{}(i, a)", $lanes) },
            );
            for (index, (target, ..)) in TARGETS.iter().enumerate() {
                for (sat, saturation) in ["", "_sat"].into_iter().enumerate() {
                    // Sign or zero extended to 64 bits again, so that one output holds all.
                    let value = format!("convert_ulong{suffix}(convert_{target}{suffix}{saturation}(x))");
                    let column = index * 2 + sat;
                    source += &if $lanes == 1 {
                        format!("out[i * 16 + {column}] = {value};\n")
                    } else {
                        format!("vstore{}({value}, i * 16 + {column}, out);\n", $lanes)
                    };
                }
            }
            source += "}\n";
            let input = |e: usize| int_bits(<$from>::BITS, false, e) as $from;
            Case::new(format!("convert::from_{}{suffix}", $from_name), source).input_n(GLOBAL * $lanes, input).expect_n(
                GLOBAL * 16 * $lanes,
                move |e| {
                    let (element, lane) = (e / $lanes, lane_of(e, $lanes));
                    let (item, column) = (element / 16, element % 16);
                    let x = input(item * $lanes + lane) as i128;
                    let (_, low, high) = TARGETS[column / 2];
                    let value = if column % 2 == 1 {
                        saturate(x, low, high)
                    } else {
                        // Wrap into the target's range.
                        (x - low).rem_euclid(high - low + 1) + low
                    };
                    Some(value as u64)
                },
            )
        }};
    }
    vec![
        from!(i8, "char", 1),
        from!(u8, "uchar", 4),
        from!(i16, "short", 1),
        from!(u16, "ushort", 8),
        from!(i32, "int", 1),
        from!(i32, "int", 3),
        from!(u32, "uint", 2),
        from!(i64, "long", 1),
        from!(u64, "ulong", 4),
    ]
}

/// A value rounded to an integer, by the suffix of the conversion.
fn rounded(value: f64, mode: &str) -> f64 {
    match mode {
        "_rte" => value.round_ties_even(),
        "_rtp" => value.ceil(),
        "_rtn" => value.floor(),
        _ => value.trunc(),
    }
}

/// `float` to integers: with saturation any value has a result, without it only those in range.
fn float_to_int() -> Vec<Case> {
    macro_rules! to {
        ($to:ty, $name:literal, $lanes:literal) => {{
            const MODES: [&str; 5] = ["", "_rte", "_rtz", "_rtp", "_rtn"];
            let suffix = if $lanes == 1 { String::new() } else { $lanes.to_string() };
            let mut source = format!(
                "kernel void t(global const float *a, global {} *out) {{\nsize_t i = get_global_id(0);\nfloat{suffix} x = {};\n",
                $name,
                if $lanes == 1 { "a[i]".to_owned() } else { format!("vload{}(i, a)", $lanes) },
            );
            for (index, mode) in MODES.iter().enumerate() {
                for (sat, saturation) in ["", "_sat"].into_iter().enumerate() {
                    let value = format!("convert_{}{suffix}{saturation}{mode}(x)", $name);
                    let column = index * 2 + sat;
                    source += &if $lanes == 1 {
                        format!("out[i * 10 + {column}] = {value};\n")
                    } else {
                        format!("vstore{}({value}, i * 10 + {column}, out);\n", $lanes)
                    };
                }
            }
            source += "}\n";
            // Halves and large values beside the usual ones.
            let input = |e: usize| match e % 4 {
                0 => any_float(0, e / 4),
                1 => (spread(3, e) as i32 % 600) as f32 * 0.5,
                2 => float(4, e) * 1.0e6,
                _ => float(5, e),
            };
            Case::new(format!("convert::float_to_{}{suffix}", $name), source)
                .input_n(GLOBAL * $lanes, input)
                .expect_n(GLOBAL * 10 * $lanes, move |e| {
                    let (element, lane) = (e / $lanes, lane_of(e, $lanes));
                    let (item, column) = (element / 10, element % 10);
                    let x = f64::from(input(item * $lanes + lane));
                    let value = rounded(x, MODES[column / 2]);
                    let in_range = value >= <$to>::MIN as f64 && value < <$to>::MAX as f64 + if <$to>::BITS < 64 { 1.0 } else { 0.0 };
                    // Rust's conversion saturates and takes NaN to 0, as `_sat` must.
                    (in_range || column % 2 == 1).then_some(value as $to)
                })
        }};
    }
    vec![
        to!(i8, "char", 1),
        to!(u8, "uchar", 4),
        to!(i16, "short", 2),
        to!(u16, "ushort", 1),
        to!(i32, "int", 1),
        to!(i32, "int", 4),
        to!(u32, "uint", 1),
        to!(u32, "uint", 8),
        to!(i64, "long", 1),
        to!(u64, "ulong", 2),
    ]
}

/// Integers to `float`: the default rounds to nearest even; so do the directed modes in their directions.
fn int_to_float() -> Case {
    Case::new(
        "convert::int_to_float",
        "kernel void t(global const long *a, global float8 *out) {
            size_t i = get_global_id(0);
            long x = a[i];
            out[i] = (float8)(convert_float(x), convert_float((ulong)x), convert_float((int)x), convert_float((uint)x),
                              convert_float((short)x), convert_float((uchar)x), (float)x, convert_float_rte((int)(x >> 3)));
        }",
    )
    .input(|i| int_bits(64, false, i) as i64 >> (i % 40))
    .expect(|i| {
        let x = int_bits(64, false, i) as i64 >> (i % 40);
        [x as f32, x as u64 as f32, x as i32 as f32, x as u32 as f32, f32::from(x as i16), f32::from(x as u8), x as f32, (x >> 3) as i32 as f32]
    })
}

fn directed_int_to_float() -> Case {
    /// `x` as a float, rounded down or up.
    fn directed(x: i32, up: bool) -> f32 {
        let nearest = x as f32;
        let (exact, got) = (f64::from(x), f64::from(nearest));
        if up && got < exact {
            nearest.next_up()
        } else if !up && got > exact {
            nearest.next_down()
        } else {
            nearest
        }
    }
    Case::new(
        "convert::int_to_float_directed",
        "kernel void t(global const int *a, global float4 *out) {
            size_t i = get_global_id(0);
            out[i] = (float4)(convert_float_rtp(a[i]), convert_float_rtn(a[i]), convert_float_rtz(a[i]), convert_float_rte(a[i]));
        }",
    )
    .input(|i| int_bits(32, true, i) as i32)
    .expect(|i| {
        let x = int_bits(32, true, i) as i32;
        [directed(x, true), directed(x, false), directed(x, x < 0), x as f32]
    })
}

fn doubles() -> Case {
    Case::new(
        "convert::double",
        "kernel void t(global const double *a, global const long *b, global long8 *out, global double4 *wide, global float4 *narrow) {
            size_t i = get_global_id(0);
            double x = a[i];
            out[i] = (long8)(convert_int_sat(x), convert_uint_sat(x), convert_long_sat_rte(x), convert_char_sat_rtp(x),
                             convert_ushort_sat_rtn(x), (int)fmin(fmax(x, -1e9), 1e9), convert_long_sat(x * 1e12), convert_uchar_sat_rte(x));
            wide[i] = (double4)(convert_double(b[i]), convert_double((ulong)b[i]), convert_double((int)b[i]), convert_double((float)x));
            narrow[i] = (float4)(convert_float(x), convert_float_rtz(x), (float)(x * 1e30), convert_float_rte(x));
        }",
    )
    .input(|i| f64::from(float(6, i)) * 3.7)
    .input(|i| int_bits(64, false, i) as i64)
    .expect(|i| {
        let x = f64::from(float(6, i)) * 3.7;
        [
            i64::from(x as i32),
            i64::from(x as u32),
            x.round_ties_even() as i64,
            i64::from(x.ceil() as i8),
            i64::from(x.floor() as u16),
            i64::from(x as i32),
            (x * 1e12) as i64,
            i64::from(x.round_ties_even() as u8),
        ]
    })
    .expect(|i| {
        let (x, b) = (f64::from(float(6, i)) * 3.7, int_bits(64, false, i) as i64);
        [b as f64, b as u64 as f64, f64::from(b as i32), f64::from(x as f32)]
    })
    .expect(|i| {
        let x = f64::from(float(6, i)) * 3.7;
        let nearest = x as f32;
        let towards_zero = if f64::from(nearest).abs() > x.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest };
        [nearest, towards_zero, (x * 1e30) as f32, nearest]
    })
    .needs(Need::Fp64)
}

fn halves() -> Case {
    Case::new(
        "convert::half_in_memory",
        "kernel void t(global const half *h, global const float *f, global float *wide, global half *narrow, global half *vectors) {
            size_t i = get_global_id(0);
            wide[i] = vload_half(i, h);
            vstore_half(f[i], i * 4, narrow);
            vstore_half_rtz(f[i], i * 4 + 1, narrow);
            vstore_half_rtp(f[i], i * 4 + 2, narrow);
            vstore_half_rtn(f[i], i * 4 + 3, narrow);
            vstore_half4(vload_half4(i, h), i, vectors);
        }",
    )
    .input_n(GLOBAL * 4, |i| half::f16::from_bits((i * 67) as u16))
    .input(|i| float(7, i))
    .expect_by(
        GLOBAL,
        |i| Some(half::f16::from_bits((i * 67) as u16).to_f32()),
        |want: &f32, got| want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()),
    )
    .expect_n(GLOBAL * 4, |e| {
        let x = float(7, e / 4);
        let nearest = half::f16::from_f32(x);
        let (exact, near) = (f64::from(x), nearest.to_f64());
        // The neighbour of a half value away from or towards zero is the next bit pattern.
        let away = |h: half::f16| half::f16::from_bits(h.to_bits() + 1);
        let towards = |h: half::f16| half::f16::from_bits(h.to_bits() - 1);
        let larger = if near < exact { if x >= 0.0 { away(nearest) } else { towards(nearest) } } else { nearest };
        let smaller = if near > exact { if x >= 0.0 { towards(nearest) } else { away(nearest) } } else { nearest };
        let zero = if x >= 0.0 { smaller } else { larger };
        Some([nearest, zero, larger, smaller][e % 4].to_bits())
    })
    .expect_by(
        GLOBAL * 4,
        |e| Some(half::f16::from_bits((e * 67) as u16)),
        |want: &half::f16, got| want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()),
    )
}

fn reinterpretation() -> Case {
    Case::new(
        "convert::as_type",
        "kernel void t(global const uint *a, global uint4 *out) {
            size_t i = get_global_id(0);
            uint x = a[i];
            uchar4 bytes = as_uchar4(x);
            ushort2 words = as_ushort2(x);
            ulong both = as_ulong((uint2)(x, ~x));
            out[i] = (uint4)(as_uint(bytes.wzyx), as_uint(words.yx), as_uint2(both).y, as_uint(as_float(x | 1u)));
        }",
    )
    .input(|i| spread(9, i) as u32)
    .expect(|i| {
        let x = spread(9, i) as u32;
        [x.swap_bytes(), x.rotate_left(16), !x, x | 1]
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = integers();
    cases.extend(float_to_int());
    cases.extend([int_to_float(), directed_int_to_float(), doubles(), halves(), reinterpretation()]);
    cases
}
