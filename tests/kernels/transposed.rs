//! Kernels whose work-items access neighbouring elements along y: drivers may exchange the dimensions of their launches, which
//! programs must not notice.

use clift_tests::kernel::Case;
use clift_tests::values::spread;

const WIDTH: usize = 48;
const HEIGHT: usize = 37;
/// Columns that are whole packs, halves of packs, odd, and short.
const LOCALS: &[&[usize]] = &[&[4, 16], &[1, 48], &[37, 8], &[2, 24], &[5, 5], &[16, 1], &[3, 12]];

fn element(k: usize) -> f32 {
    (spread(5, k) % 1000) as f32
}

/// All queries that name a dimension, in one number.
fn ids() -> Case {
    Case::new(
        "transposed::ids",
        "kernel void t(global ulong *out, global const float *in, ulong width) {
            size_t x = get_global_id(0), y = get_global_id(1), ox = get_global_offset(0), oy = get_global_offset(1);
            size_t at = (x - ox) * width + (y - oy);
            ulong groups = get_group_id(0) * 1000 + get_group_id(1) * 10 + get_num_groups(0) * 3 + get_num_groups(1) * 7;
            ulong sizes = get_local_size(0) * 100 + get_local_size(1) * 3 + get_enqueued_local_size(0) + get_global_size(0);
            ulong local_ids = get_local_id(0) * 100 + get_local_id(1);
            out[at] = (ulong)in[at] + groups * 3 + sizes * 5 + local_ids * 11 + x * 13 + y * 17 + get_work_dim();
        }",
    )
    .range(&[HEIGHT, WIDTH], LOCALS)
    .offset(&[3, 2])
    .stated_local()
    .expect_in(|launch, at| {
        let local = launch.local.as_ref().expect("stated");
        // Element `at` belongs to x = at / WIDTH, y = at % WIDTH.
        let (x, y) = (at / WIDTH, at % WIDTH);
        let sizes = [HEIGHT, WIDTH];
        let of = |id: usize, d: usize| {
            let group = id / local[d];
            (group, id % local[d], local[d].min(sizes[d] - group * local[d]), sizes[d].div_ceil(local[d]))
        };
        let ((gx, lx, sx, nx), (gy, ly, sy, ny)) = (of(x, 0), of(y, 1));
        let groups = gx * 1000 + gy * 10 + nx * 3 + ny * 7;
        let sizes = sx * 100 + sy * 3 + local[0] + HEIGHT;
        let ids = lx * 100 + ly;
        element(at) as u64 + (groups * 3 + sizes * 5 + ids * 11 + (x + 3) * 13 + (y + 2) * 17 + 2) as u64
    })
    .input_n(WIDTH * HEIGHT, element)
    .value(WIDTH as u64)
}

/// The product of two matrices by a program that numbers rows by the first dimension.
fn rows_first() -> Case {
    const INNER: usize = 9;
    let b = |k: usize| element(k + 7);
    Case::new(
        "transposed::matrix_product",
        "kernel void t(global float *c, global const float *a, global const float *b, int n, int inner) {
            int row = get_global_id(0), col = get_global_id(1);
            float sum = 0;
            for (int k = 0; k < inner; k++) sum += a[row * inner + k] * b[k * n + col];
            c[row * n + col] = sum;
        }",
    )
    .range(&[HEIGHT, WIDTH], LOCALS)
    .expect(move |at| {
        let (row, col) = (at / WIDTH, at % WIDTH);
        (0..INNER).fold(0.0_f32, |sum, k| element(row * INNER + k).mul_add(b(k * WIDTH + col), sum))
    })
    .input_n(HEIGHT * INNER, element)
    .input_n(INNER * WIDTH, b)
    .value(WIDTH as i32)
    .value(INNER as i32)
}

/// All queries that name a dimension, by a program whose first dimension numbers planes and whose last one numbers elements.
fn planes_first() -> Case {
    const SIZES: [usize; 3] = [5, 6, 40];
    Case::new(
        "transposed::planes",
        "kernel void t(global ulong *out, global const float *in, uint ny, uint nz) {
            size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
            size_t at = ((x - get_global_offset(0)) * ny + y - get_global_offset(1)) * nz + z - get_global_offset(2);
            ulong groups = get_group_id(0) * 10000 + get_group_id(1) * 100 + get_group_id(2)
                         + get_num_groups(0) * 3 + get_num_groups(1) * 7 + get_num_groups(2) * 11;
            ulong sizes = get_local_size(0) * 10000 + get_local_size(1) * 100 + get_local_size(2)
                        + get_enqueued_local_size(0) * 3 + get_global_size(0) + get_global_size(2) * 5;
            ulong locals = get_local_id(0) * 10000 + get_local_id(1) * 100 + get_local_id(2);
            out[at] = (ulong)in[at] + groups * 3 + sizes * 5 + locals * 11 + x * 13 + y * 17 + z * 19 + get_work_dim();
        }",
    )
    .range(
        &SIZES,
        &[&[1, 2, 16], &[2, 3, 8], &[5, 1, 40], &[1, 1, 20], &[4, 4, 4], &[2, 2, 5], &[3, 4, 12], &[5, 6, 1]],
    )
    .offset(&[3, 2, 1])
    .stated_local()
    .expect_in(|launch, at| {
        let local = launch.local.as_ref().expect("stated");
        let ids = [at / SIZES[2] / SIZES[1], at / SIZES[2] % SIZES[1], at % SIZES[2]];
        let group = |d: usize| ids[d] / local[d];
        let count = |d: usize| SIZES[d].div_ceil(local[d]);
        let size = |d: usize| local[d].min(SIZES[d] - group(d) * local[d]);
        let groups = group(0) * 10000 + group(1) * 100 + group(2) + count(0) * 3 + count(1) * 7 + count(2) * 11;
        let sizes = size(0) * 10000 + size(1) * 100 + size(2) + local[0] * 3 + SIZES[0] + SIZES[2] * 5;
        let locals = ids[0] % local[0] * 10000 + ids[1] % local[1] * 100 + ids[2] % local[2];
        let [x, y, z] = [ids[0] + 3, ids[1] + 2, ids[2] + 1];
        element(at) as u64 + (groups * 3 + sizes * 5 + locals * 11 + x * 13 + y * 17 + z * 19 + 3) as u64
    })
    .input_n(SIZES.iter().product(), element)
    .value(SIZES[1] as u32)
    .value(SIZES[2] as u32)
}

/// Barriers, local memory and a border, with a third dimension.
fn tiles() -> Case {
    const DEPTH: usize = 3;
    Case::new(
        "transposed::local_memory_in_three_dimensions",
        "kernel void t(global float *out, global const float *in, int width, local float *tile) {
            int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
            int ly = get_local_id(1), columns = get_local_size(1), row = get_local_id(2) * get_local_size(0) + get_local_id(0);
            int at = (z * (int)get_global_size(0) + x) * width + y;
            tile[row * columns + ly] = in[at];
            barrier(CLK_LOCAL_MEM_FENCE);
            float left = ly > 0 ? tile[row * columns + ly - 1] : 0;
            out[at] = x % 3 == 1 ? left : left + in[at];
        }",
    )
    .range(&[HEIGHT, WIDTH, DEPTH], &[&[4, 16, 1], &[1, 48, 2], &[5, 5, 3], &[6, 12, 1]])
    .stated_local()
    .expect_in(|launch, at| {
        let local = launch.local.as_ref().expect("stated");
        let (x, y) = (at / WIDTH % HEIGHT, at % WIDTH);
        let left = if y.is_multiple_of(local[1]) { 0.0 } else { element(at - 1) };
        if x % 3 == 1 { left } else { left + element(at) }
    })
    .input_n(WIDTH * HEIGHT * DEPTH, element)
    .value(WIDTH as i32)
    .local_memory(|launch| launch.local.as_ref().map_or(1, |local| local.iter().product()) * 4)
}

/// The kernel requires the size of its work-groups.
fn required_size() -> Case {
    Case::new(
        "transposed::required_work_group_size",
        "kernel __attribute__((reqd_work_group_size(2, 16, 1))) void t(global float *out, global const float *in, int n) {
            int x = get_global_id(0), y = get_global_id(1);
            out[x * n + y] = in[x * n + y] * (float)get_local_size(0) + (float)get_local_id(1);
        }",
    )
    .range(&[38, WIDTH], &[&[2, 16]])
    .expect(|at| element(at) * 2.0 + (at % WIDTH % 16) as f32)
    .input(element)
    .value(WIDTH as i32)
    .stated_local()
}

/// An order of the work-items of a group can be observed: dimensions must not be exchanged.
fn ordered() -> Case {
    Case::new(
        "transposed::linear_ids",
        "kernel void t(global ulong *out, global const float *in, int n) {
            size_t at = get_global_id(0) * n + get_global_id(1);
            out[at] = (ulong)in[at] + get_local_linear_id() * 1000 + get_global_linear_id() * 100000;
        }",
    )
    .range(&[HEIGHT, WIDTH], LOCALS)
    .stated_local()
    .expect_in(|launch, at| {
        let local = launch.local.as_ref().expect("stated");
        let (x, y) = (at / WIDTH, at % WIDTH);
        let row = local[0].min(HEIGHT - x / local[0] * local[0]);
        element(at) as u64 + ((y % local[1] * row + x % local[0]) * 1000 + (y * HEIGHT + x) * 100_000) as u64
    })
    .input_n(WIDTH * HEIGHT, element)
    .value(WIDTH as i32)
}

/// Work-groups of one column, which exchange values at a barrier.
fn columns() -> Case {
    const SIZES: [usize; 3] = [5, 16, 24];
    Case::new(
        "transposed::columns",
        "kernel void t(global float *out, global const float *in, local float *shared) {
            int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), nz = get_global_size(2);
            int here = get_local_id(1) * get_local_size(2) + get_local_id(2), last = get_local_size(1) * get_local_size(2) - 1;
            int at = (x * (int)get_global_size(1) + y) * nz + z;
            shared[here] = in[at];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[at] = shared[last - here] * 2 + in[at] + get_group_id(0) * 3 + get_num_groups(0) + get_local_size(0);
        }",
    )
    .range(&SIZES, &[&[1, 8, 8], &[1, 16, 1], &[1, 1, 24], &[1, 4, 3], &[1, 2, 12], &[1, 1, 1], &[1, 16, 24]])
    .stated_local()
    .expect_in(|launch, at| {
        let local = launch.local.as_ref().expect("stated");
        let (x, y, z) = (at / SIZES[2] / SIZES[1], at / SIZES[2] % SIZES[1], at % SIZES[2]);
        let first = [y / local[1] * local[1], z / local[2] * local[2]];
        let here = (y - first[0]) * local[2] + z - first[1];
        let other = local[1] * local[2] - 1 - here;
        let from = (x * SIZES[1] + first[0] + other / local[2]) * SIZES[2] + first[1] + other % local[2];
        element(from) * 2.0 + element(at) + (x * 3 + SIZES[0] + 1) as f32
    })
    .input_n(SIZES.iter().product(), element)
    .local_memory(|launch| launch.local.as_ref().map_or(1, |local| local.iter().product()) * 4)
}

pub(crate) fn cases() -> Vec<Case> {
    vec![ids(), planes_first(), rows_first(), tiles(), required_size(), ordered(), columns()]
}
