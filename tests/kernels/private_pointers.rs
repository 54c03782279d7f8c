//! Pointers into private arrays that differ with the path: iterators, the place that a search finds, buffers that are
//! exchanged, and parts of elements. All work-items execute this, or only some of them, and as often as each other or not.

use clift_tests::kernel::{Case, GLOBAL, Need};
use clift_tests::values::spread;

/// The elements of an array.
const N: usize = 12;

fn element(k: usize) -> u32 {
    spread(9, k) as u32
}

/// The elements of a work-item.
fn elements(g: usize) -> [u32; N] {
    std::array::from_fn(|k| element(g * N + k))
}

/// How many of its elements a work-item uses.
#[derive(Clone, Copy)]
struct Length {
    name: &'static str,
    /// In OpenCL C, with the work-item's first element as `first`.
    source: &'static str,
    value: fn(u32) -> usize,
}

const LENGTHS: [Length; 3] = [
    Length { name: "shared", source: "n", value: |_| N },
    Length { name: "varying", source: "first % (n + 1)", value: |first| first as usize % (N + 1) },
    Length { name: "some", source: "first & 4 ? n : 0", value: |first| if first & 4 == 0 { 0 } else { N } },
];

/// A kernel that gets its elements in `v`, the number that it uses in `len`, and has a result of so many elements.
fn case(
    name: &str,
    (length, space): (Length, &str),
    body: &str,
    results: usize,
    want: fn([u32; N], usize) -> Vec<u32>,
) -> Case {
    let source = format!(
        "kernel void t(global const uint *in, global uint *out, uint n) {{
            size_t g = get_global_id(0);
            in += g * {N}; out += g * {results};
            uint v[{N}], first = in[0];
            for (uint i = 0; i < n; i++) v[i] = in[i];
            uint len = {};
            {body}
        }}",
        length.source
    );
    Case::new(format!("private_pointers::{name}_{}_{space}", length.name), source)
        .input_n(GLOBAL * N, element)
        .expect_n(GLOBAL * results, move |at| {
            let v = elements(at / results);
            want(v, (length.value)(v[0])).get(at % results).copied()
        })
        .value(N as u32)
}

/// A pointer walks forwards, and one backwards.
fn iterators(of: (Length, &str)) -> Case {
    case(
        "iterators",
        of,
        "uint s = 1, *p = v, *end = v + len;
         while (p != end) { *p += s; s = s * 3 + *p++; }
         uint r = 0;
         for (; p > v; r = r * 5 + p[0] + (uint)(end - p)) p--;
         out[0] = s; out[1] = r;",
        2,
        |v, len| {
            let (mut v, mut s, mut r) = (v[..len].to_vec(), 1u32, 0u32);
            for x in &mut v {
                *x = x.wrapping_add(s);
                s = s.wrapping_mul(3).wrapping_add(*x);
            }
            for (k, x) in v.iter().rev().enumerate() {
                r = r.wrapping_mul(5).wrapping_add(*x).wrapping_add(k as u32 + 1);
            }
            vec![s, r]
        },
    )
}

/// A search gives the address of the least element, with which another one changes places.
fn least(of: (Length, &str)) -> Case {
    case(
        "least",
        of,
        "for (uint i = 0; i < len; i++) {
             uint *m = &v[i];
             for (uint k = i + 1; k < len; k++) if (v[k] < *m) m = &v[k];
             uint t = *m; *m = v[i]; v[i] = t;
         }
         out[0] = len > 0 ? v[0] : 7; out[1] = len > 3 ? v[len / 2] : 8;",
        2,
        |v, len| {
            let mut v = v[..len].to_vec();
            v.sort_unstable();
            vec![v.first().copied().unwrap_or(7), if v.len() > 3 { v[v.len() / 2] } else { 8 }]
        },
    )
}

/// Two buffers change places in each pass; the second one is longer.
fn exchanged(of: (Length, &str)) -> Case {
    case(
        "exchanged",
        of,
        "uint w[16]; w[0] = 5;
         uint *from = v, *to = w;
         for (uint pass = 0; pass < len; pass++) {
             for (uint i = 0; i < n; i++) to[i] = from[i] + from[i > 0 ? i - 1 : n - 1] * 3;
             uint *t = from; from = to; to = t;
         }
         out[0] = from[0]; out[1] = from[n - 1] + from[n / 2];",
        2,
        |mut v, passes| {
            for _ in 0..passes {
                v = std::array::from_fn(|i| v[i].wrapping_add(v[(i + N - 1) % N].wrapping_mul(3)));
            }
            vec![v[0], v[N - 1].wrapping_add(v[N / 2])]
        },
    )
}

/// Four buffers change places in each pass.
fn rotated(of: (Length, &str)) -> Case {
    case(
        "rotated",
        of,
        "uint a[12], b[12], c[12];
         for (uint i = 0; i < n; i++) { a[i] = i; b[i] = 2 * i; c[i] = first ^ i; }
         uint *p = v, *q = a, *r = b, *s = c;
         for (uint pass = 0; pass < len; pass++) {
             for (uint i = 0; i < n; i++) p[i] += q[i] * 3 + r[i] * 5 + s[n - 1 - i];
             uint *t = p; p = q; q = r; r = s; s = t;
         }
         out[0] = p[0] + 3 * q[1] + 5 * r[2] + 7 * s[n - 1];",
        1,
        |v, passes| {
            let own: [fn(u32, u32) -> u32; 3] = [|i, _| i, |i, _| 2 * i, |i, first| first ^ i];
            let [a, b, c] = own.map(|of| std::array::from_fn(|i| of(i as u32, v[0])));
            let mut buffers: [[u32; N]; 4] = [v, a, b, c];
            for _ in 0..passes {
                let [mut p, q, r, s] = buffers;
                for i in 0..N {
                    let more = q[i].wrapping_mul(3).wrapping_add(r[i].wrapping_mul(5)).wrapping_add(s[N - 1 - i]);
                    p[i] = p[i].wrapping_add(more);
                }
                buffers = [q, r, s, p];
            }
            let [p, q, r, s] = buffers;
            let terms = [q[1].wrapping_mul(3), r[2].wrapping_mul(5), s[N - 1].wrapping_mul(7)];
            vec![terms.into_iter().fold(p[0], u32::wrapping_add)]
        },
    )
}

/// Bytes of elements by a pointer that walks over them, from a place that differs between work-items.
fn bytes(of: (Length, &str)) -> Case {
    case(
        "bytes",
        of,
        "uchar *p = (uchar *)v + (first & 3), *end = (uchar *)(v + len);
         uint s = 0;
         for (; p < end; p += 3) { s = s * 31 + *p; *p ^= 0x55; }
         for (uint i = 0; i < len; i++) s += v[i];
         out[0] = s;",
        1,
        |v, len| {
            let mut bytes: Vec<u8> = v[..len].iter().flat_map(|x| x.to_le_bytes()).collect();
            let (mut s, mut at) = (0u32, v[0] as usize & 3);
            while at < bytes.len() {
                s = s.wrapping_mul(31).wrapping_add(bytes[at].into());
                bytes[at] ^= 0x55;
                at += 3;
            }
            let (words, _) = bytes.as_chunks::<4>();
            vec![words.iter().fold(s, |s, word| s.wrapping_add(u32::from_le_bytes(*word)))]
        },
    )
}

pub(crate) fn cases() -> Vec<Case> {
    // Pointers without an address space are private in OpenCL C 1.2 and generic in 2.0.
    let of_space = |space| {
        LENGTHS
            .iter()
            .flat_map(move |&length| [iterators, least, exchanged, rotated, bytes].map(|make| make((length, space))))
    };
    let generic = of_space("generic").map(|case| case.options("-cl-std=CL2.0").needs(Need::Generic));
    of_space("private").chain(generic).collect()
}
