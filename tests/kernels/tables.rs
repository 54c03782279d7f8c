//! Lookups in small constant tables, at indices that differ between work-items: all widths of elements, sizes below, at and
//! above those of registers, indices of several types, and under a condition.

use clift_tests::kernel::{Case, Element, Need};
use clift_tests::values::spread;

/// Numbers of elements.
const LENGTHS: [usize; 10] = [2, 3, 5, 8, 16, 17, 31, 64, 65, 130];

fn element(k: usize) -> i64 {
    (spread(21, k) % 100) as i64 - 20
}

fn number(i: usize) -> usize {
    spread(22, i) as usize % 250
}

/// The elements of a table, as an initializer.
fn initializer(n: usize) -> String {
    (0..n).map(|k| element(k).to_string()).collect::<Vec<_>>().join(", ")
}

/// Sums of three elements, one of them only for odd numbers.
fn sums<T: Element>(ty: &str, index: &str, n: usize, of: impl Fn(i64) -> T + Send + Sync + 'static) -> Case {
    let source = format!(
        "constant {ty} table[{n}] = {{ {} }};
        kernel void t(global {ty} *out, global const {index} *in) {{
            int i = get_global_id(0);
            {index} k = in[i] % {n};
            {ty} sum = table[k] - table[{n} - 1 - k];
            if (k & 1)
                sum += table[(k + 3) % {n}];
            out[i] = sum;
        }}",
        initializer(n)
    );
    let expected = move |i: usize| {
        let k = number(i) % n;
        let third = if k % 2 == 1 { element((k + 3) % n) } else { 0 };
        of(element(k) - element(n - 1 - k) + third)
    };
    let case = Case::new(format!("tables::sums_{ty}_{index}_{n}"), source).expect(expected);
    let case = match index {
        "uchar" => case.input(|i| number(i) as u8),
        "short" => case.input(|i| number(i) as i16),
        "ulong" => case.input(|i| number(i) as u64),
        _ => case.input(|i| number(i) as u32),
    };
    if ty == "double" { case.needs(Need::Fp64) } else { case }
}

/// Tables of OpenCL vectors and of rows.
fn pairs(n: usize) -> Case {
    let source = format!(
        "constant float2 table[{n}] = {{ {} }};
        constant int rows[{n}][2] = {{ {} }};
        kernel void t(global float *out, global const uint *in) {{
            int i = get_global_id(0);
            uint k = in[i] % {n};
            float2 pair = table[k];
            out[i] = pair.x * 2 - pair.y + rows[k][1] * 3 + rows[k][k & 1];
        }}",
        (0..n).map(|k| format!("(float2)({}, {})", element(2 * k), element(2 * k + 1))).collect::<Vec<_>>().join(", "),
        (0..n).map(|k| format!("{{ {}, {} }}", element(2 * k), element(2 * k + 1))).collect::<Vec<_>>().join(", "),
    );
    Case::new(format!("tables::pairs_{n}"), source)
        .expect(move |i| {
            let k = number(i) % n;
            (element(2 * k) * 2 - element(2 * k + 1) + element(2 * k + 1) * 3 + element(2 * k + k % 2)) as f32
        })
        .input(|i| number(i) as u32)
}

/// A string, with indices of which it is known that they do not reach its end.
fn digits() -> Case {
    Case::new(
        "tables::digits",
        "constant char letters[] = \"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-\";
        kernel void t(global uint *out, global const uint *in) {
            int i = get_global_id(0);
            uint k = in[i];
            uchar4 text = (uchar4)(letters[k & 63], letters[(k >> 3) & 63], letters[(k & 7) * 8 + 1], letters[k >> 5 & 31]);
            out[i] = as_uint(text);
        }",
    )
    .expect(|i| {
        let letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
        let k = number(i);
        u32::from_le_bytes([k & 63, k >> 3 & 63, (k & 7) * 8 + 1, k >> 5 & 31].map(|k| letters[k]))
    })
    .input(|i| number(i) as u32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![digits(), pairs(4), pairs(8), pairs(13), pairs(32)];
    for n in LENGTHS {
        cases.push(sums("char", "uint", n, |x| x as i8));
        cases.push(sums("ushort", "short", n, |x| x as u16));
        cases.push(sums("int", "uint", n, |x| x as i32));
        cases.push(sums("float", "ulong", n, |x| x as f32));
        cases.push(sums("ulong", "uint", n, |x| x as u64));
        cases.push(sums("double", "short", n, |x| x as f64));
        cases.push(sums("short", "uint", n, |x| x as i16));
    }
    cases.push(sums("int", "uchar", 16, |x| x as i32));
    cases
}
