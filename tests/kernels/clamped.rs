//! Neighbours in tiles that are one pack wide: each pack has lanes whose index is replaced by one that all lanes share, or by a
//! mirrored one. What no lane chooses is out of bounds.

use clift_tests::kernel::{Case, Element};
use clift_tests::values::spread;

/// Work-items of a row, and rows.
const WIDTH: usize = 16;
const HEIGHT: usize = 64;

/// An index that no access may use.
const FAR: i32 = 1 << 29;

/// Indices in rows of [`WIDTH`] elements, in OpenCL C and here: of `x`, and of the arguments 3, 12 and [`FAR`].
type Index = (&'static str, fn(i32) -> i32);

const INDICES: [Index; 9] = [
    ("max(x - 1, 0)", |x| (x - 1).max(0)),
    ("max(x - 1, lo)", |x| (x - 1).max(3)),
    ("min(x + 1, hi)", |x| (x + 1).min(12)),
    ("clamp(x + 2, lo, hi)", |x| (x + 2).clamp(3, 12)),
    ("x == 0 ? hi : x - 1", |x| if x == 0 { 12 } else { x - 1 }),
    ("x == hi ? lo : x == lo ? 0 : x", |x| {
        if x == 12 {
            3
        } else if x == 3 {
            0
        } else {
            x
        }
    }),
    ("x < lo ? lo - x : x - lo", |x| (x - 3).abs()),
    ("x < 16 ? x : bad", |x| x),
    ("min(x, bad)", |x| x),
];

fn expected(index: Index, at: usize) -> usize {
    let (row, x) = (at / WIDTH * WIDTH, at % WIDTH);
    if x == 5 { at } else { row + index.1(x as i32) as usize }
}

fn case<T: Element>(name: String, source: String, index: Index, of: fn(usize) -> T) -> Case {
    Case::new(name, source)
        .range(&[WIDTH, HEIGHT], &[&[16, 4], &[16, 1], &[16, 16]])
        .input_n(WIDTH * HEIGHT, of)
        .expect_n(WIDTH * HEIGHT, move |at| Some(of(expected(index, at))))
        .value(3_i32)
        .value(12_i32)
        .value(FAR)
}

/// Elements of global memory, of which some lanes load none.
fn global<T: Element>(ty: &str, number: usize, of: fn(usize) -> T) -> Case {
    let index = INDICES[number];
    let source = format!(
        "kernel void t(global const {ty} *in, global {ty} *out, int lo, int hi, int bad) {{
            int x = get_global_id(0), row = get_global_id(1) * 16, i = row + x;
            {ty} result = in[i];
            if (x != 5)
                result = in[row + ({})];
            out[i] = result;
        }}",
        index.0
    );
    case(format!("clamped::global_{ty}_{number}"), source, index, of)
}

/// Elements of a tile in local memory, in a loop with barriers, with indices that are computed before the barrier.
fn tile<T: Element>(ty: &str, number: usize, of: fn(usize) -> T) -> Case {
    let index = INDICES[number];
    let source = format!(
        "kernel void t(global const {ty} *in, global {ty} *out, int lo, int hi, int bad) {{
            local {ty} tile[16][16];
            int x = get_global_id(0), y = get_local_id(1), i = get_global_id(1) * 16 + x;
            int from = {};
            tile[y][x] = in[i];
            {ty} result = in[i];
            for (int step = 0; step < 2; ++step) {{
                barrier(CLK_LOCAL_MEM_FENCE);
                if (step == 1 && x != 5)
                    result = tile[y][from];
                barrier(CLK_LOCAL_MEM_FENCE);
            }}
            out[i] = result;
        }}",
        index.0
    );
    case(format!("clamped::tile_{ty}_{number}"), source, index, of)
}

fn element(at: usize) -> usize {
    spread(23, at) as usize
}

pub(crate) fn cases() -> Vec<Case> {
    let of_index = |number: usize| {
        [
            global::<u8>("uchar", number, |at| element(at) as u8),
            global::<i16>("short", number, |at| element(at) as i16),
            global::<u32>("uint", number, |at| element(at) as u32),
            global::<f64>("double", number, |at| (element(at) % 1000) as f64),
            global::<[f32; 4]>("float4", number, |at| [0, 1, 2, 3].map(|lane| (element(4 * at + lane) % 1000) as f32)),
            tile::<u16>("ushort", number, |at| element(at) as u16),
            tile::<f32>("float", number, |at| (element(at) % 1000) as f32),
            tile::<i64>("long", number, |at| element(at) as i64),
        ]
    };
    (0..INDICES.len()).flat_map(of_index).collect()
}
