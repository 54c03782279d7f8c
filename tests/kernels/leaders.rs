//! Regions that one work-item of a group executes alone, such as the sum by item 0: conditions that hold for one item at most,
//! loops, values that others have as well, private arrays, and leaders that change.

use clift_tests::kernel::{Case, Launch};
use clift_tests::values::spread;

use crate::barriers::{group, value, with_scratch};

fn sum(launch: &Launch, i: usize) -> i32 {
    group(launch, i).map(value).sum()
}

/// What a kernel does between two barriers, and what each item has afterwards.
struct Leader {
    name: &'static str,
    /// Uses `x`, `l`, `n`, `i`, `s`, `a`.
    region: &'static str,
    /// `x` of an item with a local id in a group of some size, from its own `x` and the group's elements.
    expected: fn(i32, usize, &[i32]) -> i32,
}

const LEADERS: &[Leader] = &[
    Leader {
        name: "first",
        region: "if (l == 0) for (int k = 0; k < n; k++) x += s[k];",
        expected: |x, l, s| if l == 0 { x + s.iter().sum::<i32>() } else { x },
    },
    Leader {
        name: "last",
        region: "if (l == n - 1) { x = 1; for (int k = 0; k < n; k++) x = max(x, s[k] + k); }",
        expected: |x, l, s| match l + 1 == s.len() {
            true => s.iter().enumerate().map(|(k, &e)| e + k as i32).max().unwrap_or(0).max(1),
            false => x,
        },
    },
    Leader {
        name: "below_one",
        region: "if ((uint)l < 1u && n > 2) { int k = 0; while (k < n && s[k] % 7 != 3) k++; x = k; }",
        expected: |x, l, s| match l == 0 && s.len() > 2 {
            true => s.iter().position(|e| e % 7 == 3).unwrap_or(s.len()) as i32,
            false => x,
        },
    },
    Leader {
        name: "others_do_more",
        region: "if (l != n / 2) x += 3; else { for (int k = n; k-- > 0;) x = x * 3 + s[k] + s[l]; }",
        expected: |x, l, s| match l == s.len() / 2 {
            true => s.iter().rev().fold(x, |x, e| x.wrapping_mul(3).wrapping_add(e.wrapping_add(s[l]))),
            false => x + 3,
        },
    },
    Leader {
        name: "one_in_32",
        region: "if ((l & 31) == 5) for (int k = 0; k < n; k += 2) x ^= s[k] + l;",
        expected: |x, l, s| match l % 32 == 5 {
            true => s.iter().step_by(2).fold(x, |x, e| x ^ (e + l as i32)),
            false => x,
        },
    },
    Leader {
        name: "leaves_early",
        region: "for (int r = 0; r < 3; r++)
                    if (l == r) { for (int k = 0; k < n; k++) { if (s[k] > 900) break; x += s[k] * r; } x++; }",
        expected: |x, l, s| match l < 3 {
            true => s.iter().take_while(|&&e| e <= 900).fold(x, |x, e| x + e * l as i32) + 1,
            false => x,
        },
    },
    Leader {
        name: "own_array",
        region: "if (l == 0) {
                    int h[8] = {0, 0, 0, 0, 0, 0, 0, 0};
                    for (int k = 0; k < n; k++) h[s[k] & 7] += s[k];
                    for (int k = 0; k < 8; k++) x = x * 5 + h[k];
                }",
        expected: |x, l, s| {
            let mut sums = [0i32; 8];
            for &e in s {
                sums[(e & 7) as usize] += e;
            }
            if l == 0 { sums.iter().fold(x, |x, &sum| x.wrapping_mul(5).wrapping_add(sum)) } else { x }
        },
    },
    Leader {
        name: "array_of_all",
        region: "int h[4]; for (int k = 0; k < 4; k++) h[(k + s[l]) & 3] = x + k;
                if (l == 1) for (int k = 0; k < n; k++) h[s[k] & 3] += s[k];
                x = h[0] + 2 * h[1] + 3 * h[2] + 4 * h[3];",
        expected: |x, l, s| {
            let mut h = [0i32; 4];
            for k in 0..4 {
                h[((k + s[l]) & 3) as usize] = x + k;
            }
            if l == 1 {
                s.iter().for_each(|&e| h[(e & 3) as usize] += e);
            }
            h[0] + 2 * h[1] + 3 * h[2] + 4 * h[3]
        },
    },
    Leader {
        name: "leaders_take_turns",
        region: "for (int r = 0; r < n; r++) { if (l == r) { for (int k = 0; k < 4; k++) s[r] += s[(r + k) % n] & 15; } barrier(CLK_LOCAL_MEM_FENCE); }
                x = s[l];",
        expected: |_, l, s| {
            let mut s = s.to_vec();
            for r in 0..s.len() {
                for k in 0..4 {
                    s[r] += s[(r + k) % s.len()] & 15;
                }
            }
            s[l]
        },
    },
    Leader {
        name: "rare_paths_of_functions",
        region: "if (l == 0) { float t = 0; for (int k = 0; k < n; k++) t += floor(exp2((float)(s[k] & 7)) + 0.5f); x = (int)t; }",
        expected: |x, l, s| if l == 0 { s.iter().map(|e| 1 << (e & 7)).sum() } else { x },
    },
    Leader {
        name: "atomics",
        region: "local int total; if (l == 0) total = 0; barrier(CLK_LOCAL_MEM_FENCE);
                if (l == 0) for (int k = 0; k < n; k++) atomic_add(&total, s[k]);
                barrier(CLK_LOCAL_MEM_FENCE); x += total;",
        expected: |x, _, s| x + s.iter().sum::<i32>(),
    },
];

fn leader(leader: &'static Leader) -> Case {
    let source = format!(
        "kernel void t(global const int *a, global int *out, local int *s) {{
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), x = a[i] - 7;
            s[l] = a[i];
            barrier(CLK_LOCAL_MEM_FENCE);
            {}
            out[i] = x;
        }}",
        leader.region
    );
    let case = Case::new(format!("leaders::{}", leader.name), source).input(value);
    with_scratch(case.expect_in(move |launch, i| {
        let group = group(launch, i);
        let elements: Vec<i32> = group.clone().map(value).collect();
        (leader.expected)(value(i) - 7, i - group.start, &elements)
    }))
    .stated_local()
}

/// Only one item of the launch, and of each row of a group, does anything.
fn the_only_ones() -> Case {
    Case::new(
        "leaders::the_only_ones",
        "kernel void t(global const int *a, global int *out, global int *row) {
            int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
            out[y * w + x] = 1;
            if (x == 17 && y == 3) { int t = 0; for (int k = 0; k < w; k++) t += a[k] * 3; out[y * w + x] = t; }
            if (x != 5) return;
            for (int k = 0; k < w; k++) row[y * w + k] = a[y * w + k] * 2 + a[x];
        }",
    )
    .input_n(70 * 40, |k| (spread(7, k) % 1000) as i32)
    .expect_n(70 * 40, |k| {
        let sum: i32 = (0..70).map(|k| (spread(7, k) % 1000) as i32 * 3).sum();
        Some(if k == 3 * 70 + 17 { sum } else { 1 })
    })
    .expect_n(70 * 40, |k| Some((spread(7, k) % 1000) as i32 * 2 + (spread(7, 5) % 1000) as i32))
    .range(&[70, 40], &[&[1, 1], &[16, 4], &[64, 8], &[7, 5], &[70, 1], &[32, 40]])
}

/// The sum of a group, by item 0.
fn block_sums() -> Case {
    with_scratch(
        Case::new(
            "leaders::block_sums",
            "kernel void t(global const int *a, global int *out, local int *s) {
                size_t l = get_local_id(0), n = get_local_size(0);
                s[l] = a[get_global_id(0)];
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l == 0) for (size_t k = 1; k < n; k++) s[l] += s[l + k];
                barrier(CLK_LOCAL_MEM_FENCE);
                out[get_global_id(0)] = s[0];
            }",
        )
        .input(value)
        .expect_in(sum)
        .stated_local(),
    )
}

pub(crate) fn cases() -> Vec<Case> {
    LEADERS.iter().map(leader).chain([the_only_ones(), block_sums()]).collect()
}
