//! Work-items that a guard sends away: drivers may leave loops over work-items before those, which programs must not notice.

use clift_tests::kernel::Case;
use clift_tests::values::spread;

const WIDTH: usize = 70;
const HEIGHT: usize = 40;
const LOCALS: &[&[usize]] = &[&[1, 1], &[16, 4], &[64, 8], &[7, 5], &[70, 1], &[32, 40], &[3, 16]];

fn element(k: usize) -> i32 {
    (spread(3, k) % 1000) as i32
}

/// A guard over both dimensions: how programs write it, what it leaves, and the arguments `n` and `m`.
struct Guard {
    name: &'static str,
    ids: &'static str,
    guard: &'static str,
    lets: fn(i64, i64, i64, i64) -> bool,
    args: (i32, i32),
}

const GUARDS: &[Guard] = &[
    Guard {
        name: "both",
        ids: "int x = get_global_id(0), y = get_global_id(1);",
        guard: "if (x < n && y < m)",
        lets: |x, y, n, m| x < n && y < m,
        args: (33, 11),
    },
    Guard {
        name: "none",
        ids: "int x = get_global_id(0), y = get_global_id(1);",
        guard: "if (x < n && y < m)",
        lets: |x, y, n, m| x < n && y < m,
        args: (50, -3),
    },
    Guard {
        name: "returns",
        ids: "uint x = get_global_id(0), y = get_global_id(1);",
        guard: "if (x >= n || y > m) return;",
        lets: |x, y, n, m| x < n && y <= m,
        args: (17, 0),
    },
    Guard {
        name: "sizes",
        ids: "size_t x = get_global_id(0), y = get_global_id(1);",
        guard: "if (x + 3 <= n) if (y < (size_t)m)",
        lets: |x, y, n, m| x + 3 <= n && y < m,
        args: (48, 29),
    },
    Guard {
        name: "begins_later",
        ids: "int x = get_global_id(0), y = get_global_id(1);",
        guard: "if (x >= n && y >= m && x - n < 20)",
        lets: |x, y, n, m| x >= n && y >= m && x - n < 20,
        args: (13, 7),
    },
    Guard {
        name: "wraps",
        ids: "int x = get_global_id(0) + 0x7fffffe0, y = get_global_id(1) - 5;",
        guard: "if (x < n || y < m)",
        lets: |x, y, n, m| i64::from((x + 0x7fff_ffe0) as i32) < n || y - 5 < m,
        args: (0x7fff_fff0, 2),
    },
    Guard {
        name: "either",
        ids: "int x = get_global_id(0), y = get_global_id(1);",
        guard: "if (!(x >= n && y >= m))",
        lets: |x, y, n, m| !(x >= n && y >= m),
        args: (21, 19),
    },
    Guard {
        name: "depends_on_memory",
        ids: "int x = get_global_id(0), y = get_global_id(1);",
        guard: "if (y < m && in[get_global_id(0)] % 2 == 0 && x < n)",
        lets: |x, y, n, m| y < m && element(x as usize) % 2 == 0 && x < n,
        args: (40, 30),
    },
];

fn guard(guard: &'static Guard) -> Case {
    let Guard { name, ids, guard, lets, args: (n, m) } = *guard;
    Case::new(
        format!("guards::{name}"),
        format!(
            "kernel void t(global int *out, global const int *in, int n, int m) {{
                {ids}
                {guard} out[get_global_id(1) * get_global_size(0) + get_global_id(0)] += in[get_global_id(0)];
            }}"
        ),
    )
    .update(
        WIDTH * HEIGHT,
        |i| i as i32,
        move |_, i| {
            let (x, y) = (i % WIDTH, i / WIDTH);
            let is_let = lets(x as i64, y as i64, n.into(), m.into());
            Some(i as i32 + if is_let { element(x) } else { 0 })
        },
    )
    .range(&[WIDTH, HEIGHT], LOCALS)
    .input_n(WIDTH, element)
    .value(n)
    .value(m)
}

/// What an item computes with branches, a loop and a function before it comes to a guard behind which alone that is needed.
fn worked(x: usize) -> i32 {
    let c = element(x);
    let e = match c % 3 {
        0 => element(x * 7 % WIDTH),
        _ => (0..c % 5).fold(element(x * 11 % WIDTH), |e, k| e + k),
    };
    e * 3 + c + ((c % 4) as f32).exp2() as i32
}

/// As [`guard`], with work before the guard, and memory that is read before it and written afterwards.
fn guard_after_work(guard: &'static Guard) -> Case {
    let Guard { name, ids, guard, lets, args: (n, m) } = *guard;
    Case::new(
        format!("guards::{name}_after_work"),
        format!(
            "kernel void t(global int *out, global int *counts, global const int *in, int n, int m) {{
                {ids}
                size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
                int c = in[get_global_id(0)], e, old = counts[at];
                counts[at] = old + 2;
                if (c % 3 == 0) {{
                    e = in[get_global_id(0) * 7 % {WIDTH}];
                }} else {{
                    e = in[get_global_id(0) * 11 % {WIDTH}];
                    for (int k = 0; k < c % 5; k++) e += k;
                }}
                int work = e * 3 + c + (int)exp2((float)(c % 4));
                {guard} out[at] += work - old;
            }}"
        ),
    )
    .update(
        WIDTH * HEIGHT,
        |i| i as i32,
        move |_, i| {
            let (x, y) = (i % WIDTH, i / WIDTH);
            let is_let = lets(x as i64, y as i64, n.into(), m.into());
            Some(i as i32 + if is_let { worked(x) - 5 * i as i32 } else { 0 })
        },
    )
    .update(WIDTH * HEIGHT, |i| 5 * i as i32, |_, i| Some(5 * i as i32 + 2))
    .range(&[WIDTH, HEIGHT], LOCALS)
    .input_n(WIDTH, element)
    .value(n)
    .value(m)
}

pub(crate) fn cases() -> Vec<Case> {
    GUARDS.iter().map(guard).chain(GUARDS.iter().map(guard_after_work)).collect()
}
