//! Vectors: components, swizzles, shuffles, loads and stores, selection.

use clift_tests::kernel::{Case, GLOBAL};
use clift_tests::values::spread;

fn value(i: usize) -> i32 {
    spread(21, i) as i32
}

fn components() -> Case {
    Case::new(
        "vector::components_and_swizzles",
        "kernel void t(global const int4 *a, global int8 *out) {
            size_t i = get_global_id(0);
            int4 v = a[i];
            int4 w = v.wzyx;
            w.xz = v.yy;
            w.s3 += v.lo.x;
            int8 r = (int8)(w, v.odd, v.even);
            r.hi.w = v.s2;
            out[i] = r;
        }",
    )
    .input_n(GLOBAL * 4, value)
    .expect(|i| {
        let v: [i32; 4] = std::array::from_fn(|lane| value(i * 4 + lane));
        [v[1], v[2], v[1], v[0].wrapping_add(v[0]), v[1], v[3], v[0], v[2]]
    })
}

/// Halves of vectors of three, as places: the fourth lane is undefined when it is read, and left out when it is stored.
fn halves_of_three() -> Case {
    Case::new(
        "vector::halves_of_three",
        "kernel void t(global const int4 *a, global int4 *shared, global int4 *out) {
            size_t i = get_global_id(0);
            int3 v = a[i].xyz, w = v;
            v.hi = (int2)(7, 8);
            w.odd += v.even;
            v.hi.x -= 2;
            w.xzy.hi.x = 11;
            v.odd.y = 12;
            shared[i].w = 0;
            global int3 *three = (global int3 *)&shared[i];
            vstore3(v, 0, (global int *)three);
            three->odd = w.hi;
            out[i] = (int4)(w, v.hi.x);
        }",
    )
    .input_n(GLOBAL * 4, value)
    .expect(|i| [value(i * 4), value(i * 4 + 2), 5, 0])
    .expect(|i| [value(i * 4), 11, value(i * 4 + 2), 5])
}

/// Parts of vector literals, also of types with a name of their own: what follows the brackets belongs to the literal.
fn parts_of_literals() -> Case {
    Case::new(
        "vector::parts_of_literals",
        "typedef int2 pair;
        #define MAKE(T, ...) (T)(__VA_ARGS__)
        kernel void t(global const int *a, global int *out) {
            size_t i = get_global_id(0);
            int x = a[i], y = 3 * x + 1;
            out[4 * i] = (int4)(x, 5, y, 7).zw.x;
            out[4 * i + 1] = (pair)(x).y + (int4)(y)[i & 3];
            out[4 * i + 2] = -MAKE(int4, (int2)(x, y).yx, 1, 2).x;
            out[4 * i + 3] = (int)(a)[i] + (int)((int2)(y, x)).s1;
            // The literal is of an address, not of what is there.
            out[4 * i + 3] += (ulong4)(a + i)[i & 3] != (ulong)(a + i) || (short8)(a)[i & 7] != (short)(ulong)a;
        }",
    )
    .input(|i| i as i32 * 37 % 101)
    .expect(|i| {
        let x = i as i32 * 37 % 101;
        let y = 3 * x + 1;
        [y, x + y, -y, x + x]
    })
}

fn dynamic_component() -> Case {
    Case::new(
        "vector::dynamic_component",
        "kernel void t(global const int *a, global int4 *out, int which) {
            size_t i = get_global_id(0);
            int4 v = (int4)(1, 2, 3, 4);
            v[i & 3] = a[i];
            out[i] = v + v[which];
        }",
    )
    .input(value)
    .expect(|i| {
        let mut v = [1, 2, 3, 4];
        v[i & 3] = value(i);
        v.map(|lane: i32| lane.wrapping_add(v[2]))
    })
    .value(2_i32)
}

fn loads_and_stores() -> Vec<Case> {
    let case = |lanes: usize| {
        // Odd offsets: vload and vstore need only the element's alignment.
        let source = format!(
            "kernel void t(global const short *a, global short *out) {{
                size_t i = get_global_id(0);
                short{lanes} v = vload{lanes}(i, a + 1);
                vstore{lanes}(v + (short)3, i, out + 1);
                if (i == 0) out[0] = 77;
            }}"
        );
        Case::new(format!("vector::vload{lanes}"), source)
            .input_n(GLOBAL * lanes + 1, |e| value(e) as i16)
            .expect_n(GLOBAL * lanes + 1, |e| Some(if e == 0 { 77 } else { (value(e) as i16).wrapping_add(3) }))
    };
    [2, 3, 4, 8, 16].into_iter().map(case).collect()
}

fn shuffles() -> Case {
    Case::new(
        "vector::shuffle",
        "kernel void t(global const int4 *a, global const uint4 *m, global int4 *out, global int8 *out2) {
            size_t i = get_global_id(0);
            out[i] = shuffle(a[i], m[i]);
            out2[i] = shuffle2(a[i], a[(i + 1) % get_global_size(0)], (uint8)(m[i], 7, 0, 4, 3));
        }",
    )
    .input_n(GLOBAL * 4, value)
    .input_n(GLOBAL * 4, |e| spread(22, e) as u32)
    .expect_n(GLOBAL * 4, |e| Some(value(e / 4 * 4 + (spread(22, e) as u32 % 4) as usize)))
    .expect_n(GLOBAL * 8, |e| {
        let item = e / 8;
        let fixed = [7, 0, 4, 3];
        let pick = if e % 8 < 4 { (spread(22, item * 4 + e % 8) as u32 % 8) as usize } else { fixed[e % 8 - 4] };
        Some(if pick < 4 { value(item * 4 + pick) } else { value((item + 1) % GLOBAL * 4 + pick - 4) })
    })
}

fn selection() -> Case {
    Case::new(
        "vector::select_and_bitselect",
        "kernel void t(global const int *a, global const int *b, global int4 *out) {
            size_t i = get_global_id(0);
            int x = a[i], y = b[i];
            int2 v = select((int2)(x, y), (int2)(y, x), (int2)(x, y));
            out[i] = (int4)(select(x, y, x), bitselect(x, y, 0x0ff00ff0), v);
        }",
    )
    .input(value)
    .input(|i| value(i + 1000))
    .expect(|i| {
        let (x, y) = (value(i), value(i + 1000));
        // A scalar condition counts when it is not zero, a vector's when its highest bit is set.
        [
            if x != 0 { y } else { x },
            (x & !0x0FF0_0FF0) | (y & 0x0FF0_0FF0),
            if x < 0 { y } else { x },
            if y < 0 { x } else { y },
        ]
    })
}

fn conditional_vectors() -> Case {
    Case::new(
        "vector::ternary_by_component",
        "kernel void t(global const float *a, global float4 *out) {
            size_t i = get_global_id(0);
            float4 v = (float4)(a[i], -a[i], 2.0f * a[i], 1.0f);
            out[i] = v > 0.5f ? v : (float4)(0.25f);
        }",
    )
    .input(|i| i as f32 / 8.0 - 15.0)
    .expect(|i| {
        let a = i as f32 / 8.0 - 15.0;
        [a, -a, 2.0 * a, 1.0].map(|lane| if lane > 0.5 { lane } else { 0.25 })
    })
}

/// Sixteen lanes of eight bytes: wider than any register.
fn wide() -> Case {
    Case::new(
        "vector::long16",
        "kernel void t(global const long16 *a, global long16 *out) {
            size_t i = get_global_id(0);
            long16 v = a[i];
            v = (v << 1) ^ (v.s0123456789abcdef * 3);
            out[i] = v.sfedcba9876543210 + (long16)((long)i);
        }",
    )
    .input_n(GLOBAL * 16, |e| spread(23, e) as i64)
    .expect_n(GLOBAL * 16, |e| {
        let v = spread(23, e / 16 * 16 + (15 - e % 16)) as i64;
        Some(((v << 1) ^ v.wrapping_mul(3)).wrapping_add((e / 16) as i64))
    })
}

fn three_components() -> Case {
    Case::new(
        "vector::float3_in_memory",
        "kernel void t(global const float3 *a, global float3 *out, global float *packed) {
            size_t i = get_global_id(0);
            float3 v = a[i];
            v = v.zxy * 2.0f;
            vstore3(v, i, packed);
            out[i] = v;
        }",
    )
    .input_n(GLOBAL * 4, |e| e as f32)
    .expect_n(GLOBAL * 4, |e| {
        let item = e / 4 * 4;
        // The fourth component is padding.
        [Some(2), Some(0), Some(1), None][e % 4].map(|from| (item + from) as f32 * 2.0)
    })
    .expect_n(GLOBAL * 3, |e| Some((e / 3 * 4 + [2, 0, 1][e % 3]) as f32 * 2.0))
}

fn vec_step() -> Case {
    Case::new(
        "vector::vec_step",
        "kernel void t(global int4 *out) {
            out[get_global_id(0)] = (int4)(vec_step(float3), vec_step(char16), vec_step(int), sizeof(float3));
        }",
    )
    .expect(|_| [4, 16, 1, 16])
}

fn any_all() -> Case {
    Case::new(
        "vector::any_and_all",
        "kernel void t(global const char16 *a, global int4 *out) {
            size_t i = get_global_id(0);
            char16 v = a[i];
            out[i] = (int4)(any(v), all(v), any(v.s01), all(v.s012));
        }",
    )
    .input_n(GLOBAL * 16, |e| {
        if e / 16 % 3 == 0 {
            0_i8
        } else if e / 16 % 3 == 1 {
            -1
        } else {
            spread(24, e) as i8
        }
    })
    .expect(|i| {
        let negative: Vec<bool> = (0..16)
            .map(|lane| match i % 3 {
                0 => false,
                1 => true,
                _ => (spread(24, i * 16 + lane) as i8) < 0,
            })
            .collect();
        [
            i32::from(negative.iter().any(|n| *n)),
            i32::from(negative.iter().all(|n| *n)),
            i32::from(negative[0] || negative[1]),
            i32::from(negative[..3].iter().all(|n| *n)),
        ]
    })
}

/// Long vectors from loads through lane-wise operations to stores: with a number of each work-item's own, with one for all, with
/// comparisons, under a condition, and beside a component that is taken out.
fn long_throughout() -> Vec<Case> {
    let own = |i: usize| spread(25, i) as u8;
    let byte = |i: usize| spread(26, i) as u8;
    let short = |i: usize| spread(27, i) as i16;
    let elementwise = Case::new(
        "vector::long_vectors_elementwise",
        "kernel void t(global const uchar16 *a, global const uchar *own, global uchar16 *out, uchar all) {
            size_t i = get_global_id(0);
            uchar16 v = a[i], t = (uchar16)own[i];
            uchar16 w = select((uchar16)3, add_sat(v, t), v > t) ^ (v >> (uchar16)2);
            out[i] = max(w, (uchar16)all) + mul_hi(v, w);
        }",
    )
    .input_n(GLOBAL * 16, byte)
    .input(own)
    .expect(move |i| -> [u8; 16] {
        std::array::from_fn(|lane| {
            let (v, t) = (byte(i * 16 + lane), own(i));
            let w = (if v > t { v.saturating_add(t) } else { 3 }) ^ (v >> 2);
            w.max(100).wrapping_add(((u16::from(v) * u16::from(w)) >> 8) as u8)
        })
    })
    .value(100_u8);
    let converted = Case::new(
        "vector::long_vectors_converted",
        "kernel void t(global const short8 *a, global const uchar *own, global long8 *out) {
            size_t i = get_global_id(0);
            long8 v = convert_long8(a[i]) * (long8)own[i];
            if (own[i] & 1)
                v -= convert_long8(a[i] & (short8)255);
            out[i] = v;
        }",
    )
    .input_n(GLOBAL * 8, short)
    .input(own)
    .expect(move |i| -> [i64; 8] {
        std::array::from_fn(|lane| {
            let v = short(i * 8 + lane);
            i64::from(v) * i64::from(own(i)) - if own(i) & 1 == 1 { i64::from(v & 255) } else { 0 }
        })
    });
    let taken_apart = Case::new(
        "vector::long_vectors_taken_apart",
        "kernel void t(global const int8 *a, global int8 *out) {
            size_t i = get_global_id(0);
            int8 v = a[i] * 3, w = v + (int8)(v.s5);
            out[i] = w ^ v.s76543210;
        }",
    )
    .input_n(GLOBAL * 8, value)
    .expect(|i| -> [i32; 8] {
        let v = |lane: usize| value(i * 8 + lane).wrapping_mul(3);
        std::array::from_fn(|lane| v(lane).wrapping_add(v(5)) ^ v(7 - lane))
    });
    vec![elementwise, converted, taken_apart]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = loads_and_stores();
    cases.extend(long_throughout());
    cases.extend([
        components(),
        halves_of_three(),
        parts_of_literals(),
        dynamic_component(),
        shuffles(),
        selection(),
        conditional_vectors(),
        wide(),
        three_components(),
        vec_step(),
        any_all(),
    ]);
    cases
}
