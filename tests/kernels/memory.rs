//! Memory: structures, unions, private arrays, constants, program-scope variables, address spaces, alignment.

use clift_tests::kernel::{Case, GLOBAL, Need};
use clift_tests::values::spread;

use crate::barriers::{group, value};

fn structures() -> Case {
    Case::new(
        "memory::nested_structures",
        "typedef struct { char tag; int2 pair; } Inner;
        typedef struct { short head; Inner inner[2]; double tail; } Outer;
        kernel void t(global const Outer *a, global int4 *out) {
            size_t i = get_global_id(0);
            Outer o = a[i];
            o.inner[1].pair.x += o.inner[0].tag;
            out[i] = (int4)(o.head, o.inner[1].pair.x, o.inner[i & 1].pair.y, (int)sizeof(Outer) + (int)o.tail);
        }",
    )
    // short at 0, inner at 8 and 24 (tag at 0, pair at 8), tail at 40: 48 bytes, as six long words.
    .input_n(GLOBAL * 6, |e| match e % 6 {
        5 => 1000.0_f64.to_bits(),
        _ => spread(31, e) & 0x0000_7FFF_0000_7FFF,
    })
    .expect(|i| {
        let word = |k: usize| spread(31, i * 6 + k) & 0x0000_7FFF_0000_7FFF;
        let (low, high) = (|k| word(k) as i32, |k| (word(k) >> 32) as i32);
        let tag = i32::from(word(1) as i8);
        [low(0), low(4) + tag, if i & 1 == 1 { high(4) } else { high(2) }, 1048]
    })
    .needs(Need::Fp64)
}

fn packed_structures() -> Case {
    Case::new(
        "memory::packed_structures",
        "typedef struct __attribute__((packed)) { uchar a; uint b; ushort c; ulong d; } Packed;
        kernel void t(global const Packed *p, global ulong4 *out, global Packed *copy) {
            size_t i = get_global_id(0);
            Packed local_copy = p[i];
            out[i] = (ulong4)(local_copy.a, local_copy.b, p[i].c, p[i].d);
            local_copy.b = ~local_copy.b;
            copy[i] = local_copy;
        }",
    )
    .input_n(GLOBAL * 15, |e| spread(32, e) as u8)
    .expect(|i| {
        let bytes: [u8; 15] = std::array::from_fn(|k| spread(32, i * 15 + k) as u8);
        let number =
            |from: usize, len: usize| bytes[from..from + len].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        [number(0, 1), number(1, 4), number(5, 2), number(7, 8)]
    })
    .expect_n(GLOBAL * 15, |e| {
        let byte = spread(32, e) as u8;
        Some(if (1..5).contains(&(e % 15)) { !byte } else { byte })
    })
}

/// Triangular loops over a row in memory: the element that a loop adds to is not among those that it reads, or the last of
/// them, or before them.
fn triangles() -> Case {
    const N: usize = 9;
    let element = |e: usize| spread(33, e) as i32;
    Case::new(
        "memory::triangles",
        "kernel void t(global const int *a, global int *out) {
            int n = a[get_global_size(0) * 9], r = get_global_id(0);
            for (int c = 0; c < n; ++c) out[r * n + c] = a[r * n + c];
            for (int c = 0; c < n; ++c)
                for (int i = 0; i < c; ++i) out[r * n + c] -= a[r * n + i] * out[r * n + i];
            for (int c = 0; c < n; ++c)
                for (int i = 0; i <= c; ++i) out[r * n + c] += 3 * out[r * n + i];
            for (int c = 0; c < n; ++c)
                for (int j = c + 1; j < n; ++j) out[r * n + c] ^= 5 * out[r * n + j];
        }",
    )
    .input_n(GLOBAL * N + 1, move |e| if e == GLOBAL * N { N as i32 } else { element(e) })
    .expect_n(GLOBAL * N, move |e| {
        let given: [i32; N] = std::array::from_fn(|k| element(e / N * N + k));
        let mut row = given;
        for c in 0..N {
            for i in 0..c {
                row[c] = row[c].wrapping_sub(given[i].wrapping_mul(row[i]));
            }
        }
        for c in 0..N {
            for i in 0..=c {
                row[c] = row[c].wrapping_add(row[i].wrapping_mul(3));
            }
        }
        for c in 0..N {
            for j in c + 1..N {
                row[c] ^= row[j].wrapping_mul(5);
            }
        }
        Some(row[e % N])
    })
}

/// Vectors at odd addresses, by a `typedef` that says so; and a function with an end that is not reached.
fn alignment_of_typedefs() -> Case {
    Case::new(
        "memory::alignment_of_typedefs",
        "typedef int4 loose __attribute__((aligned(1)));
        int factor(uint x) {
            switch (x & 1) {
            case 0: return 3;
            case 1: return 5;
            }
            __builtin_unreachable();
        }
        kernel void t(global const uchar *bytes, global int4 *out) {
            size_t i = get_global_id(0);
            global const loose *vectors = (global const loose *)(bytes + 1);
            out[i] = vectors[i] * factor((uint)i);
        }",
    )
    .input_n(GLOBAL * 16 + 16, |e| spread(38, e) as u8)
    .expect(|i| {
        let byte = |at: usize| spread(38, at) as u8;
        let word = |k: usize| i32::from_le_bytes(std::array::from_fn(|b| byte(1 + 16 * i + 4 * k + b)));
        let factor = if i & 1 == 0 { 3 } else { 5 };
        std::array::from_fn::<i32, 4, _>(|k| word(k).wrapping_mul(factor))
    })
}

/// Bytes and words of 16 bits at addresses that differ between work-items, at every position in an aligned word, for all
/// work-items and for some.
fn narrow_gathers() -> Case {
    Case::new(
        "memory::narrow_gathers",
        "kernel void t(global const uchar *bytes, global const short *words, global int4 *out) {
            int i = get_global_id(0), n = get_global_size(0);
            int j = (i * 7 + 3) % n, k = (i * 5 + 1) % n;
            int4 r = (int4)(bytes[j], words[k], -5, -6);
            if (i & 2) r.z = (char)bytes[k];
            if (j % 3) r.w = (ushort)words[j];
            out[i] = r;
        }",
    )
    .input_n(GLOBAL, |e| spread(33, e) as u8)
    .input_n(GLOBAL, |e| spread(34, e) as i16)
    .expect(|i| {
        let (j, k) = ((i * 7 + 3) % GLOBAL, (i * 5 + 1) % GLOBAL);
        let (byte, word) = (|e| spread(33, e) as u8, |e| spread(34, e) as i16);
        [
            i32::from(byte(j)),
            i32::from(word(k)),
            if i & 2 != 0 { i32::from(byte(k) as i8) } else { -5 },
            if j % 3 != 0 { i32::from(word(j) as u16) } else { -6 },
        ]
    })
}

fn addresses_of_variables() -> Case {
    Case::new(
        "memory::addresses_of_variables",
        "typedef struct { char tag; double4 value; short2 last[3]; } Record;
        global Record everywhere;
        kernel void t(global uint4 *out) {
            local Record records[2];
            local char bytes[5];
            size_t i = get_global_id(0);
            out[i] = (uint4)((uint)(uintptr_t)&records[1].value % sizeof(double4),
                             (uint)((uintptr_t)&records[1].last[2] - (uintptr_t)&records[0]),
                             (uint)(uintptr_t)&everywhere & 31,
                             i & 1 ? ((uintptr_t)bytes == (uintptr_t)records) : ((uint)(uintptr_t)&everywhere.last[1] & 31));
        }",
    )
    .expect(|i| [0_u32, 168, 0, if i & 1 == 1 { 0 } else { 4 }])
    .needs(Need::Fp64)
}

/// By value through the argument block, with padding inside.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Zeroable, bytemuck::Pod)]
struct Parameters {
    scale: i8,
    padding: [u8; 3],
    offset: i32,
    weights: [f32; 4],
}

fn structure_argument() -> Case {
    Case::new(
        "memory::structure_by_value",
        "typedef struct { char scale; int offset; float weights[4]; } Parameters;
        __attribute__((noinline)) int apply(Parameters p, int x) { p.offset += x; return p.scale * p.offset; }
        kernel void t(global float2 *out, Parameters p, char before, long after) {
            int i = (int)get_global_id(0);
            out[i] = (float2)((float)apply(p, i) + p.weights[i & 3], (float)(p.offset + before + (int)after));
        }",
    )
    .expect(|i| [(-3 * (1000 + i as i32)) as f32 + [0.25, 0.5, 1.5, 2.75][i & 3], (1000 - 7 + 40_000) as f32])
    .value(Parameters { scale: -3, padding: [0; 3], offset: 1000, weights: [0.25, 0.5, 1.5, 2.75] })
    .value(-7_i8)
    .value(40_000_i64)
}

fn unions() -> Case {
    Case::new(
        "memory::unions",
        "typedef union { float f; uint u; uchar bytes[4]; ushort2 halves; } Bits;
        kernel void t(global const float *a, global uint4 *out) {
            size_t i = get_global_id(0);
            Bits b;
            b.f = a[i];
            uint before = b.u;
            b.bytes[3] ^= 0x80;
            out[i] = (uint4)(before, b.u, b.halves.y, b.bytes[i & 3]);
        }",
    )
    .input(|i| i as f32 * 0.37 - 20.0)
    .expect(|i| {
        let bits = (i as f32 * 0.37 - 20.0).to_bits();
        let flipped = bits ^ 0x8000_0000;
        [bits, flipped, flipped >> 16, u32::from(flipped.to_le_bytes()[i & 3])]
    })
}

fn private_array() -> Case {
    Case::new(
        "memory::private_array_with_dynamic_index",
        "kernel void t(global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint histogram[16];
            for (int k = 0; k < 16; ++k) histogram[k] = 0;
            for (int k = 0; k < 32; ++k) histogram[(a[i] >> k) & 15] += k + 1;
            uint sum = 0;
            for (int k = 0; k < 16; ++k) sum = sum * 31 + histogram[k];
            out[i] = sum;
        }",
    )
    .input(|i| spread(33, i) as u32)
    .expect(|i| {
        let mut histogram = [0_u32; 16];
        for k in 0..32 {
            histogram[(spread(33, i) as u32 >> k & 15) as usize] += k + 1;
        }
        histogram.iter().fold(0_u32, |sum, count| sum.wrapping_mul(31).wrapping_add(*count))
    })
}

/// More private memory than a thread's stack would like: 8 KiB for each of the group's work-items.
fn large_private_array() -> Case {
    Case::new(
        "memory::large_private_array",
        "kernel void t(global uint *out) {
            uint i = get_global_id(0);
            uint values[2048];
            for (uint k = 0; k < 2048; ++k) values[(k * 37u + i) % 2048u] = k ^ i;
            uint sum = 0;
            for (uint k = 0; k < 2048; k += 1 + (i & 3)) sum = sum * 5u + values[k];
            out[i] = sum;
        }",
    )
    .expect(|i| {
        let i = i as u32;
        let mut values = [0_u32; 2048];
        for k in 0..2048 {
            values[((k * 37 + i) % 2048) as usize] = k ^ i;
        }
        values.iter().step_by(1 + (i as usize & 3)).fold(0_u32, |sum, value| sum.wrapping_mul(5).wrapping_add(*value))
    })
}

fn matrices() -> Case {
    Case::new(
        "memory::private_matrix",
        "kernel void t(global const float *a, global float *out) {
            size_t i = get_global_id(0);
            float m[3][3], p[3][3];
            for (int r = 0; r < 3; ++r)
                for (int c = 0; c < 3; ++c) { m[r][c] = a[(i + r * 3 + c) % get_global_size(0)]; p[r][c] = r == c; }
            for (int n = 0; n < 3; ++n) {
                float q[3][3];
                for (int r = 0; r < 3; ++r)
                    for (int c = 0; c < 3; ++c) {
                        q[r][c] = 0;
                        for (int k = 0; k < 3; ++k) q[r][c] += p[r][k] * m[k][c];
                    }
                for (int r = 0; r < 3; ++r)
                    for (int c = 0; c < 3; ++c) p[r][c] = q[r][c];
            }
            out[i] = p[0][0] + p[1][1] + p[2][2];
        }",
    )
    // Small integers: exact in whatever order.
    .input(|i| (i % 7) as f32 - 3.0)
    .expect(|i| {
        let m: [[f32; 3]; 3] =
            std::array::from_fn(|r| std::array::from_fn(|c| ((i + r * 3 + c) % GLOBAL % 7) as f32 - 3.0));
        let times = |a: [[f32; 3]; 3]| -> [[f32; 3]; 3] {
            std::array::from_fn(|r| std::array::from_fn(|c| (0..3).map(|k| a[r][k] * m[k][c]).sum()))
        };
        let p = times(times(m));
        p[0][0] + p[1][1] + p[2][2]
    })
}

fn program_constants() -> Case {
    Case::new(
        "memory::program_scope_constants",
        "constant int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
        constant float4 scale = (float4)(1.0f, 2.0f, 4.0f, 8.0f);
        constant struct { char c; int n[2]; constant int *p; } record = {'x', {10, 20}, table + 4};
        kernel void t(global float *out, constant int *argument) {
            size_t i = get_global_id(0);
            constant float *s = (constant float *)&scale;
            out[i] = table[i & 7] * s[i & 3] + record.c + record.n[i & 1] + record.p[i & 3] + argument[i & 15];
        }",
    )
    .expect(|i| {
        let table = [3, 1, 4, 1, 5, 9, 2, 6];
        let scaled = table[i & 7] as f32 * [1.0, 2.0, 4.0, 8.0][i & 3];
        scaled + f32::from(b'x') + [10.0, 20.0][i & 1] + table[4 + (i & 3)] as f32 + (i & 15) as f32 * 3.0
    })
    .input_n(16, |i| i as i32 * 3)
}

/// Program-scope variables keep their values between launches, so the sweep counts up.
fn program_variables() -> Case {
    Case::new(
        "memory::program_scope_variables",
        "global int counter = 5;
        global int *global where = &counter;
        global int grid[4] = {1, 2, 3, 4};
        global int *nowhere;
        kernel void t(global int4 *out) {
            size_t i = get_global_id(0);
            out[i] = (int4)(*where == counter, grid[i & 3], nowhere == 0, 0);
        }",
    )
    .expect(|i| [1, 1 + (i as i32 & 3), 1, 0])
    .needs(Need::ProgramScope)
}

fn alignment() -> Case {
    Case::new(
        "memory::alignment_attributes",
        "typedef struct { char c; int x __attribute__((aligned(32))); } Aligned;
        kernel void t(global ulong4 *out) {
            size_t i = get_global_id(0);
            Aligned a; a.c = 1; a.x = (int)i;
            float4 v __attribute__((aligned(64)));
            v = (float4)(1.0f);
            local long16 shared_line;
            out[i] = (ulong4)(sizeof(Aligned) + a.x + a.c, ((ulong)(private void *)&a & 31) + ((ulong)(private void *)&v & 63),
                              (ulong)(local void *)&shared_line & 127, (ulong)v.w);
        }",
    )
    .expect(|i| [64 + i as u64 + 1, 0, 0, 1])
}

/// Private variables are in the records of their work-items, which have the alignment of the most aligned one.
fn large_alignments() -> Case {
    Case::new(
        "memory::alignments_beyond_the_largest_type",
        "typedef struct { char c; int v[5]; } __attribute__((aligned(512))) Large;
        constant int table[4] __attribute__((aligned(1024))) = {1, 2, 3, 4};
        kernel void t(global ulong8 *out) {
            size_t i = get_global_id(0);
            size_t k = i & 3;
            int single __attribute__((aligned(256)));
            Large record;
            int array[4] __attribute__((aligned(2048)));
            local int shared[16] __attribute__((aligned(1024)));
            local Large shared_records[2];
            single = (int)i;
            record.v[k] = 10;
            array[k] = 100;
            out[i] = (ulong8)((ulong)(private void *)&single & 255, (ulong)(private void *)&record & 511,
                              (ulong)(private void *)array & 2047, (ulong)(local void *)shared & 1023,
                              (ulong)(local void *)&shared_records[1] & 511, (ulong)(constant void *)table & 1023,
                              *(volatile private int *)&single, record.v[k] + array[k] + table[k]);
        }",
    )
    .expect(|i| [0, 0, 0, 0, 0, 0, i as u64, 111 + (i as u64 & 3)])
}

fn generic_pointers() -> Case {
    Case::new(
        "memory::generic_pointers",
        "int sum(int *values, int count) { int s = 0; for (int k = 0; k < count; ++k) s += values[k]; return s; }
        void store(int *where, int what) { *where = what; }
        kernel void t(global int *a, global int4 *out, local int *scratch) {
            int i = (int)get_global_id(0), l = (int)get_local_id(0);
            int mine[4] = {i, i + 1, i + 2, i + 3};
            scratch[l] = 7 * i;
            int *picked = (i & 1) ? (int *)mine : (int *)(a + (i & ~3));
            int result;
            store(&result, sum(picked, 4));
            int kind = (to_global(picked) != 0) * 1 + (to_private(picked) != 0) * 4 + (to_local((int *)&scratch[l]) != 0) * 2;
            out[i] = (int4)(result, sum(&scratch[l], 1), kind, sum(a, 2));
        }",
    )
    .input(|i| i as i32 * 10)
    .expect(|i| {
        let n = i as i32;
        let quad = (n & !3) * 10;
        let sum = if n & 1 == 1 { 4 * n + 6 } else { 4 * quad + 60 };
        [sum, 7 * n, 2 + if n & 1 == 1 { 4 } else { 1 }, 10]
    })
    .local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local[0]) * 4)
    .needs(Need::Generic)
    .clift_only("does not tell address spaces apart")
}

/// The fences of pointers whose address space only the launch knows. There is none for private memory.
fn fences_of_pointers() -> Case {
    Case::new(
        "memory::fences_of_pointers",
        "kernel void t(global const int *a, global int4 *out, local int *scratch) {
            int i = (int)get_global_id(0);
            int mine[4] = {i, i + 1, i + 2, i + 3};
            scratch[get_local_id(0)] = i;
            const int *picked = i % 3 == 0 ? (const int *)a : i % 3 == 1 ? (const int *)mine : (const int *)scratch;
            out[i] = (int4)(get_fence(picked), get_fence((const int *)a), get_fence((const int *)scratch), get_fence((int *)mine));
        }",
    )
    .input(|i| i as i32)
    .expect(|i| [[2, 0, 1][i % 3], 2, 1, 0])
    .local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local[0]) * 4)
    .needs(Need::Generic)
    .clift_only("does not tell address spaces apart")
}

fn pointer_arithmetic() -> Case {
    Case::new(
        "memory::pointer_arithmetic",
        "kernel void t(global const int *a, global long4 *out) {
            size_t i = get_global_id(0);
            global const int *p = a + i, *q = &a[get_global_size(0) - 1];
            global const char *bytes = (global const char *)p;
            out[i] = (long4)(q - p, p <= q, *(global const int *)(bytes + 4 * (q - p)), p[-(long)i]);
        }",
    )
    .input(|i| spread(34, i) as i32)
    .expect(|i| [(GLOBAL - 1 - i) as i64, 1, i64::from(spread(34, GLOBAL - 1) as i32), i64::from(spread(34, 0) as i32)])
}

/// Negative and 32-bit indices, which must be sign extended.
fn negative_index() -> Case {
    Case::new(
        "memory::negative_int_index",
        "kernel void t(global const int *a, global int *out, int shift) {
            int i = get_global_id(0);
            int j = i - shift;
            out[i] = a[shift + j] + (j >= 0 ? a[j] : (a + 239)[j]);
        }",
    )
    .input(|i| spread(35, i) as i32)
    .expect(|i| {
        let j = i as i32 - 100;
        let other = if j >= 0 { j } else { 239 + j };
        (spread(35, i) as i32).wrapping_add(spread(35, other as usize) as i32)
    })
    .value(100_i32)
}

fn aliasing() -> Case {
    Case::new(
        "memory::aliased_buffers",
        "kernel void t(global int *a) {
            size_t i = get_global_id(0);
            global int *b = a + i;
            int before = *b;
            a[i] = before + 1;
            *b = *b * 2;
            global short *s = (global short *)b;
            s[1] ^= 1;
        }",
    )
    .update(GLOBAL, |i| i as i32, |_, i| Some(((i as i32 + 1) * 2) ^ 0x10000))
}

fn volatile_access() -> Case {
    Case::new(
        "memory::volatile",
        "kernel void t(global volatile int *a, global int *out) {
            size_t i = get_global_id(0);
            volatile int v = a[i];
            v = v + 1;
            a[i] = v;
            out[i] = a[i] + v;
        }",
    )
    .update(GLOBAL, |i| i as i32, |_, i| Some(i as i32 + 1))
    .expect(|i| 2 * (i as i32 + 1))
}

fn booleans() -> Case {
    Case::new(
        "memory::booleans",
        "typedef struct { bool low; bool high; } Range;
        Range classify(int x) { Range r; r.low = x < 50; r.high = x > 150; return r; }
        kernel void t(global int *out) {
            int i = get_global_id(0);
            bool flags[4] = {i & 1, i & 2, i & 4, i & 8};
            Range r = classify(i);
            int count = 0;
            for (int k = 0; k < 4; ++k) count += flags[(k + i) & 3];
            out[i] = count + 10 * r.low + 100 * r.high + 1000 * (bool)(i * 0.01f);
        }",
    )
    .expect(|i| {
        (i & 15).count_ones() as i32 + 10 * i32::from(i < 50) + 100 * i32::from(i > 150) + 1000 * i32::from(i > 0)
    })
}

/// Copies of structures and arrays as a whole become memory copies.
fn block_copies() -> Case {
    Case::new(
        "memory::block_copies",
        "typedef struct { int head; int values[20]; long tail; } Block;
        kernel void t(global const int *a, global long *out) {
            size_t i = get_global_id(0);
            Block first;
            first.head = a[i];
            for (int k = 0; k < 20; ++k) first.values[k] = a[i] * k;
            first.tail = -1;
            Block second = first, third;
            second.values[i % 20] = 0;
            third = second;
            long sum = third.head + third.tail;
            for (int k = 0; k < 20; ++k) sum += third.values[k] + first.values[k];
            out[i] = sum;
        }",
    )
    .input(|i| i as i32 - 100)
    .expect(|i| {
        let a = i as i64 - 100;
        a - 1 + 2 * a * 190 - a * (i as i64 % 20)
    })
}

/// A structure is copied to where it lies better than where it comes from. Without optimization the copy is still one.
fn misaligned_source() -> Case {
    Case::new(
        "memory::misaligned_source",
        "typedef struct { uint a, b, c, d; uint e[12]; } S;
        typedef union { uint16 v; S s; } U;
        kernel void t(global const uint *a, global uint16 *out) {
            size_t i = get_global_id(0);
            U u;
            u.s = *(global const S *)(a + i + 1);
            u.s.e[i % 12] += 1;
            out[i] = u.v;
        }",
    )
    .options("-cl-std=CL3.0 -cl-opt-disable")
    .input_n(GLOBAL + 16, |i| spread(31, i) as u32)
    .expect(|i| {
        let mut numbers: [u32; 16] = std::array::from_fn(|k| spread(31, i + 1 + k) as u32);
        numbers[4 + i % 12] = numbers[4 + i % 12].wrapping_add(1);
        numbers
    })
}

/// One memory by pointers of several types, as programs do that copy eight bytes at a time: OpenCL has an option for strict
/// aliasing, which is not given.
fn type_punning() -> Case {
    Case::new(
        "memory::type_punning",
        "kernel void t(global const uint *a, global ulong *out) {
            size_t i = get_global_id(0);
            global uint *words = (global uint *)(out + i);
            global float *floats = (global float *)words;
            global ushort *halves = (global ushort *)words;
            words[0] = 1;
            words[1] = 2;
            floats[a[i] & 1] = 1.0f;
            uint first = words[0], second = words[1];
            words[1] = first;
            halves[2] = 7;
            out[i] = out[i] + second;
        }",
    )
    .input(|i| spread(37, i) as u32)
    .expect(|i| {
        let odd = spread(37, i) & 1 == 1;
        let one = u64::from(1.0_f32.to_bits());
        let (first, second) = if odd { (1, one) } else { (one, 2) };
        ((first & !0xffff | 7) << 32 | first) + second
    })
}

/// The first and the last item of a group write the elements beside those of the group, of a type with so many bytes: a place
/// that all lanes of a pack share.
fn halo(ty: &str, bytes: usize, component: &str) -> Case {
    let small = |i: usize| value(i) & 15;
    Case::new(
        format!("memory::halo_{ty}"),
        format!(
            "kernel void t(global const int *a, global int *out, local {ty} *s) {{
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l + 1] = ({ty})(a[i] & 15);
                if (l == 0) s[0] = ({ty})((a[i] & 15) * 3);
                if (l == n - 1) s[n + 1] = ({ty})((a[i] & 15) * 5);
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = (int)s[l]{component} * 100 + (int)s[l + 2]{component};
            }}"
        ),
    )
    .input(value)
    .expect_in(move |launch, i| {
        let group = group(launch, i);
        let left = if i == group.start { small(i) * 3 } else { small(i - 1) };
        let right = if i + 1 == group.end { small(i) * 5 } else { small(i + 1) };
        left * 100 + right
    })
    .local_memory(move |launch| (launch.local_x() + 2) * bytes)
    .stated_local()
}

/// Components of records that are updated one after the other, the last one from the first one's new value, with indices of 32
/// bits.
fn components_in_turn(components: usize, ty: &str) -> Case {
    let updates: String = (0..components)
        .map(|k| format!("p[{components} * i + {k}] = p[{components} * i + {k}] * {} + 5;\n", k + 2))
        .collect();
    let last = components - 1;
    let source = format!(
        "kernel void t(global const {ty} *in, global {ty} *p) {{
            uint i = get_global_id(0);
            for (uint k = 0; k < {components}; k++)
                p[{components} * i + k] = in[{components} * i + k];
            barrier(CLK_GLOBAL_MEM_FENCE);
            {updates}
            p[{components} * i + {last}] += p[{components} * i];
        }}"
    );
    let input = |at: usize| spread(31, at) as u32 as i32;
    let update = move |i: usize, k: usize| input(components * i + k).wrapping_mul(k as i32 + 2).wrapping_add(5);
    Case::new(format!("memory::components_in_turn_{components}_{ty}"), source)
        .input_n(GLOBAL * components, input)
        .expect_n(GLOBAL * components, move |at| {
            let (i, k) = (at / components, at % components);
            let value = update(i, k);
            Some(if k == last { value.wrapping_add(update(i, 0)) } else { value })
        })
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        components_in_turn(2, "int"),
        components_in_turn(3, "int"),
        components_in_turn(4, "int"),
        halo("char", 1, ""),
        halo("short", 2, ""),
        halo("int", 4, ""),
        halo("float", 4, ""),
        halo("long", 8, ""),
        halo("float4", 16, ".x"),
        type_punning(),
        misaligned_source(),
        structures(),
        packed_structures(),
        triangles(),
        alignment_of_typedefs(),
        narrow_gathers(),
        structure_argument(),
        unions(),
        private_array(),
        large_private_array(),
        matrices(),
        program_constants(),
        program_variables(),
        alignment(),
        large_alignments(),
        addresses_of_variables(),
        generic_pointers(),
        fences_of_pointers(),
        pointer_arithmetic(),
        negative_index(),
        aliasing(),
        volatile_access(),
        booleans(),
        block_copies(),
    ]
}
