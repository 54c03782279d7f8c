//! Ranges that are not whole packs, of kernels that cannot observe their work-groups: the runtime divides rows otherwise than the
//! application, and the last pack of each row has idle lanes. Indices are clamped, wrapped around and computed with 32 bits.

use clift_tests::kernel::{Case, Need};
use clift_tests::values::spread;

/// Rows, from less than a pack to many packs and some lanes.
const ROWS: [usize; 7] = [5, 33, 63, 100, 250, 504, 1001];
/// Number of rows, so that there are enough work-items to divide rows otherwise.
const HEIGHT: usize = 132;

/// Elements between rows, more than a pack.
const GAP: usize = 40;

/// What is in the output before.
const UNWRITTEN: fn(usize) -> i32 = |at| -1 - (at % 100) as i32;

fn element(at: usize) -> i32 {
    (spread(21, at) % 1000) as i32
}

/// Rows that are shifted by 3 and wrap around, with a gap between them.
fn shifted(width: usize) -> Case {
    let stride = width + GAP;
    Case::new(
        format!("ragged::shifted_{width}"),
        "kernel void t(global const int *in, global int *out, int width, int stride, int shift) {
            int x = get_global_id(0), y = get_global_id(1);
            int to = x - shift;
            if (to < 0)
                to += width;
            out[y * stride + to] = in[y * stride + x];
        }",
    )
    .range(&[width, HEIGHT], &locals(width))
    .input_n(stride * HEIGHT, element)
    .update(stride * HEIGHT, UNWRITTEN, move |_, at| {
        let (row, x) = (at / stride * stride, at % stride);
        Some(if x < width { element(row + (x + 3) % width) } else { UNWRITTEN(at) })
    })
    .value(width as i32)
    .value(stride as i32)
    .value(3_i32)
}

/// Sums of three neighbours, of which those outside of the row are replaced by the nearest one, in work-items within a border.
fn sums(width: usize) -> Case {
    Case::new(
        format!("ragged::sums_{width}"),
        "kernel void t(global const int *in, global int *out, int width, int last) {
            int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
            if (x > last)
                return;
            out[i] = in[y * width + max(x - 1, 0)] + in[i] + in[y * width + min(x + 1, width - 1)];
        }",
    )
    .range(&[width, HEIGHT], &locals(width))
    .input_n(width * HEIGHT, element)
    .update(width * HEIGHT, UNWRITTEN, move |_, at| {
        let (row, x) = (at / width * width, at % width);
        let of = |x: usize| element(row + x);
        let written = x + 2 < width;
        Some(if written { of(x.saturating_sub(1)) + of(x) + of((x + 1).min(width - 1)) } else { UNWRITTEN(at) })
    })
    .value(width as i32)
    .value(width as i32 - 3)
}

/// A global offset beyond 32 bits, which the kernel subtracts with 64 bits and with 32 bits.
fn far(width: usize) -> Case {
    let offset = (1_usize << 32) + 5;
    Case::new(
        format!("ragged::far_{width}"),
        "kernel void t(global const int *in, global int *out, int width) {
            size_t x = get_global_id(0) - get_global_offset(0);
            int same = (int)get_global_id(0) - 5, y = get_global_id(1);
            out[y * width + x] = in[y * width + same] + (get_global_id(0) > 0x100000000ul);
        }",
    )
    .range(&[width, HEIGHT], &locals(width))
    .offset(&[offset, 0])
    .input_n(width * HEIGHT, element)
    .expect_n(width * HEIGHT, move |at| Some(element(at) + 1))
    .value(width as i32)
}

/// Local sizes with which the same is computed.
fn locals(width: usize) -> Vec<&'static [usize]> {
    let all: [&[usize]; 5] = [&[1, 1], &[7, 2], &[21, 4], &[50, 1], &[48, 3]];
    all.into_iter().filter(|local| width.is_multiple_of(local[0]) || width > local[0]).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    let uniform = |case: Case, name: &str| case.named(name).options("-cl-std=CL1.2").uniform();
    let of_rows = |width: usize| {
        [
            shifted(width).needs(Need::NonUniform),
            uniform(shifted(width), &format!("ragged::shifted_uniform_{width}")),
            sums(width).needs(Need::NonUniform),
            uniform(sums(width), &format!("ragged::sums_uniform_{width}")),
            far(width).needs(Need::NonUniform),
        ]
    };
    ROWS.into_iter().flat_map(of_rows).collect()
}
