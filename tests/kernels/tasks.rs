//! Kernels of one work-item with loops in them, as they are written for FPGAs: drivers may execute iterations together, which
//! programs must not notice.

use clift_tests::kernel::Case;
use clift_tests::values::spread;

/// Words of the buffers.
const WORDS: usize = 2048;

fn input(i: usize) -> i32 {
    (spread(61, i) % 1000) as i32 - 300
}

/// A kernel `t(global const int *a, global int *out, int n)` in one work-item, and what it leaves in `out`, which was zero.
fn task(name: &str, n: i32, body: &str, expected: impl Fn(&[i32], &mut [i32], usize)) -> Case {
    task_with("", name, n, body, expected)
}

/// The same with attributes.
fn task_with(attributes: &str, name: &str, n: i32, body: &str, expected: impl Fn(&[i32], &mut [i32], usize)) -> Case {
    let a: Vec<i32> = (0..WORDS).map(input).collect();
    let mut out = vec![0; WORDS];
    expected(&a, &mut out, n as usize);
    Case::new(
        format!("tasks::{name}_{n}"),
        format!("kernel {attributes} void t(global const int *a, global int *out, int n) {{ {body} }}"),
    )
    .range(&[1], &[&[1]])
    .stated_local()
    .input_n(WORDS, input)
    .update(WORDS, |_| 0, move |_, i| Some(out[i]))
    .value(n)
}

fn copies(n: i32) -> Case {
    task(
        "through_a_buffer",
        n,
        "int buffer[256];
        for (int first = 0; first < n; first += 256) {
            int size = min(256, n - first);
            for (int j = 0; j < size; j++) buffer[j] = a[first + j];
            for (int j = size - 1; j >= 0; j--) out[first + size - 1 - j] = buffer[j] * 3 + j;
        }",
        |a, out, n| {
            for first in (0..n).step_by(256) {
                let size = 256.min(n - first);
                for j in (0..size).rev() {
                    out[first + size - 1 - j] = a[first + j] * 3 + j as i32;
                }
            }
        },
    )
}

fn product(n: i32) -> Case {
    task(
        "product",
        n,
        "local int x[32 * 32], y[32 * 32];
        for (int i = 0; i < n * n; i++) { x[i] = a[i]; y[i] = a[n * n - 1 - i]; }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int sum = 0;
                for (int k = 0; k < n; k++) sum += x[i * n + k] * y[k * n + j];
                out[i * n + j] = sum;
            }",
        |a, out, n| {
            for (i, j) in (0..n * n).map(|at| (at / n, at % n)) {
                out[i * n + j] = (0..n).map(|k| a[i * n + k] * a[n * n - 1 - (k * n + j)]).sum();
            }
        },
    )
}

/// As [`product`], with the loops in an order in which iterations of the innermost one, whose number is constant, are
/// independent.
fn reordered_product(n: i32) -> Case {
    task_with(
        "__attribute__((reqd_work_group_size(1, 1, 1)))",
        "reordered_product",
        n,
        "local int x[32][32], y[32][32], z[32][32];
        int sums[32];
        for (int i = 0; i < n * n; i++) { x[i / n][i % n] = a[i]; y[i / n][i % n] = a[n * n - 1 - i]; }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                for (int j = 0; j < 32; j++) {
                    int sum = k == 0 ? 0 : sums[j];
                    sum += x[i][k] * y[k][j];
                    sums[j] = sum;
                    if (k == n - 1) z[i][j] = sum;
                }
        for (int i = 0; i < n * n; i++) out[i] = z[i / n][i % n];",
        |a, out, n| {
            for (i, j) in (0..n * n).map(|at| (at / n, at % n)) {
                out[i * n + j] = (0..n).map(|k| a[i * n + k] * a[n * n - 1 - (k * n + j)]).sum();
            }
        },
    )
}

fn filter(n: i32) -> Case {
    task(
        "filter",
        n,
        "int taps[11];
        for (int i = 0; i < 11; i++) taps[i] = i * i - 20;
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int i = min(j, 10); i >= 0; i--) sum += a[j - i] * taps[i];
            out[j] = sum;
        }",
        |a, out, n| {
            for j in 0..n {
                out[j] = (0..=j.min(10)).map(|i| a[j - i] * (i as i32 * i as i32 - 20)).sum();
            }
        },
    )
}

fn dependences(n: i32, apart: usize) -> Case {
    task(
        &format!("dependences_{apart}_apart"),
        n,
        &format!(
            "for (int i = 0; i < n; i++) out[i] = a[i];
            for (int i = 0; i < n; i++) out[i + {apart}] = out[i] * 3 + a[i];
            for (int i = 0; i < n; i++) out[i] = out[i + {apart}] ^ i;
            for (int i = n - 1; i > 0; i--) out[i] += out[i - 1];"
        ),
        move |a, out, n| {
            out[..n].copy_from_slice(&a[..n]);
            (0..n).for_each(|i| out[i + apart] = out[i].wrapping_mul(3).wrapping_add(a[i]));
            (0..n).for_each(|i| out[i] = out[i + apart] ^ i as i32);
            (1..n).rev().for_each(|i| out[i] = out[i].wrapping_add(out[i - 1]));
        },
    )
}

/// Shift registers, as programs for FPGAs have them: every iteration stores what later ones would have loaded.
fn shift_registers(n: i32) -> Case {
    task(
        "shift_registers",
        n,
        "int window[70]; uchar bytes[100];
        for (int i = 0; i < 70; i++) window[i] = i;
        for (int i = 0; i < 100; i++) bytes[i] = 3 * i;
        for (int t = 0; t < n; t++) {
            for (int i = 69; i > 0; --i) window[i] = window[i - 1];
            window[0] = a[t];
            for (int i = 0; i < 99; i++) bytes[i] = bytes[i + 1];
            bytes[99] = a[t];
            if (a[t] & 1)
                for (int i = 0; i < 68; i++)
                    if (window[i + 2] > window[i]) window[i] = window[i + 1] ^ window[i + 2];
            if (a[t] & 2)
                for (int i = 0; i < 60; i++) { window[i] = window[i + 3]; window[i + 1] += window[i + 5]; }
            out[t] = window[(t * 7) % 70] + bytes[(t * 11) % 100];
        }",
        |a, out, n| {
            let mut window: Vec<i32> = (0..70).collect();
            let mut bytes: Vec<u8> = (0..100).map(|i| (3 * i) as u8).collect();
            for t in 0..n {
                window.rotate_right(1);
                window[0] = a[t];
                bytes.rotate_left(1);
                bytes[99] = a[t] as u8;
                if a[t] & 1 != 0 {
                    for i in 0..68 {
                        if window[i + 2] > window[i] {
                            window[i] = window[i + 1] ^ window[i + 2];
                        }
                    }
                }
                if a[t] & 2 != 0 {
                    for i in 0..60 {
                        window[i] = window[i + 3];
                        window[i + 1] = window[i + 1].wrapping_add(window[i + 5]);
                    }
                }
                out[t] = window[(t * 7) % 70].wrapping_add(i32::from(bytes[(t * 11) % 100]));
            }
        },
    )
}

fn conditions(n: i32) -> Case {
    task(
        "conditions",
        n,
        "short sum = 5;
        int least = 900, count = 0, last = 0, place = 7;
        for (uint i = 0; i <= (uint)n; i++) {
            int x = a[i];
            if (x < 0) { sum += (short)x; if (x & 1) { out[i] = -x; continue; } }
            else if (x > 300) { out[i + 1024] = x; count++; }
            least = min(least, x ^ (int)i);
            last = x * 2;
            place += 3;
        }
        for (int i = n; i > 3; i -= 3) count += a[i] > 50 ? 2 : -1;
        out[2040] = sum; out[2041] = least; out[2042] = count; out[2043] = last; out[2044] = place;",
        |a, out, n| {
            let (mut sum, mut least, mut count, mut last, mut place) = (5i16, 900, 0, 0, 7);
            for i in 0..=n {
                let x = a[i];
                if x < 0 {
                    sum = sum.wrapping_add(x as i16);
                    if x & 1 == 1 {
                        out[i] = -x;
                        continue;
                    }
                } else if x > 300 {
                    out[i + 1024] = x;
                    count += 1;
                }
                least = least.min(x ^ i as i32);
                last = x * 2;
                place += 3;
            }
            (4..=n).rev().step_by(3).for_each(|i| count += if a[i] > 50 { 2 } else { -1 });
            out[2040..2045].copy_from_slice(&[sum.into(), least, count, last, place]);
        },
    )
}

fn early_exits(n: i32) -> Case {
    task(
        "early_exits",
        n,
        "int at = -1;
        for (int i = 0; i < n; i++) { out[i] = a[i] + 1; if (a[i] == 123456) { at = i; break; } }
        for (int i = 0; i < n; i++) {
            int steps = 0;
            for (int x = a[i]; x > 3; x /= 3) { if (x == 100) break; steps++; }
            out[1024 + i % 512] = steps;
        }
        out[2047] = at;",
        |a, out, n| {
            (0..n).for_each(|i| out[i] = a[i] + 1);
            for i in 0..n {
                let (mut x, mut steps) = (a[i], 0);
                while x > 3 && x != 100 {
                    steps += 1;
                    x /= 3;
                }
                out[1024 + i % 512] = steps;
            }
            out[2047] = -1;
        },
    )
}

fn extremes(n: i32, first_number: usize) -> Case {
    let number = move |a: &[i32], i: usize| {
        if i < first_number || a[i] % 3 == 0 { f32::NAN } else { a[i] as f32 }
    };
    task(
        &format!("extremes_after_{first_number}_nans"),
        n,
        &format!(
            "float most = NAN, least = NAN, bounded = 500;
            for (int i = 0; i < n; i++) {{
                float x = i < {first_number} || a[i] % 3 == 0 ? NAN : (float)a[i];
                most = fmax(most, x);
                least = fmin(x, least);
                if (a[i] & 1) bounded = fmin(bounded, x);
            }}
            out[0] = isnan(most) ? -7777 : (int)most;
            out[1] = isnan(least) ? -7777 : (int)least;
            out[2] = (int)bounded;"
        ),
        move |a, out, n| {
            let word = |x: f32| if x.is_nan() { -7777 } else { x as i32 };
            out[0] = word((0..n).fold(f32::NAN, |most, i| most.max(number(a, i))));
            out[1] = word((0..n).fold(f32::NAN, |least, i| least.min(number(a, i))));
            let odd = (0..n).filter(|&i| a[i] & 1 == 1);
            out[2] = odd.fold(500_f32, |least, i| least.min(number(a, i))) as i32;
        },
    )
}

/// Every work-item walks along a row of its own.
fn rows(width: usize) -> Case {
    const ROWS: usize = 24;
    Case::new(
        format!("tasks::rows_{width}"),
        "kernel void t(global const uchar4 *in, global uchar *out, int width) {
            int y = get_global_id(0);
            for (int x = 0; x < width; x++) {
                uchar4 p = in[y * width + x];
                out[y * width + x] = (p.x * 77 + p.y * 151 + p.z * 28) >> 8;
            }
        }",
    )
    .range(&[ROWS], &[&[1], &[4], &[8]])
    .input_n(4 * ROWS * width, |i| spread(62, i) as u8)
    .expect_n(ROWS * width, |i| {
        let [r, g, b] = [0, 1, 2].map(|c| u32::from(spread(62, 4 * i + c) as u8));
        Some(((r * 77 + g * 151 + b * 28) >> 8) as u8)
    })
    .value(width as i32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [1, 5, 16, 31, 100, 1000] {
        cases.extend([copies(n), filter(n), conditions(n), early_exits(n), shift_registers(n)]);
    }
    cases.extend([3, 8, 16, 27, 32].map(product));
    cases.extend([1, 16, 31, 32].map(reordered_product));
    for apart in [1, 3, 8, 16, 40] {
        cases.extend([7, 33, 500].map(|n| dependences(n, apart)));
    }
    for first_number in [0, 20, 1000] {
        cases.extend([1, 16, 50, 300].map(|n| extremes(n, first_number)));
    }
    cases.extend([1, 15, 16, 100].map(rows));
    cases
}
