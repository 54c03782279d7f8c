//! Idioms for which LLVM's optimizer has instructions without an equivalent operator in OpenCL C: Booleans as signed one-bit
//! integers, funnel shifts, explicit saturation and overflow checks, differences of comparisons. Each is compiled at the highest
//! optimization level and without optimization: what is recognized in one is plain arithmetic in the other.

use clift_tests::kernel::{Case, Need};
use clift_tests::values::spread;

/// Small numbers of both signs, and edges.
fn number(seed: u64, i: usize) -> i32 {
    const EDGES: [i32; 5] = [0, 1, -1, i32::MIN, i32::MAX];
    match spread(seed, i) {
        bits if bits % 4 == 0 => EDGES[(bits >> 8) as usize % EDGES.len()],
        bits => (bits >> 32) as i32 % 6,
    }
}

/// A case at each level of optimization.
fn levels(case: impl Fn(String) -> Case, name: &str) -> [Case; 2] {
    [
        case(format!("idioms::{name}")),
        case(format!("idioms::{name}_unoptimized")).options("-cl-std=CL3.0 -cl-opt-disable"),
    ]
}

/// Comparisons of scalars as numbers of a floating-point type, in five forms.
fn booleans(real: &'static str) -> impl Fn(String) -> Case {
    move |name| {
        let source = format!(
            "kernel void t(global const int *a, global const int *b, global float *out) {{
                size_t i = get_global_id(0);
                int x = a[i], y = b[i];
                out[5 * i] = ({real})(x < y);
                out[5 * i + 1] = ({real})(x == y ? -1 : 0);
                out[5 * i + 2] = ({real})-(x > 0 && y > 0);
                out[5 * i + 3] = ({real})((x > 0) - (x < 0)) * ({real})3;
                out[5 * i + 4] = (x != y ? ({real})-1 : ({real})0) + (float)(long)-(x <= y);
            }}"
        );
        let case = Case::new(name, source).input(|i| number(0, i)).input(|i| number(1, i)).expect(|i| {
            let (x, y) = (number(0, i), number(1, i));
            [
                if x < y { 1.0 } else { 0.0 },
                if x == y { -1.0 } else { 0.0 },
                if x > 0 && y > 0 { -1.0 } else { 0.0 },
                x.signum() as f32 * 3.0,
                if x != y { -1.0_f32 } else { 0.0 } + if x <= y { -1.0 } else { 0.0 },
            ]
        });
        let case = case.source_only("takes a signed integer of one bit for an unsigned one");
        if real == "double" { case.needs(Need::Fp64) } else { case }
    }
}

/// Which numbers have a remainder by a power of two, positive or negative, and quotients of a number that all items share.
fn remainders(name: String) -> Case {
    let source = "kernel void t(global const int *a, global const int *b, global int2 *out) {
        size_t i = get_global_id(0);
        int x = a[i], y = b[0];
        int bits = (x % 8 == 0) | (x % 8 == 3) << 1 | (x % -4 == 1) << 2 | (x % 2 != 1) << 3 | (x % 2 == -1) << 4
                 | (x % INT_MIN == 0) << 5 | (x % INT_MIN == 1) << 6 | (x % 4 == 4) << 7;
        out[i] = (int2)(bits, y / 10 + y % 7 + (uchar)y / 3 + (short)y % -5 + (int)((uint)y / 641u) + (int)((long)y / -6));
    }";
    let shared = |_: usize| -123_456_789;
    Case::new(name, source).input(|i| number(0, i)).input(shared).expect(move |i| {
        let (x, y) = (number(0, i), shared(i));
        let tests = [
            x % 8 == 0,
            x % 8 == 3,
            x % -4 == 1,
            x % 2 != 1,
            x % 2 == -1,
            x.wrapping_rem(i32::MIN) == 0,
            x.wrapping_rem(i32::MIN) == 1,
            x % 4 == 4,
        ];
        let bits = tests.iter().rev().fold(0, |bits, &test| bits << 1 | i32::from(test));
        let short = i32::from(y as i16 % -5);
        [bits, y / 10 + y % 7 + i32::from(y as u8 / 3) + short + (y as u32 / 641) as i32 + y / -6]
    })
}

/// Comparisons of vectors, whose lanes are 0 and -1, converted; and their negations.
fn vectors(int: &'static str, real: &'static str) -> impl Fn(String) -> Case {
    move |name| {
        let source = format!(
            "kernel void t(global const int *a, global const int *b, global float4 *out) {{
                size_t i = get_global_id(0);
                {int}4 x = convert_{int}4((int4)(a[i], b[i], a[i], 1)), y = convert_{int}4((int4)(b[i], a[i], 2, a[i]));
                out[2 * i] = convert_float4(convert_{real}4(x < y));
                out[2 * i + 1] = convert_float4(convert_{real}4(-(x == y)));
            }}"
        );
        let case = Case::new(name, source).input(|i| number(0, i) % 100).input(|i| number(1, i) % 100).expect_n(
            8 * clift_tests::kernel::GLOBAL,
            |at| {
                let i = at / 8;
                let (a, b) = (number(0, i) % 100, number(1, i) % 100);
                let (x, y) = ([a, b, a, 1][at % 4], [b, a, 2, a][at % 4]);
                Some(match (at % 8 < 4, x < y, x == y) {
                    (true, true, _) => -1.0_f32,
                    (false, _, true) => 1.0,
                    _ => 0.0,
                })
            },
        );
        if real == "double" { case.needs(Need::Fp64) } else { case }
    }
}

/// Shifts of two words as one, by counts of 0 up to the width: guarded, selected, and by the complement of the count.
fn funnels(ty: &'static str, bits: u32) -> impl Fn(String) -> Case {
    move |name| {
        let source = format!(
            "kernel void t(global const ulong *a, global const ulong *b, global ulong4 *out) {{
                size_t i = get_global_id(0);
                {ty} x = ({ty})a[i], y = ({ty})b[i];
                {ty} n = i % {bits}, guarded = x, right = y;
                if (n) guarded = (x << n) | (y >> ({bits} - n));
                if (n) right = (x << ({bits} - n)) | (y >> n);
                {ty} selected = n == 0 ? x : ({ty})((x << n) | (y >> ({bits} - n)));
                {ty} complement = (x << n) | ((y >> 1) >> (~n & {last}));
                out[i] = (ulong4)(guarded, right, selected, complement);
            }}",
            last = bits - 1
        );
        Case::new(name, source).input(|i| spread(0, i)).input(|i| spread(1, i)).expect(move |i| {
            let mask = u64::MAX >> (64 - bits);
            let (x, y, n) = (spread(0, i) & mask, spread(1, i) & mask, i as u32 % bits);
            let both = u128::from(x) << bits | u128::from(y);
            let left = (both << n >> bits) as u64 & mask;
            [left, (both >> n) as u64 & mask, left, left]
        })
    }
}

/// Functions that tell a truth as 1, converted to a floating-point type and multiplied; beside comparisons that are -1.
fn truths(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const float *a, global const float *b, global float *out) {
            size_t i = get_global_id(0);
            float x = a[i], y = b[i];
            out[8 * i] = (float)isless(x, y);
            out[8 * i + 1] = -(float)isgreater(x, y);
            out[8 * i + 2] = (float)-(x < y);
            out[8 * i + 3] = isnan(x) * 2.0f;
            out[8 * i + 4] = (float)any((int2)(x < y ? -1 : 0, x == 2 ? -1 : 0)) + 4 * (float)all((int2)(x < y ? -1 : 0, -1));
            out[8 * i + 5] = convert_float(isequal(x, y)) + 2 * (float)islessgreater(x, y) + 4 * (float)isnotequal(x, y);
            out[8 * i + 6] = (float)signbit(x) + 2 * (float)isfinite(x) + 4 * (float)isordered(x, y);
            out[8 * i + 7] = isgreaterequal(x, y) * 3.0f + islessequal(x, y) * 5.0f + (x == y ? -1 : 0);
        }",
    )
    .input(|i| truth_operand(0, i))
    .input(|i| truth_operand(1, i))
    .expect(|i| {
        let (x, y) = (truth_operand(0, i), truth_operand(1, i));
        let one = |truth: bool| if truth { 1.0_f32 } else { 0.0 };
        [
            one(x < y),
            -one(x > y),
            -one(x < y) + 0.0,
            one(x.is_nan()) * 2.0,
            one(x < y || x == 2.0) + 4.0 * one(x < y),
            one(x == y) + 2.0 * one(x.partial_cmp(&y).is_some_and(|order| order.is_ne())) + 4.0 * one(x != y),
            one(x.is_sign_negative()) + 2.0 * one(x.is_finite()) + 4.0 * one(!x.is_nan() && !y.is_nan()),
            3.0 * one(x >= y) + 5.0 * one(x <= y) - one(x == y),
        ]
    })
    .source_only("takes a signed integer of one bit for an unsigned one")
}

/// Truths of all integer types, converted with a rounding mode.
fn rounded_truths(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const int *a, global const int *b, global float *out) {
            size_t i = get_global_id(0);
            int x = a[i], y = b[i];
            out[5 * i] = convert_float_rte((short)(x < y));
            out[5 * i + 1] = convert_float_rtp((char)(x != y));
            out[5 * i + 2] = convert_float_rtz(x > y);
            out[5 * i + 3] = convert_float_rtn((long)(x == y)) - convert_float((short)(x <= y));
            out[5 * i + 4] = convert_float2_rte((short2)(x >= y, 5)).x;
        }",
    )
    .input(|i| number(0, i))
    .input(|i| number(1, i))
    .expect(|i| {
        let (x, y) = (number(0, i), number(1, i));
        let one = |truth: bool| if truth { 1.0_f32 } else { 0.0 };
        [one(x < y), one(x != y), one(x > y), one(x == y) - one(x <= y), one(x >= y)]
    })
    .source_only("takes a signed integer of one bit for an unsigned one")
}

fn truth_operand(seed: u64, i: usize) -> f32 {
    match number(seed, i) {
        i32::MIN => f32::NEG_INFINITY,
        i32::MAX => f32::NAN,
        small => small as f32,
    }
}

/// Saturation and overflow, as programs spell them.
fn overflow(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const int *a, global const int *b, global int *out) {
            size_t i = get_global_id(0);
            int x = a[i], y = b[i];
            uint u = x, v = y;
            out[6 * i] = u + v < u ? 0xffffffff : u + v;
            out[6 * i + 1] = u < v ? 0 : u - v;
            long sum = (long)x + y;
            out[6 * i + 2] = sum > INT_MAX ? INT_MAX : sum < INT_MIN ? INT_MIN : (int)sum;
            out[6 * i + 3] = u != 0 && (u * v) / u != v;
            out[6 * i + 4] = x < y ? -1 : x > y;
            out[6 * i + 5] = (u > v) - (u < v);
        }",
    )
    .input(|i| number(0, i))
    .input(|i| number(1, i))
    .expect(|i| {
        let (x, y) = (number(0, i), number(1, i));
        let (u, v) = (x as u32, y as u32);
        [
            u.saturating_add(v) as i32,
            u.saturating_sub(v) as i32,
            x.saturating_add(y),
            i32::from(u.overflowing_mul(v).1),
            x.cmp(&y) as i32,
            u.cmp(&v) as i32,
        ]
    })
}

/// Variables that are 0 or 1 in loops, and what C computes with them.
fn flags(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const uint *in, global int4 *found, global uchar4 *bytes) {
            size_t i = get_global_id(0);
            uint x = in[i];
            bool any = false, all = true, odd = 0;
            uchar runs = 0, longest = 0;
            for (uint k = 0; k < 9; k++) {
                bool set = x >> k & 1;
                any |= set;
                all *= (x >> k) % 3 > 0;
                odd = odd != set;
                uchar choice = (!set && k != x % 9) * (1 + (x >> k & 15));
                longest = max(longest, choice);
                runs = set ? runs + 1 : 0;
            }
            found[i] = (int4)(any, all + any, odd * (int)x, !any + !all);
            bytes[i] = (uchar4)(runs, longest, any && !all ? 3 : 200, all & odd);
        }",
    )
    .input(|i| spread(3, i) as u32 >> (i % 29))
    .expect(|i| {
        let x = spread(3, i) as u32 >> (i % 29);
        let (any, all, odd, _, _) = flags_of(x);
        [any as i32, all as i32 + any as i32, if odd { x as i32 } else { 0 }, i32::from(!any) + i32::from(!all)]
    })
    .expect(|i| {
        let (any, all, odd, runs, longest) = flags_of(spread(3, i) as u32 >> (i % 29));
        [runs, longest, if any && !all { 3 } else { 200 }, u8::from(all & odd)]
    })
}

/// What [`flags`] finds in a word.
fn flags_of(x: u32) -> (bool, bool, bool, u8, u8) {
    let (mut any, mut all, mut odd, mut runs, mut longest) = (false, true, false, 0, 0);
    for k in 0..9 {
        let set = x >> k & 1 == 1;
        any |= set;
        all &= !(x >> k).is_multiple_of(3);
        odd ^= set;
        let choice = if !set && k != x % 9 { 1 + (x >> k & 15) as u8 } else { 0 };
        longest = longest.max(choice);
        runs = if set { runs + 1 } else { 0 };
    }
    (any, all, odd, runs, longest)
}

/// Loops that only count: divisions by repeated subtraction and the like.
fn counting(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const uint *in, global uint4 *out, global int4 *signs) {
            size_t i = get_global_id(0);
            uint x = in[i], row = 0, n = 0, even = x, m = 7;
            while (x > 640) { x -= 640; row++; }
            while (even >= 2) { even -= 2; n += 3; }
            for (uchar k = 250; k != (uchar)in[i]; k++) m -= 5;
            out[i] = (uint4)(x, row, even + n, m);
            int s = (int)in[i] - 3000, up = 0, down = 0;
            while (s < 0) { s += 37; up++; }
            int rest = s;
            do { rest -= 100; down++; } while (rest >= 0);
            long wide = in[i];
            while (wide <= 100000) wide += 999;
            signs[i] = (int4)(s, up, rest * 8 + down, (int)wide);
        }",
    )
    .input(|i| spread(4, i) as u32 % 20_000)
    .expect(|i| {
        let x = spread(4, i) as u32 % 20_000;
        let rows = if x > 640 { (x - 641) / 640 + 1 } else { 0 };
        let counted = u32::from((x as u8).wrapping_sub(250));
        [x - rows * 640, rows, x % 2 + x / 2 * 3, 7u32.wrapping_sub(5 * counted)]
    })
    .expect(|i| {
        let x = (spread(4, i) as u32 % 20_000) as i32;
        let mut s = x - 3000;
        let up = if s < 0 { (-s + 36) / 37 } else { 0 };
        s += 37 * up;
        let down = s / 100 + 1;
        let wide = x + (100_000 - x) / 999 * 999 + 999;
        [s, up, (s - 100 * down) * 8 + down, wide]
    })
}

/// Powers of the base 2, quotients by powers of two, and differences with negated terms: all exact.
fn exact_floats(name: String) -> Case {
    Case::new(
        name,
        "kernel void t(global const int *in, global float4 *out) {
            size_t i = get_global_id(0);
            float n = in[i];
            out[i] = (float4)(pow(2.0f, n) + powr(2.0f, -n), n / 8.0f - -n / -0.25f, -n + 3.0f * n, n / 0x1p127f * 0x1p127f);
        }",
    )
    .input(|i| spread(5, i) as i32 % 12)
    .expect(|i| {
        let n = (spread(5, i) as i32 % 12) as f32;
        [n.exp2() + (-n).exp2(), n / 8.0 - 4.0 * n, 2.0 * n, n]
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for real in ["float", "double"] {
        cases.extend(levels(booleans(real), &format!("comparisons_as_{real}")));
    }
    for (int, real) in [
        ("int", "float"),
        ("char", "float"),
        ("short", "float"),
        ("long", "float"),
        ("long", "double"),
        ("int", "double"),
    ] {
        cases.extend(levels(vectors(int, real), &format!("comparisons_of_{int}4_as_{real}4")));
    }
    for (ty, bits) in [("uchar", 8), ("ushort", 16), ("uint", 32), ("ulong", 64)] {
        cases.extend(levels(funnels(ty, bits), &format!("funnel_shifts_of_{ty}")));
    }
    cases.extend(levels(remainders, "remainders_and_quotients"));
    cases.extend(levels(flags, "flags_in_loops"));
    cases.extend(levels(counting, "loops_that_only_count"));
    cases.extend(levels(exact_floats, "exact_powers_and_quotients"));
    cases.extend(levels(overflow, "saturation_and_overflow"));
    cases.extend(levels(truths, "truths_of_functions"));
    cases.extend(levels(rounded_truths, "truths_converted_with_a_rounding_mode"));
    cases
}
