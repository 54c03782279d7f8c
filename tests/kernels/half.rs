//! Arithmetic in half precision: each operation rounded once, conversions in every mode, functions, vectors.

use clift_tests::kernel::{Case, GLOBAL, Need};
use clift_tests::values::{double, spread};
use half::f16;

const ENABLE: &str = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";

fn case(name: &str, source: &str) -> Case {
    Case::new(format!("half::{name}"), format!("{ENABLE}{source}")).needs(Need::Extension("cl_khr_fp16"))
}

/// Any half: edges, infinities, NaN and subnormal numbers too.
fn any(seed: u64, i: usize) -> f16 {
    let edges = [0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00, 0xbe00];
    f16::from_bits(if i < 144 {
        edges[if seed.is_multiple_of(2) { i % 12 } else { i / 12 }]
    } else {
        spread(seed, i) as u16
    })
}

/// The same number, zeros by their sign, or NaN both.
fn same(want: &f16, got: &f16) -> bool {
    want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan())
}

/// A sum, difference, product, quotient or root of halves is rounded rightly by way of doubles: they have more than twice the
/// bits, and two to spare.
fn rounded(x: f64) -> f16 {
    f16::from_f64(x)
}

fn arithmetic() -> Case {
    case(
        "arithmetic",
        "kernel void t(global const half *a, global const half *b, global half *out) {
            size_t i = get_global_id(0);
            half x = a[i], y = b[i];
            global half *o = out + i * 8;
            o[0] = x + y; o[1] = x - y; o[2] = x * y; o[3] = x / y;
            o[4] = sqrt(x); o[5] = -x; o[6] = fmax(x, y); o[7] = x < y ? x : y;
        }",
    )
    .input(|i| any(0, i))
    .input(|i| any(1, i))
    .expect_by(
        GLOBAL * 8,
        |k| {
            let (x, y) = (any(0, k / 8), any(1, k / 8));
            let (a, b) = (x.to_f64(), y.to_f64());
            Some(match k % 8 {
                0 => rounded(a + b),
                1 => rounded(a - b),
                2 => rounded(a * b),
                3 => rounded(a / b),
                4 => rounded(a.sqrt()),
                5 => -x,
                // Of two zeros either is the larger.
                6 if a == 0.0 && b == 0.0 => return None,
                6 => rounded(a.max(b)),
                _ => {
                    if a < b {
                        x
                    } else {
                        y
                    }
                }
            })
        },
        same,
    )
}

/// Sums that lie almost in the middle between two halves: rounding twice would go wrong.
fn fused() -> Case {
    fn operands(i: usize) -> [f16; 3] {
        let bits = |seed| spread(seed, i) as u16;
        let number = |seed: u64, exponent: u16| f16::from_bits((bits(seed) & 0x83ff) | exponent << 10);
        if i < 144 {
            return [any(0, i), any(1, i), any(2, i * 7 % 144)];
        }
        // The product has 22 bits, and the last addend is far below or far above it.
        let far = if i.is_multiple_of(2) { 1 + bits(9) % 6 } else { 26 + bits(9) % 4 };
        [number(5, 15), number(6, 15), number(7, far)]
    }
    case(
        "fused_multiply_add",
        "kernel void t(global const half *a, global half *out) {
            size_t i = get_global_id(0);
            half4 v = vload4(0, a + 4 * i);
            out[i] = fma(v.x, v.y, v.z);
        }",
    )
    .input_n(GLOBAL * 4, |k| operands(k / 4).get(k % 4).copied().unwrap_or_default())
    .expect_by(
        GLOBAL,
        |i| {
            // The product and the sum are exact as doubles: 22 bits, and exponents from -48 to 32.
            let [a, b, c] = operands(i).map(f16::to_f64);
            Some(rounded(a.mul_add(b, c)))
        },
        same,
    )
}

/// Halves of numbers of other types, in the four modes.
fn to_half<T: clift_tests::kernel::Element>(name: &str, value: fn(usize) -> T, exact: fn(T) -> i128) -> Case {
    case(
        &format!("from_{name}"),
        &format!(
            "kernel void t(global const {name} *a, global half4 *out) {{
                size_t i = get_global_id(0);
                out[i] = (half4)(convert_half(a[i]), convert_half_rtz(a[i]), convert_half_rtp(a[i]), convert_half4_rtn(({name}4)(a[i])).y);
            }}"
        ),
    )
    .input(value)
    .expect_by(GLOBAL * 4, move |k| Some(directed(exact(value(k / 4)), k % 4)), same)
}

/// A number of units of 2^-60, rounded to a half by itself: to nearest, toward zero, up, down.
fn directed(units: i128, mode: usize) -> f16 {
    let magnitude = units.unsigned_abs();
    // A half's last place is 2^-24 at least, and 11 bits below the highest.
    let bits = 128 - magnitude.leading_zeros();
    let drop = bits.saturating_sub(11).max(36);
    let (kept, lost) = (magnitude >> drop, magnitude & ((1 << drop) - 1));
    let middle = 1 << (drop - 1);
    let away = match mode {
        0 => lost > middle || (lost == middle && kept & 1 == 1),
        1 => false,
        2 => lost > 0 && units > 0,
        _ => lost > 0 && units < 0,
    };
    let value = (kept + u128::from(away)) as f64 * 2f64.powi(drop as i32 - 60);
    let largest = f16::MAX.to_f64();
    // What is rounded towards zero does not become infinite.
    let toward_zero = mode == 1 || (mode == 2 && units < 0) || (mode == 3 && units > 0);
    let value = if value > largest { if toward_zero { largest } else { f64::INFINITY } } else { value };
    f16::from_f64(if units < 0 { -value } else { value })
}

fn conversions() -> Vec<Case> {
    fn int(i: usize) -> i32 {
        (spread(3, i) as i32) >> (i % 31)
    }
    fn long(i: usize) -> i64 {
        // Close to the middle between two halves, of which bits far away decide.
        let near = [2049_i64, 4098, 8196, 65519, 65520, 65504][i % 6] << (i % 4);
        match i % 3 {
            0 => (spread(4, i) as i64) >> (i % 63),
            1 => near + (i as i64 % 5) - 2,
            _ => -near + (i as i64 % 5) - 2,
        }
    }
    fn number(i: usize) -> f64 {
        match i % 3 {
            // No zero below zero: units do not tell it.
            0 => double(5, i) + 0.0,
            // The middle between two halves and a little beside it, subnormal halves too.
            1 => (2049.0 + (i as f64 % 3.0 - 1.0) * 2f64.powi(-30)) * 2f64.powi((i % 20) as i32 - 34),
            _ => -(4097.5 + (i as f64 % 3.0 - 1.0) * 2f64.powi(-20)) * 2f64.powi((i % 20) as i32 - 34),
        }
    }
    fn units(x: f64) -> i128 {
        // Bits below a unit only matter as something, which a last bit keeps.
        let scaled = x * 2f64.powi(60);
        let whole = scaled.trunc() as i128;
        whole * 2 + if scaled == scaled.trunc() { 0 } else { scaled.signum() as i128 }
    }
    vec![
        to_half("int", int, |x| i128::from(x) << 60),
        to_half("uint", |i| int(i) as u32, |x| i128::from(x) << 60),
        to_half("long", long, |x| i128::from(x) << 60),
        to_half("ulong", |i| long(i) as u64, |x| i128::from(x) << 60),
        to_half("char", |i| int(i) as i8, |x| i128::from(x) << 60),
        to_half("ushort", |i| int(i) as u16, |x| i128::from(x) << 60),
        to_half("double", number, |x| units(x) >> 1 | i128::from(units(x) & 1 != 0)).needs(Need::Fp64),
        to_half("float", |i| number(i) as f32, |x| units(x.into()) >> 1 | i128::from(units(x.into()) & 1 != 0)),
    ]
}

fn from_half() -> Case {
    case(
        "to_other_types",
        "kernel void t(global const half *a, global int4 *out, global double *wide) {
            size_t i = get_global_id(0);
            out[i] = (int4)(convert_int(a[i]), convert_uchar_sat_rte(a[i]), convert_short_sat_rtp(a[i]), convert_long_rtn(a[i]));
            wide[i] = convert_double(a[i]);
        }",
    )
    .input(|i| f16::from_f64(double(1, i)))
    .expect(|i| {
        let x = f16::from_f64(double(1, i)).to_f64();
        [
            x as i32,
            i32::from(x.round_ties_even() as u8),
            i32::from(x.ceil() as i16),
            x.floor() as i32,
        ]
    })
    .expect(|i| f16::from_f64(double(1, i)).to_f64())
    .needs(Need::Fp64)
}

/// Functions by way of floats: within one unit of what doubles give.
fn functions() -> Case {
    fn argument(i: usize) -> f16 {
        f16::from_f64(double(2, i).abs() % 8.0 + 0.125)
    }
    fn results(x: f64) -> [f64; 8] {
        [x.sin(), x.exp(), x.ln(), x.powf(x), x.sqrt().recip(), x.tanh(), x.hypot(2.0), x.rem_euclid(0.75)]
    }
    case(
        "functions_of_vectors",
        "kernel void t(global const half *a, global half *out) {
            size_t i = get_global_id(0);
            half3 x = (half3)(a[i], (half)0.5h, (half)2.0h);
            half8 r = (half8)(sin(x).x, exp(x).x, log(x).x, pow(x, x).x, rsqrt(x).x, tanh(x).x, hypot(x, (half3)2.0h).x,
                              fmod(x, (half3)0.75h).x);
            vstore8(r, i, out);
        }",
    )
    .input(argument)
    .expect_by(
        GLOBAL * 8,
        |k| Some(rounded(results(argument(k / 8).to_f64())[k % 8])),
        |want, got| {
            let order = |x: &f16| {
                let bits = i32::from(x.to_bits() as i16);
                if bits < 0 { -0x8000 - bits } else { bits }
            };
            same(want, got) || (order(want) - order(got)).abs() <= 1
        },
    )
}

fn relations() -> Case {
    case(
        "relations_and_selections",
        "kernel void t(global const half *a, global const half *b, global short4 *out, global half2 *chosen) {
            size_t i = get_global_id(0);
            half2 x = (half2)(a[i], b[i]), y = x.yx;
            short2 less = isless(x, y), nan = isnan(x);
            out[i] = (short4)(less.x, less.y, nan.x, (short)(isnormal(a[i]) + 2 * signbit(a[i]) + 4 * isinf(a[i])));
            chosen[i] = select(x, y, less);
        }",
    )
    .input(|i| any(0, i))
    .input(|i| any(1, i))
    .expect(|i| {
        let (x, y) = (any(0, i), any(1, i));
        let all = |truth: bool| -i16::from(truth);
        let class = i16::from(x.is_normal()) + 2 * i16::from(x.is_sign_negative()) + 4 * i16::from(x.is_infinite());
        [all(x < y), all(y < x), all(x.is_nan()), class]
    })
    .expect_by(
        GLOBAL * 2,
        |k| {
            let (x, y) = (any(0, k / 2), any(1, k / 2));
            let (own, other) = if k % 2 == 0 { (x, y) } else { (y, x) };
            Some(if own < other { other } else { own })
        },
        same,
    )
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![arithmetic(), fused(), from_half(), functions(), relations()];
    cases.extend(conversions());
    cases
}
