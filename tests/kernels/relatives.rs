//! Programs that exposed compiler bugs in other drivers: reports from issue trackers, each class of bugs reproduced by a new
//! kernel. The comments name repository and issue. Bugs of PoCL with barriers are in `barrier_bugs.rs`.

use clift_tests::kernel::{Case, GLOBAL, Need};

use crate::barriers::{group, value, with_scratch};

/// Positive numbers.
fn number(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761) >> 5
}

/// intel/llvm#23220: a pair of doubles goes through a butterfly (`a + c * b`, `a - c * b`) before and behind a barrier.
fn butterfly() -> Case {
    fn real(i: usize) -> f64 {
        f64::from(value(i)) * 0.25
    }
    fn pass(a: f64, b: f64, c: f64) -> (f64, f64) {
        (c.mul_add(b, a), (-c).mul_add(b, a))
    }
    Case::new(
        "relatives::butterfly_around_a_barrier",
        "kernel void t(global double *out, global const double *in, local double *s) {
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
            double a = in[i], b = in[(i + 1) % 240], c = 0.5, t = a;
            a = fma(c, b, t); b = fma(-c, b, t);
            s[l] = b;
            barrier(CLK_LOCAL_MEM_FENCE);
            c += s[l] * 0.0;
            t = a;
            a = fma(c, b, t); b = fma(-c, b, t);
            out[i] = a * 3 + b + s[(l + 1) % n] * 0.0;
        }",
    )
    .expect(|i| {
        let (a, b) = pass(real(i), real((i + 1) % GLOBAL), 0.5);
        let (a, b) = pass(a, b, 0.5);
        a * 3.0 + b
    })
    .input(real)
    .local_memory(|launch| 8 * launch.local.as_ref().map_or(GLOBAL, |local| local[0]))
    .stated_local()
    .needs(Need::Fp64)
}

/// intel/llvm#7877: the bounds of a loop are conditional expressions of group and item.
fn conditional_bounds() -> Case {
    Case::new(
        "relatives::loop_with_conditional_bounds",
        "kernel __attribute__((reqd_work_group_size(5, 1, 1))) void t(global int *restrict out) {
            int g = get_group_id(0), l = get_local_id(0);
            if (5 + -5 * g + -1 * l >= 0)
                for (int j = ((g == 0 && l == 0) ? 0 : -1 + 2 * l + 10 * g); j <= ((-1 + g == 0 && l == 0) ? 9 : 2 * l); ++j)
                    out[j] = j;
        }",
    )
    .expect_n(10, |i| Some(i as i32))
    .range(&[10], &[&[5]])
    .stated_local()
}

/// intel/llvm#788: functions of vectors of three one in the other, of zeros.
fn geometry() -> Case {
    Case::new(
        "relatives::dot_of_normalized_zeros",
        "kernel void t(global float *out, global const float *in) {
            int i = get_global_id(0);
            float3 v = (float3)(in[i], in[i], in[i]);
            out[i] = fmax(dot(normalize(v), v), 0.0f) + fmax(dot(cross(v, v), (float3)(1, 2, 3)), 0.0f);
        }",
    )
    .expect(|_| 0.0_f32)
    .input(|_| 0.0_f32)
}

/// ROCm/ROCm-OpenCL-Runtime#115: a variable of 64 bits is shifted in the outer loop, and steps the inner one.
fn fourier() -> Case {
    Case::new(
        "relatives::steps_from_an_outer_loop",
        "kernel void t(global long *out, int power) {
            size_t at = get_global_id(0);
            long l2 = 1, sum = 0;
            for (uint l = 0; l < power; l++) {
                uint l1 = l2;
                l2 <<= 1;
                for (uint j = 0; j < l1; j++)
                    for (uint i = j; i < 64; i += l2) { uint i1 = i + l1; sum = sum * 3 + i1 * (at + 1) + l2; }
            }
            out[at] = sum;
        }",
    )
    .expect(|at| {
        let (mut l2, mut sum) = (1_i64, 0_i64);
        for _ in 0..6 {
            let l1 = l2 as u32;
            l2 <<= 1;
            for j in 0..l1 {
                let mut i = j;
                while i < 64 {
                    let term = i64::from(i + l1).wrapping_mul(at as i64 + 1).wrapping_add(l2);
                    sum = sum.wrapping_mul(3).wrapping_add(term);
                    i += l2 as u32;
                }
            }
        }
        sum
    })
    .value(6_i32)
}

/// intel/compute-runtime#790: components of a vector are shifted in place, each with bits of its neighbour.
fn shift_in_place() -> Case {
    Case::new(
        "relatives::components_shifted_in_place",
        "typedef struct { uint8 d; } words;
        words shifted(words a, uint n) {
            a.d.s7 = (a.d.s7 << n) | (a.d.s6 >> (32 - n));
            a.d.s6 = (a.d.s6 << n) | (a.d.s5 >> (32 - n));
            a.d.s5 = (a.d.s5 << n) | (a.d.s4 >> (32 - n));
            a.d.s4 = (a.d.s4 << n) | (a.d.s3 >> (32 - n));
            a.d.s3 = (a.d.s3 << n) | (a.d.s2 >> (32 - n));
            a.d.s2 = (a.d.s2 << n) | (a.d.s1 >> (32 - n));
            a.d.s1 = (a.d.s1 << n) | (a.d.s0 >> (32 - n));
            a.d.s0 = a.d.s0 << n;
            return a;
        }
        kernel void t(global uint *out, global const uint *in) {
            int i = get_global_id(0);
            words a;
            for (int k = 0; k < 8; ++k) ((uint *)&a.d)[k] = in[(i + k) % 240];
            a = shifted(a, 1 + i % 30);
            a = shifted(a, 3);
            uint r = 0;
            for (int k = 0; k < 8; ++k) r = r * 31 + ((uint *)&a.d)[k];
            out[i] = r;
        }",
    )
    .expect(|i| {
        let mut words: Vec<u32> = (0..8).map(|k| number((i + k) % GLOBAL)).collect();
        for n in [1 + i as u32 % 30, 3] {
            for k in (0..8).rev() {
                words[k] = words[k] << n | if k > 0 { words[k - 1] >> (32 - n) } else { 0 };
            }
        }
        words.iter().fold(0_u32, |r, &word| r.wrapping_mul(31).wrapping_add(word))
    })
    .input(number)
}

/// intel/compute-runtime#394: an element is changed through one index and read through another that is equal.
fn equal_indices() -> Case {
    Case::new(
        "relatives::store_seen_through_an_equal_index",
        "kernel void t(global float *out, global const int *pivots) {
            int i = get_global_id(0);
            float b[4] = {i + 1, i + 2, i + 3, i + 4}, sum = 0;
            for (int row = 0; row < 4; ++row) {
                b[pivots[row]] /= 2.0f;
                for (int other = row + 1; other < 4; ++other) b[pivots[other]] -= b[pivots[row]];
                sum = sum * 2 + b[2];
            }
            out[i] = sum;
        }",
    )
    .expect(|i| {
        let (mut b, mut sum) = ([1, 2, 3, 4].map(|k| (i + k) as f32), 0.0);
        let pivots = [2, 0, 3, 1];
        for row in 0..4 {
            b[pivots[row]] /= 2.0;
            for other in row + 1..4 {
                b[pivots[other]] -= b[pivots[row]];
            }
            sum = sum * 2.0 + b[2];
        }
        sum
    })
    .input_n(4, |i| [2, 0, 3, 1][i])
}

/// pocl/pocl#1390: greatest number, each item over a part, then a reduction whose step doubles.
fn range() -> Case {
    let case = Case::new(
        "relatives::greatest_of_parts",
        "kernel void t(global int *out, local int *s, int length) {
            int l = get_local_id(0), n = get_local_size(0), start = get_global_id(0) - l;
            int least = INT_MAX, most = INT_MIN;
            for (int k = l; k < length; k += n) {
                int value = (start + k) * 37 % 101 - 50;
                least = min(least, value);
                most = max(most, value);
            }
            s[l] = most;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 1; step < n; step *= 2) {
                if (l + step < n && l % (2 * step) == 0) s[l] = max(s[l], s[l + step]);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            out[get_global_id(0)] = s[0] + (least > most);
        }",
    )
    .expect_in(|launch, i| {
        let start = group(launch, i).start;
        (0..500).map(|k| (start + k) as i32 * 37 % 101 - 50).max().unwrap_or_default()
    });
    with_scratch(case).value(500_i32).stated_local()
}

/// pocl/pocl#1977: what only the first item of a group does is done once.
fn first_item_only() -> Case {
    Case::new(
        "relatives::first_item_only",
        "kernel void t(global int *out, global int *count) {
            int item = get_local_id(0);
            int x = get_global_id(0);
            for (int k = 0; k < 5; ++k) x = x * 3 + k;
            out[get_global_id(0)] = x;
            if (item == 0) atomic_inc(count);
        }",
    )
    .expect(|i| (0..5).fold(i as i32, |x, k| x * 3 + k))
    .update(1, |_| 0_i32, |launch, _| Some(launch.items().div_ceil(launch.local_x()) as i32))
    .stated_local()
}

/// pocl/pocl#2113: remainders of the local id, in a kernel with a way that never returns and is never taken.
fn endless_way() -> Case {
    Case::new(
        "relatives::endless_way_not_taken",
        "kernel void t(global int *out, int divisor) {
            int l = get_local_id(0);
            if (divisor <= 0) { while (1) { } }
            out[get_global_id(0)] = l % divisor * 100 + l / divisor;
        }",
    )
    .expect_in(|launch, i| {
        let l = (i - launch.group_start_of(i)) as i32;
        l % 7 * 100 + l / 7
    })
    .value(7_i32)
    .stated_local()
}

/// pocl/pocl#195: a structure in local memory goes to a function and comes back.
fn local_structures() -> Case {
    Case::new(
        "relatives::structures_in_local_memory",
        "typedef struct { int first; short second; char third; } record;
        record joined(record a, record b) {
            record r = {a.first + b.first, (short)(a.second - b.second), b.third};
            return r;
        }
        kernel void t(global int *out) {
            local record records[2];
            int l = get_local_id(0);
            if (l == 0) {
                record a = {1, 2, 3}, b = {10, 20, 30};
                records[0] = a;
                records[1] = b;
                records[0] = joined(records[0], records[1]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = records[0].first * 10000 + records[0].second * 100 + records[0].third;
        }",
    )
    .expect(|_| 11 * 10000 - 18 * 100 + 30)
}

#[derive(Clone, Copy, Debug, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
struct Mixed {
    real: f64,
    imag: f64,
    small: [u8; 3],
    pad: u8,
    number: i32,
}

/// pocl/pocl#1, #197: structures among the arguments; the ones behind them keep their places.
fn structure_arguments() -> Case {
    Case::new(
        "relatives::structures_between_arguments",
        "typedef struct { double real, imag; uchar small[3]; int number; } mixed;
        kernel void t(global double *out, char before, mixed m, short behind, mixed again) {
            out[get_global_id(0)] =
                before + m.real * 10 + m.imag * 100 + m.small[2] * 1000 + m.number * 10000 + behind * 0.5 + again.imag * 0.25;
        }",
    )
    .expect(|_| 3.0 + 20.0 + 300.0 + 7000.0 + 90000.0 + 2.0 + 0.75)
    .value(3_i8)
    .value(Mixed { real: 2.0, imag: 3.0, small: [5, 6, 7], pad: 0, number: 9 })
    .value(4_i16)
    .value(Mixed { real: 2.0, imag: 3.0, small: [5, 6, 7], pad: 0, number: 9 })
    .needs(Need::Fp64)
}

/// google/clspv#1046: vectors of three of narrow integers, whole but for the last, which is taken apart.
fn narrow_vectors_of_three() -> Case {
    Case::new(
        "relatives::narrow_vectors_of_three",
        "kernel void t(global uchar *out, global const ushort *in) {
            size_t i = get_global_id(0);
            if (i + 1 < get_global_size(0)) vstore3(convert_uchar3_sat(vload3(i, in)), i, out);
            else {
                ushort3 v;
                v.y = in[3 * i + 1];
                v.x = in[3 * i];
                v.z = in[3 * i + 2];
                uchar3 w = convert_uchar3_sat(v);
                out[3 * i] = w.x;
                out[3 * i + 1] = w.y;
                out[3 * i + 2] = w.z;
            }
        }",
    )
    .expect_n(3 * GLOBAL, |k| Some((k * 7 % 400).min(255) as u8))
    .input_n(3 * GLOBAL, |k| (k * 7 % 400) as u16)
}

/// google/clspv#679: elements of vectors of three by index, the vectors loaded from packed memory.
fn indexed_vectors_of_three() -> Case {
    Case::new(
        "relatives::indexed_vectors_of_three",
        "kernel void t(global float *out, global const float3 *in, int which) {
            size_t i = get_global_id(0);
            float3 v = vload3(i, (global const float *)in);
            float sum = 0;
            for (int k = 0; k < 3; ++k) sum = sum * 8 + v[k];
            v[which] = 100;
            out[i] = sum + v.x + v.y * 2 + v.z * 4;
        }",
    )
    .expect(|i| {
        let v = [0, 1, 2].map(|k| ((3 * i + k) % 7) as f32);
        v.iter().fold(0.0, |sum, x| sum * 8.0 + x) + v[0] + 200.0 + v[2] * 4.0
    })
    .input_n(4 * GLOBAL, |k| (k % 7) as f32)
    .value(1_i32)
}

/// google/clspv#1188: structures of one small member are read, changed and written back, all in a loop.
fn small_structures() -> Case {
    Case::new(
        "relatives::structures_of_a_byte",
        "struct element { char i; };
        struct row { struct element e[10]; };
        kernel void t(global struct row *rows) {
            global struct row *s = rows + get_global_id(0);
            for (int i = 0; i < 10; ++i) {
                struct element e = s->e[i];
                e.i = e.i * 2 + 1;
                s->e[i] = e;
            }
        }",
    )
    .update(10 * GLOBAL, |k| (k % 50) as i8, |_, k| Some((k % 50) as i8 * 2 + 1))
}

/// google/clspv#1048: where a member of a packed structure in local memory lies.
fn packed_in_local_memory() -> Case {
    Case::new(
        "relatives::packed_structure_in_local_memory",
        "typedef struct __attribute__((packed)) { char a; char8 v; uint3 w; } packed;
        kernel void t(global uint *out) {
            local packed test;
            out[get_global_id(0)] = (uint)((local uchar *)&test.v - (local uchar *)&test) * 100 +
                (uint)((local uchar *)&test.w - (local uchar *)&test) + (uint)sizeof(packed) * 10000;
        }",
    )
    .expect(|_| 100 + 9 + 25 * 10000_u32)
}

/// llvm/llvm-project#121562: numbers of sixteen bits as the upper halves of floats, through a union.
fn upper_halves() -> Case {
    Case::new(
        "relatives::upper_halves_of_floats",
        "typedef union { uint bits; float value; } both;
        float product(ushort a, ushort b) {
            const both x = {.bits = (uint)a << 16}, y = {.bits = (uint)b << 16};
            return x.value * y.value;
        }
        kernel void t(global float *out, global const ushort *in) {
            size_t i = get_global_id(0);
            out[i] = product(in[i], in[(i + 1) % 240]);
        }",
    )
    .expect(|i| {
        let half = |i: usize| f32::from_bits(u32::from(0x3f80 + (i % GLOBAL) as u16) << 16);
        half(i) * half(i + 1)
    })
    .input(|i| 0x3f80 + i as u16)
}

/// llvm/llvm-project#72860: the lowest bits of numbers as Booleans.
fn lowest_bits() -> Case {
    Case::new(
        "relatives::lowest_bits_as_truth",
        "kernel void t(global int *out, global const int *in, int b) {
            size_t i = get_global_id(0);
            bool x = in[i] & 1, y = b & 1, z = in[i] >> 1 & 1;
            out[i] = (x | y) + 2 * (x & z) + 4 * (x ^ z) + 8 * (x <= z) + 16 * !(x == z);
        }",
    )
    .expect(|i| {
        let (x, z) = (value(i) & 1, value(i) >> 1 & 1);
        x + 2 * (x & z) + 4 * (x ^ z) + 8 * i32::from(x <= z) + 16 * i32::from(x != z)
    })
    .input(value)
    .value(6_i32)
}

/// KhronosGroup/SPIRV-LLVM#20: comparisons of vectors give vectors of numbers.
fn comparisons_of_vectors() -> Case {
    Case::new(
        "relatives::comparisons_of_vectors",
        "kernel void t(global int *out, global const float *in) {
            size_t i = get_global_id(0);
            float4 a = (float4)(in[i], 1, -1, NAN), b = (float4)(0, in[i], in[i], in[i]);
            int4 equal = isequal(a, b), less = a < b, unordered = isunordered(a, b), other = isnotequal(a, b);
            int4 sum = equal + less * 2 + unordered * 4 + other * 8;
            out[i] = sum.x + sum.y * 100 + sum.z * 10000 + sum.w * 1000000 + isequal(in[i], 1.0f);
        }",
    )
    .expect(|i| {
        let x = (i % 3) as f32 - 1.0;
        let code = |a: f32, b: f32| {
            let unordered = a.is_nan() || b.is_nan();
            -(i32::from(a == b) + 2 * i32::from(a < b) + 4 * i32::from(unordered) + 8 * i32::from(a != b))
        };
        let sums = [code(x, 0.0), code(1.0, x), code(-1.0, x), code(f32::NAN, x)];
        sums[0] + sums[1] * 100 + sums[2] * 10000 + sums[3] * 1_000_000 + i32::from(x == 1.0)
    })
    .input(|i| (i % 3) as f32 - 1.0)
}

/// pocl/pocl#487: a division by zero in one work-item, although undefined, neither ends the program nor changes results of
/// others.
fn divisors_of_zero() -> Case {
    Case::new(
        "relatives::divisors_of_zero",
        "kernel void t(global int *out, global const int *in) {
            size_t i = get_global_id(0);
            int d = in[i] % 5;
            int q = 1000 / d, r = in[i] % d;
            out[i] = q * 10 + r;
        }",
    )
    .expect_n(GLOBAL, |i| {
        let (x, d) = (i as i32 * 3, i as i32 * 3 % 5);
        (d != 0).then(|| 1000 / d * 10 + x % d)
    })
    .input(|i| i as i32 * 3)
}

/// pocl/pocl#2221: the last three elements of a buffer as one vector.
fn last_vector_of_three() -> Case {
    Case::new(
        "relatives::last_vector_of_three",
        "kernel void t(global double *out, global const double *in) {
            size_t i = get_global_id(0);
            double3 v = vload3(i, in);
            out[i] = v.x + v.y * 2 + v.z * 4;
        }",
    )
    .expect(|i| (3 * i) as f64 + (3 * i + 1) as f64 * 2.0 + (3 * i + 2) as f64 * 4.0)
    .input_n(3 * GLOBAL, |k| k as f64)
    .needs(Need::Fp64)
}

/// preda/gpuowl#276: tables at program scope, in constant memory, of vectors and made by macros.
fn tables_of_vectors() -> Case {
    Case::new(
        "relatives::tables_of_vectors",
        "constant double2 pairs[4] = {(double2)(1, 2), (double2)(3, 4), (double2)(-5, 0.5), (double2)(7, 8)};
        global double weights[3] = {0.5, 0.25, 0.125};
        constant float4 rows[2] = {(float4)(1, 2, 3, 4), (float4)(5)};
        kernel void t(global double *out) {
            size_t i = get_global_id(0);
            out[i] = pairs[i % 4].x * 100 + pairs[(i + 1) % 4].y + weights[i % 3] + rows[i % 2].z * 1000;
        }",
    )
    .expect(|i| {
        let pairs = [[1.0, 2.0], [3.0, 4.0], [-5.0, 0.5], [7.0, 8.0]];
        pairs[i % 4][0] * 100.0 + pairs[(i + 1) % 4][1] + [0.5, 0.25, 0.125][i % 3] + [3.0, 5.0][i % 2] * 1000.0
    })
    .needs(Need::Fp64)
    .needs(Need::ProgramScope)
}

/// intel/intel-graphics-compiler#440: a radix select, digit by digit, by counts in local memory.
fn radix_select() -> Case {
    let case = Case::new(
        "relatives::radix_select",
        "kernel void t(global uint *out, local uint *counts) {
            uint l = get_local_id(0), n = get_local_size(0), i = get_global_id(0), mine = i * 2654435761u >> 20;
            uint want = n / 2, known = 0, mask = 0;
            for (int shift = 8; shift >= 0; shift -= 4) {
                for (uint k = l; k < 16; k += n) counts[k] = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                if ((mine & mask) == known) atomic_inc(&counts[mine >> shift & 15]);
                barrier(CLK_LOCAL_MEM_FENCE);
                uint digit = 0;
                while (digit < 15 && want >= counts[digit]) want -= counts[digit++];
                known |= digit << shift;
                mask |= 15u << shift;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            out[i] = known;
        }",
    )
    .expect_in(|launch, i| {
        let group = group(launch, i);
        let mut numbers: Vec<u32> = group.map(|i| (i as u32).wrapping_mul(2_654_435_761) >> 20).collect();
        numbers.sort_unstable();
        numbers[numbers.len() / 2]
    });
    case.local_memory(|_| 64).stated_local()
}

/// pocl/pocl#446, intel/compute-runtime#221: a long kernel of many reductions, one behind the other, as generators write them.
fn generated_reductions() -> Case {
    let steps: String = (0..24)
        .map(|step| {
            format!(
                "s[l] = x + {step}; barrier(CLK_LOCAL_MEM_FENCE);
                 for (int w = 1; w < n; w *= 2) {{
                     int y = l >= w ? s[l - w] : 0; barrier(CLK_LOCAL_MEM_FENCE);
                     s[l] += y; barrier(CLK_LOCAL_MEM_FENCE);
                 }}
                 x = s[n - 1] - s[l] + (x ^ {step}); barrier(CLK_LOCAL_MEM_FENCE);\n"
            )
        })
        .collect();
    let source = format!(
        "kernel void t(global int *out, local int *s) {{
            int l = get_local_id(0), n = get_local_size(0), x = get_global_id(0) % 17;
            {steps} out[get_global_id(0)] = x;
        }}"
    );
    let case = Case::new("relatives::generated_reductions", source).expect_in(|launch, i| {
        let group = group(launch, i);
        let start = group.start;
        let mut x: Vec<i32> = group.map(|i| (i % 17) as i32).collect();
        for step in 0..24 {
            let mut sum = 0_i32;
            let sums: Vec<i32> = x
                .iter()
                .map(|x| {
                    sum = sum.wrapping_add(x.wrapping_add(step));
                    sum
                })
                .collect();
            for (x, own) in x.iter_mut().zip(&sums) {
                *x = sum.wrapping_sub(*own).wrapping_add(*x ^ step);
            }
        }
        x[i - start]
    });
    with_scratch(case).stated_local()
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        butterfly(),
        conditional_bounds(),
        geometry(),
        fourier(),
        shift_in_place(),
        equal_indices(),
        range(),
        first_item_only(),
        endless_way(),
        local_structures(),
        structure_arguments(),
        narrow_vectors_of_three(),
        indexed_vectors_of_three(),
        small_structures(),
        packed_in_local_memory(),
        upper_halves(),
        lowest_bits(),
        comparisons_of_vectors(),
        divisors_of_zero(),
        last_vector_of_three(),
        tables_of_vectors(),
        radix_select(),
        generated_reductions(),
    ]
}
