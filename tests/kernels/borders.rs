//! Loops that treat borders: clamped, mirrored, tested and wrapped indices, in all directions and with all kinds of counters,
//! at and away from the borders.

use clift_tests::kernel::{Case, GLOBAL};
use clift_tests::values::spread;

fn element(k: usize) -> i32 {
    spread(5, k) as i32 % 1000
}

/// A one-dimensional filter: the loop over `k` from `-r` to `r`, what it does with the element at `x + k`, and the same on the
/// host.
fn filter(
    name: &str,
    r: i32,
    head: &str,
    body: &str,
    of: impl Fn(i32, i32) -> Option<i32> + Send + Sync + 'static,
) -> Case {
    let source = format!(
        "kernel void t(global int *out, global const int *in, int n, int r) {{
            int x = get_global_id(0), sum = 0;
            for ({head}) {{ {body} }}
            out[x] = sum;
        }}"
    );
    let n = GLOBAL as i32;
    Case::new(format!("borders::{name}_{r}"), source)
        .expect_n(GLOBAL, move |x| {
            let at = |k: i32| of(x as i32 + k, n).map_or(0, |at| element(at as usize).wrapping_mul(k + 7));
            Some((-r..=r).map(at).fold(0i32, i32::wrapping_add))
        })
        .input_n(GLOBAL, element)
        .value(n)
        .value(r)
}

const UP: &str = "int k = -r; k <= r; k++";
const DOWN: &str = "int k = r; k >= -r; --k";

/// Indices near the ends of their types, which must not be taken for those of elements inside.
fn at_the_end(
    ty: &str,
    start: &str,
    step: &str,
    condition: &str,
    expected: impl Fn(usize) -> i32 + Send + Sync + 'static,
) -> Case {
    let name: String =
        format!("{ty}_{start}_{step}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let source = format!(
        "kernel void t(global int *out, global const int *in, {ty} n, int count) {{
            {ty} x = get_global_id(0);
            {ty} at = {start};
            int sum = 0;
            for (int k = 0; k < count; k++) {{
                if ({condition}) sum += in[k & 7] + 1; else sum -= in[k & 3];
                at {step};
            }}
            out[x] = sum;
        }}"
    );
    let case = Case::new(format!("borders::end_{name}"), source)
        .expect_n(GLOBAL, move |x| Some(expected(x)))
        .input_n(GLOBAL, element);
    match ty {
        "long" | "ulong" => case.value(100i64).value(20i32),
        "uchar" => case.value(100u8).value(20i32),
        _ => case.value(100i32).value(20i32),
    }
}

/// What the loop of [`at_the_end`] computes.
fn sum(inside: impl Fn(i32) -> bool) -> i32 {
    (0..20).map(|k| if inside(k) { element(k as usize & 7) + 1 } else { -element(k as usize & 3) }).sum()
}

/// Elements `apart` from each one are read before it is known whether there are any, as on devices on which that is harmless.
fn read_beyond(n: usize, apart: usize) -> Case {
    let source = "kernel void t(global int *out, global const int *in, int n, int apart) {
            int x = get_global_id(0);
            int before = in[x - apart], after = in[x + apart];
            if (x - apart < 0) before = 5;
            if (x + apart >= n) after = 7;
            out[x] = before * 3 + after;
        }";
    Case::new(format!("borders::read_beyond_{n}_{apart}"), source)
        .range(&[n], &[&[64]])
        .expect_n(n, move |x| {
            let before = if x < apart { 5 } else { element(x - apart) };
            let after = if x + apart < n { element(x + apart) } else { 7 };
            Some(before * 3 + after)
        })
        .input_n(n, element)
        .value(n as i32)
        .value(apart as i32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, apart) in [(1024, 1), (1024, 32), (1 << 18, 1), (1 << 18, 4096), (1 << 20, 1 << 16)] {
        cases.push(read_beyond(n, apart));
    }
    for r in [0, 1, 4, 9, 40] {
        let clamp = |at: i32, n: i32| Some(at.clamp(0, n - 1));
        cases.push(filter("clamp_up", r, UP, "sum += in[clamp(x + k, 0, n - 1)] * (k + 7);", clamp));
        cases.push(filter("clamp_down", r, DOWN, "sum += in[min(max(x + k, 0), n - 1)] * (k + 7);", clamp));
        cases.push(filter(
            "clamp_count",
            r,
            "int j = 0; j < 2 * r + 1; j++",
            "int k = j - r; int at = x + k; if (at < 0) at = 0; if (at >= n) at = n - 1; sum += in[at] * (k + 7);",
            clamp,
        ));
        let inside = |at: i32, n: i32| (0..n).contains(&at).then_some(at);
        cases.push(filter("test_up", r, UP, "if (x + k >= 0 && x + k < n) sum += in[x + k] * (k + 7);", inside));
        cases.push(filter(
            "test_down",
            r,
            DOWN,
            "if (x + k < 0 || n <= x + k) continue; sum += in[x + k] * (k + 7);",
            inside,
        ));
        cases.push(filter("test_unsigned", r, UP, "if ((uint)(x + k) < (uint)n) sum += in[x + k] * (k + 7);", inside));
        cases.push(filter(
            "test_break",
            r,
            UP,
            "int at = x + k; if (at < 0) continue; if (at >= n) break; sum += in[at] * (k + 7);",
            inside,
        ));
        cases.push(filter(
            "test_long",
            r,
            UP,
            "long at = (long)get_global_id(0) + k; if (at >= 0 && at < n) sum += in[at] * (k + 7);",
            inside,
        ));
        let mirror = |at: i32, n: i32| {
            let at = if at < 0 { -at - 1 } else { at };
            Some(if at >= n { 2 * n - 1 - at } else { at })
        };
        cases.push(filter(
            "mirror",
            r,
            UP,
            "int at = x + k; if (k < -x) at = -x - k - 1; if (k > n - 1 - x) at = 2 * n - 1 - at; sum += in[at] * (k + 7);",
            mirror,
        ));
        let wrap = |at: i32, n: i32| Some(at.rem_euclid(n));
        cases.push(filter(
            "wrap",
            r,
            UP,
            "int at = x + k; at = at < 0 ? at + n : at; at = at >= n ? at - n : at; sum += in[at] * (k + 7);",
            wrap,
        ));
    }
    cases.push(at_the_end("uint", "4294967286u + x % 3", "+= 1", "at < n", |x| {
        sum(|k| (u32::MAX - 9).wrapping_add(x as u32 % 3).wrapping_add(k as u32) < 100)
    }));
    cases.push(at_the_end("uint", "x % 5", "-= 1", "at < n", |x| sum(|k| (x as u32 % 5).wrapping_sub(k as u32) < 100)));
    cases.push(at_the_end("uchar", "250 + x % 3", "+= 3", "at < n", |x| {
        sum(|k| ((250 + x as i32 % 3 + 3 * k) as u8) < 100)
    }));
    cases.push(at_the_end("ulong", "18446744073709551606ul + x % 3", "+= 1", "at < n", |x| {
        sum(|k| (u64::MAX - 9).wrapping_add(x as u64 % 3).wrapping_add(k as u64) < 100)
    }));
    cases.push(at_the_end("long", "(long)x % 50 - 10", "+= 7", "at >= 0 && at < n", |x| {
        sum(|k| (0..100).contains(&(x as i32 % 50 - 10 + 7 * k)))
    }));
    cases.push(at_the_end("int", "(int)x % 50 + 60", "-= 7", "at >= 0 && at < n", |x| {
        sum(|k| (0..100).contains(&(x as i32 % 50 + 60 - 7 * k)))
    }));
    cases
}
