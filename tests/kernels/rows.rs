//! Work-items that each walk along a row of their own, or read and write a block of their own: lengths that are not multiples of
//! anything, all widths of elements, and loads and stores that overlap.

use clift_tests::kernel::{Case, Element, GLOBAL, Need};
use clift_tests::values::spread;

/// Lengths of rows.
const LENGTHS: [usize; 6] = [1, 3, 4, 7, 16, 37];

fn element(k: usize) -> i64 {
    spread(11, k) as i64
}

/// Running sums of rows, for each type of elements, with indices of the type `index`.
fn sums<T: Element>(
    ty: &str,
    index: &str,
    n: usize,
    of: impl Fn(i64) -> T + Clone + Send + Sync + 'static,
    add: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Case {
    let source = format!(
        "kernel void t(global {ty} *out, global const {ty} *in, int n) {{
            {index} i = get_global_id(0);
            {ty} sum = 0;
            for ({index} k = 0; k < n; k++) {{
                sum += in[i * n + k];
                out[i * n + k] = sum;
            }}
        }}"
    );
    let values = of.clone();
    let case = Case::new(format!("rows::sums_{ty}_{index}_{n}"), source)
        .expect_n(GLOBAL * n, move |at| {
            let row = at / n * n;
            (row..=at).map(|k| of(element(k))).reduce(&add)
        })
        .input_n(GLOBAL * n, move |k| values(element(k)))
        .value(n as i32);
    if ty == "double" { case.needs(Need::Fp64) } else { case }
}

/// Rows of one buffer, in which each element is computed from the one `distance` before or behind it.
fn overlapping(distance: i32) -> Case {
    const STEPS: usize = 53;
    let stride = STEPS + distance.unsigned_abs() as usize;
    let first = |k: usize| (k * 7 % 23) as i32;
    let (from, to) = if distance > 0 { (0, distance as usize) } else { (distance.unsigned_abs() as usize, 0) };
    Case::new(
        format!("rows::overlapping_{distance}"),
        "kernel void t(global int *x, int n, int stride, int from, int to) {
            global int *row = x + get_global_id(0) * stride;
            for (int k = 0; k < n; k++)
                row[k + to] = row[k + from] * 3 + k;
        }",
    )
    .update(GLOBAL * stride, first, move |_, at| {
        let (start, place) = (at / stride * stride, at % stride);
        let mut row: Vec<i32> = (start..start + stride).map(first).collect();
        for k in 0..STEPS {
            row[k + to] = row[k + from].wrapping_mul(3).wrapping_add(k as i32);
        }
        Some(row[place])
    })
    .value(STEPS as i32)
    .value(stride as i32)
    .value(from as i32)
    .value(to as i32)
}

/// Elements that are read, written and read again, with a counter that starts below zero.
fn in_place(start: i32) -> Case {
    const N: usize = 13;
    Case::new(
        format!("rows::in_place_{start}"),
        "kernel void t(global float *x, int start, int n) {
            global float *row = x + get_global_id(0) * n - start;
            float carry = 0;
            for (int k = start; k < start + n; k++) {
                float old = row[k];
                row[k] = old + carry;
                carry = row[k] * 0.5f;
            }
        }",
    )
    .update(
        GLOBAL * N,
        |k| (k % 9) as f32,
        |_, at| {
            let row = at / N * N;
            let (mut carry, mut last) = (0.0f32, 0.0);
            for k in row..=at {
                last = (k % 9) as f32 + carry;
                carry = last * 0.5;
            }
            Some(last)
        },
    )
    .value(start)
    .value(N as i32)
}

/// Pairs of a row, whose halves are summed and exchanged.
fn pairs() -> Case {
    const N: usize = 10;
    Case::new(
        "rows::pairs",
        "kernel void t(global short *out, global const short *in, global int *sums, int n) {
            size_t row = get_global_id(0) * n * 2;
            int sum = 0;
            for (int k = 0; k < n; k++) {
                short a = in[row + 2 * k], b = in[row + 2 * k + 1];
                sum += a * b;
                out[row + 2 * k] = b;
                out[row + 2 * k + 1] = a;
            }
            sums[get_global_id(0)] = sum;
        }",
    )
    .expect_n(2 * GLOBAL * N, |at| Some(element(at ^ 1) as i16))
    .input_n(2 * GLOBAL * N, |k| element(k) as i16)
    .expect(|i| {
        let product = |k: usize| i32::from(element(2 * k) as i16) * i32::from(element(2 * k + 1) as i16);
        (i * N..(i + 1) * N).map(product).fold(0, i32::wrapping_add)
    })
    .value(N as i32)
}

/// Blocks with a gap, read and written without a loop, with an unsigned index.
fn blocks(ty: &str) -> Case {
    let source = format!(
        "kernel void t(global {ty} *out, global const {ty} *in) {{
            uint i = get_global_id(0);
            {ty} a[13];
            #pragma unroll
            for (uint k = 0; k < 13; k++) a[k] = in[i * 17u + k + (k > 6)];
            #pragma unroll
            for (uint k = 0; k < 7; k++) out[i * 9u + k + 1] = a[k] ^ a[12 - k];
        }}"
    );
    let mask = if ty == "uint" { u64::from(u32::MAX) } else { u64::MAX };
    let value = move |k: usize| element(k) as u64 & mask;
    let result = move |at: usize| {
        let (i, k) = (at / 9, (at % 9).checked_sub(1)?);
        let read = |k: usize| value(i * 17 + k + usize::from(k > 6));
        (k < 7).then(|| read(k) ^ read(12 - k))
    };
    let case = Case::new(format!("rows::blocks_{ty}"), source);
    if ty == "uint" {
        let case = case.expect_n(9 * GLOBAL, move |at| Some(result(at)? as u32));
        case.input_n(17 * GLOBAL, move |k| value(k) as u32)
    } else {
        case.expect_n(9 * GLOBAL, result).input_n(17 * GLOBAL, value)
    }
}

/// Rows and columns computed from one index, with a border, and a pointer that walks: images of all widths, as packs lie in one
/// row, at a border, or in two rows.
fn flattened(width: usize) -> Case {
    let height = GLOBAL / width;
    let pixel = |k: usize| (spread(3, k) % 100) as f32;
    Case::new(
        format!("rows::flattened_index_{width}"),
        "kernel void t(global float *out, global const float *in, int width, int height) {
            int i = get_global_id(0), x = i % width, y = i / width % height, image = i / (width * height);
            global float *o = out + (image * 9 * height + y) * width + x;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int yy = y + dy, xx = x + dx;
                    *o = yy >= 0 && xx >= 0 && yy < height && xx < width ? in[(image * height + yy) * width + xx] : 0;
                    o += width * height;
                }
        }",
    )
    .range(&[width * height], &[&[1], &[16], &[48], &[64], &[width]])
    .expect_n(9 * width * height, move |at| {
        let (k, y, x) = (at / (width * height), at / width % height, at % width);
        let (yy, xx) = ((y + k / 3).wrapping_sub(1), (x + k % 3).wrapping_sub(1));
        Some(if yy < height && xx < width { pixel(yy * width + xx) } else { 0.0 })
    })
    .input(pixel)
    .value(width as i32)
    .value(height as i32)
}

/// Products of rows whose elements differ in size.
fn mixed(n: usize) -> Case {
    let (float, double) = (|k: usize| (element(k) % 100) as f32, |k: usize| (element(k + 1) % 100) as f64);
    Case::new(
        format!("rows::mixed_{n}"),
        "kernel void t(global double *out, global const float *a, global const double *b, int n) {
            int i = get_global_id(0);
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[i * n + k];
            out[i] = sum;
        }",
    )
    .expect(move |i| (i * n..(i + 1) * n).fold(0.0, |sum, k| sum + f64::from(float(k)) * double(k)))
    .input_n(GLOBAL * n, float)
    .input_n(GLOBAL * n, double)
    .value(n as i32)
    .needs(Need::Fp64)
}

/// OpenCL vectors of which each work-item loads one from anywhere, and stores it reversed into every third place.
fn vectors<T: Element>(ty: &str, n: usize, of: impl Fn(i64) -> T + Clone + Send + Sync + 'static) -> Case {
    let reversed: Vec<String> = (0..n).rev().map(|c| format!("v.s{c:x}")).collect();
    let source = format!(
        "kernel void t(global {ty}{n} *out, global const {ty}{n} *in, global const int *order) {{
            int i = get_global_id(0);
            {ty}{n} v = in[order[i]];
            out[3 * i] = ({ty}{n})({});
        }}",
        reversed.join(", ")
    );
    let from = |i: usize| (7 * i + 3) % GLOBAL;
    let (values, elements) = (of.clone(), of.clone());
    let zero = move |_: usize| of(0);
    let case = Case::new(format!("rows::vectors_{ty}{n}"), source)
        .update(GLOBAL * 3 * n, zero, move |_, at| {
            let (place, component) = (at / n, at % n);
            let stored = place.is_multiple_of(3);
            Some(values(if stored { element(from(place / 3) * n + n - 1 - component) } else { 0 }))
        })
        .input_n(GLOBAL * n, move |k| elements(element(k)))
        .input(move |i| from(i) as i32);
    if ty == "double" { case.needs(Need::Fp64) } else { case }
}

/// Groups of several rows of `width` work-items, each with a loop over what it shares with its column and its row.
fn groups(width: usize) -> Case {
    const HEIGHT: usize = 12;
    const STEPS: usize = 9;
    let a = |k: usize| element(k) as i32;
    Case::new(
        format!("rows::groups_of_{width}"),
        "kernel void t(global int *out, global const int *a, int steps) {
            int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), sum = get_local_id(1);
            for (int k = 0; k < steps; k++) sum += a[x + k + y] * a[k + y * 2];
            out[y * width + x] = sum;
        }",
    )
    .range(&[width, HEIGHT], &[&[width, 4], &[width, 12], &[width, 1], &[width, 3]])
    .stated_local()
    .expect_in(move |launch, at| {
        let local = launch.local.as_ref().expect("stated");
        let (x, y) = (at % width, at / width);
        (0..STEPS).fold((y % local[1]) as i32, |sum, k| sum.wrapping_add(a(x + k + y).wrapping_mul(a(k + y * 2))))
    })
    .input_n(width + STEPS + 2 * HEIGHT, a)
    .value(STEPS as i32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![in_place(0), in_place(-5), pairs(), blocks("uint"), blocks("ulong")];
    cases.extend([1, 2, 3, 4, 5, 9, 15, 17, -1, -2, -3, -4, -7, -15, -17].map(overlapping));
    cases.extend([5, 16, 24, 48, 100, 240].map(flattened));
    cases.extend([1, 2, 3, 5, 6, 7, 9, 11, 12, 14, 15, 17, 24, 31, 33, 50].map(groups));
    for n in [2, 4, 8, 16] {
        cases.push(vectors("int", n, |x| x as i32));
        cases.push(vectors("float", n, |x| (x % 1000) as f32));
        cases.push(vectors("ulong", n, |x| x as u64));
        cases.push(vectors("double", n, |x| (x % 1000) as f64));
        cases.push(vectors("ushort", n, |x| x as u16));
    }
    for n in LENGTHS {
        cases.push(mixed(n));
        cases.push(sums("uchar", "int", n, |x| x as u8, u8::wrapping_add));
        cases.push(sums("short", "int", n, |x| x as i16, i16::wrapping_add));
        cases.push(sums("int", "int", n, |x| x as i32, i32::wrapping_add));
        cases.push(sums("int", "uint", n, |x| x as i32, i32::wrapping_add));
        cases.push(sums("int", "ulong", n, |x| x as i32, i32::wrapping_add));
        cases.push(sums("ulong", "int", n, |x| x as u64, u64::wrapping_add));
        cases.push(sums("float", "int", n, |x| (x % 1000) as f32 * 0.125, |a, b| a + b));
        cases.push(sums("double", "int", n, |x| (x % 1000) as f64 * 0.125, |a, b| a + b));
    }
    cases
}
