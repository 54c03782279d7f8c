//! What loops carry from iteration to iteration: indices of least elements, which are compared with again, and sums of which
//! few bits are stored. Beside them, indices that wrap around and positions that are vectors: what neighbouring work-items
//! share is hidden.

use clift_tests::kernel::{Case, GLOBAL};
use clift_tests::values::spread;

/// Elements that each work-item searches.
const ELEMENTS: usize = 9;

/// Few different numbers, so that some are equal.
fn element(k: usize) -> u8 {
    (spread(71, k) % 23) as u8
}

fn elements(i: usize) -> [u8; ELEMENTS] {
    std::array::from_fn(|k| element(i + k * GLOBAL))
}

/// The index of the least element in memory that all work-items read.
fn least(name: &str, update: &str) -> Case {
    Case::new(
        format!("searches::least_{name}"),
        format!(
            "kernel void t(global const uchar *a, global uint *out, uint count) {{
                uint i = get_global_id(0), items = get_global_size(0), m = 0;
                for (uint k = 1; k < count; k++) {update}
                out[i] = m * 100 + a[i + m * items];
            }}"
        ),
    )
    .input_n(GLOBAL * ELEMENTS, element)
    .expect(|i| {
        let elements = elements(i);
        let least = (0..ELEMENTS).min_by_key(|&k| elements[k]).unwrap_or(0);
        least as u32 * 100 + u32::from(elements[least])
    })
    .value(ELEMENTS as u32)
}

/// A list of its own that each work-item sorts, as far as its first `sorted` elements.
fn sort(name: &str, sorted: usize, loops: &str) -> Case {
    Case::new(
        format!("searches::{name}"),
        format!(
            "kernel void t(global const uchar *a, global uint *out) {{
                uint i = get_global_id(0), items = get_global_size(0);
                uchar v[{ELEMENTS}];
                for (int k = 0; k < {ELEMENTS}; k++) v[k] = a[i + k * items];
                {loops}
                out[i] = v[{ELEMENTS} / 2] * 256 + v[{sorted} - 1];
            }}"
        ),
    )
    .input_n(GLOBAL * ELEMENTS, element)
    .expect(move |i| {
        let mut elements = elements(i);
        elements.sort_unstable();
        u32::from(elements[ELEMENTS / 2]) * 256 + u32::from(elements[sorted - 1])
    })
}

fn selection(name: &str, sorted: usize) -> Case {
    let loops = format!(
        "for (int k = 0; k < {sorted}; k++) {{
            int m = k;
            for (int j = k + 1; j < {ELEMENTS}; j++) if (v[j] < v[m]) m = j;
            uchar t = v[k];
            v[k] = v[m];
            v[m] = t;
        }}"
    );
    sort(&format!("selection_{name}"), sorted, &loops)
}

/// A triangle of swaps, of which the last row is empty.
fn bubble() -> Case {
    let loops = format!(
        "for (int k = 0; k < {ELEMENTS}; k++)
            for (int j = 0; j < {ELEMENTS} - 1 - k; j++)
                if (v[j] > v[j + 1]) {{
                    uchar t = v[j];
                    v[j] = v[j + 1];
                    v[j + 1] = t;
                }}"
    );
    sort("bubble", ELEMENTS, &loops)
}

/// Neighbours on a ring of a power of two, also of one smaller than a pack.
fn ring(size: usize) -> Case {
    let at = move |i: usize, away: i64| element(((i as i64 + away) & (size as i64 - 1)) as usize);
    Case::new(
        format!("searches::ring_of_{size}"),
        "kernel void t(global const uchar *a, global uint *out, int size) {
            int i = get_global_id(0), sum = 0;
            for (int d = -2; d <= 2; d++) sum = sum * 24 + a[(i + d) & (size - 1)];
            out[i] = sum;
        }",
    )
    .input_n(size, element)
    .expect(move |i| (-2..=2).fold(0_u32, |sum, away| sum * 24 + u32::from(at(i, away))))
    .value(size as i32)
}

/// Positions as vectors, of which one element is the same for all work-items of a row.
fn positions() -> Case {
    const WIDTH: usize = 48;
    const HEIGHT: usize = 5;
    let at = |x: usize, y: usize| u32::from(element(y * WIDTH + x));
    Case::new(
        "searches::positions",
        "kernel void t(global const uchar *a, global uint *out, int2 size) {
            int2 at = (int2)(get_global_id(0), get_global_id(1));
            uint sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int2 p = clamp(at + (int2)(dx, dy), (int2)(0), size - 1);
                    sum = sum * 3 + a[p.y * size.x + p.x];
                }
            out[at.y * size.x + at.x] = sum;
        }",
    )
    .range(&[WIDTH, HEIGHT], &[&[16, 1], &[3, 5], &[48, 1]])
    .input_n(WIDTH * HEIGHT, element)
    .expect(move |i| {
        let (x, y) = (i % WIDTH, i / WIDTH);
        let around = |at: usize, d: usize, size: usize| (at + d).saturating_sub(1).min(size - 1);
        let places = (0..9).map(|k| (around(x, k % 3, WIDTH), around(y, k / 3, HEIGHT)));
        places.fold(0_u32, |sum, (x, y)| sum * 3 + at(x, y))
    })
    .value([WIDTH as i32, HEIGHT as i32])
}

/// Sums of products of which 16 bits are stored, in loops of both forms.
fn short_sums(name: &str, body: &str) -> Case {
    Case::new(
        format!("searches::short_sums_{name}"),
        format!(
            "kernel void t(global const short *a, global short *out, int count) {{
                int i = get_global_id(0), items = get_global_size(0), sum = i, k = 0;
                {body}
                out[i] = sum;
            }}"
        ),
    )
    .input_n(GLOBAL * ELEMENTS, |k| (spread(72, k) % 60000) as i16)
    .expect(|i| {
        let products = (0..ELEMENTS).map(|k| {
            let x = (spread(72, i + k * GLOBAL) % 60000) as i16;
            x.wrapping_mul(k as i16 - 3)
        });
        products.fold(i as i16, |sum, product| sum.wrapping_add(product))
    })
    .value(ELEMENTS as i32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        least("by_branch", "if (a[i + k * items] < a[i + m * items]) m = k;"),
        least("by_select", "m = a[i + k * items] < a[i + m * items] ? k : m;"),
        least("by_two", "{ if (a[i + k * items] < a[i + m * items]) m = k; if (a[i + m * items] < a[i]) continue; }"),
        selection("to_the_middle", ELEMENTS / 2 + 1),
        selection("to_the_end", ELEMENTS - 1),
        bubble(),
        positions(),
        short_sums("do", "do { sum += a[i + k * items] * (k - 3); k++; } while (k < count);"),
        short_sums("while", "while (k < count) { sum += a[i + k * items] * (k - 3); k++; }"),
    ];
    cases.extend([2, 8, 64, 256].map(ring));
    cases
}
