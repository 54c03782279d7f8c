//! Kernels that access memory out of bounds.

use super::Arg::{FourInts, Int, Ints, IntsOrNull, Local, SubBuffer};
use super::{Arg, Case};

/// A bug of class `memory` in a launch of 64 work-items in groups of 32.
const fn memory(
    name: &'static str,
    source: &'static str,
    args: &'static [Arg],
    item: usize,
    text: &'static str,
) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [item, 0], class: "memory", text }
}

pub(super) const CASES: &[Case] = &[
    memory(
        "store_behind_the_end",
        "#ifdef BUG
#define AT i + 1
#else
#define AT i
#endif
kernel void KERNEL(global int *a) {
    int i = get_global_id(0);
    a[AT] = i; // BUG
}",
        &[Ints(64)],
        63,
        "store of 4 bytes out of bounds: offset 256 in argument 0 `a`, which has 256 bytes",
    ),
    memory(
        "load_before_the_start",
        "#ifdef BUG
#define AT i - 1
#else
#define AT i
#endif
kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] =
        in[AT]; // BUG
}",
        &[Ints(64), Ints(64)],
        0,
        "load of 4 bytes out of bounds: offset -4 in argument 0 `in`, which has 256 bytes",
    ),
    memory(
        "unsigned_index_below_zero",
        "kernel void KERNEL(global const int *in, global int *out) {
    uint i = get_global_id(0);
#ifdef BUG
    uint left = i - 1;
#else
    uint left = i ? i - 1 : 0;
#endif
    out[i] = in[left]; // BUG
}",
        &[Ints(64), Ints(64)],
        0,
        "offset 17179869180 in argument 0 `in`",
    ),
    memory(
        "stencil_without_borders",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
#ifndef BUG
    if (i == 0 || i == 63) return;
#endif
    int left = in[i];
    int right =
        in[i + 1]; // BUG
    out[i] = left + right;
}",
        &[Ints(64), Ints(64)],
        63,
        "offset 256 in argument 0 `in`",
    ),
    memory(
        "loop_one_too_far",
        "#ifdef BUG
#define BEFORE <=
#else
#define BEFORE <
#endif
kernel void KERNEL(global const int *in, global int *out, int n) {
    int sum = 0;
    for (int k = 0; k BEFORE n; ++k)
        sum += in[k]; // BUG
    out[get_global_id(0)] = sum;
}",
        &[Ints(100), Ints(64), Int(100)],
        0,
        "offset 400 in argument 0 `in`, which has 400 bytes",
    ),
    memory(
        "pointer_walks_out",
        "kernel void KERNEL(global const int *in, global int *out, int n) {
#ifdef BUG
    n += 1;
#endif
    int sum = 0;
    global const int *p = in + get_global_id(0);
    while (n--)
        sum ^= *p++; // BUG
    out[get_global_id(0)] = sum;
}",
        &[Ints(80), Ints(64), Int(17)],
        63,
        "offset 320 in argument 0 `in`, which has 320 bytes",
    ),
    memory(
        "local_variable",
        "kernel void KERNEL(global int *out) {
    local int tile[32];
    int l = get_local_id(0);
#ifdef BUG
    int to = l + 8;
#else
    int to = l;
#endif
    tile[to] = l; // BUG
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[31 - l];
}",
        &[Ints(64)],
        24,
        "store of 4 bytes out of bounds: offset 128 in local variable `",
    ),
    memory(
        "local_argument",
        "kernel void KERNEL(global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
#ifdef BUG
    int from = l + 4;
#else
    int from = 31 - l;
#endif
    out[get_global_id(0)] =
        tile[from]; // BUG
}",
        &[Ints(64), Local(128)],
        28,
        "load of 4 bytes out of bounds: offset 128 in argument 1 `tile`, which has 128 bytes",
    ),
    memory(
        "private_array",
        "kernel void KERNEL(global int *out, global const int *in) {
    int p[8];
    for (int k = 0; k < 8; ++k) p[k] = in[k];
    int i = get_global_id(0);
#ifdef BUG
    int at = in[i] & 15;
#else
    int at = in[i] & 7;
#endif
    out[i] =
        p[at]; // BUG
}",
        &[Ints(64), Ints(64)],
        8,
        "offset 32 in private variable `p`, which has 32 bytes",
    ),
    memory(
        "constant_table",
        "constant int table[5] = {1, 2, 3, 4, 5};
#ifdef BUG
#define MASK 7
#else
#define MASK 3
#endif
kernel void KERNEL(global int *out) {
    int i = get_global_id(0);
    out[i] =
        table[i & MASK]; // BUG
}",
        &[Ints(64)],
        5,
        "offset 20 in program-scope variable `table`, which has 20 bytes",
    ),
    memory(
        "constant_argument",
        "#ifdef BUG
#define AT i * 2
#else
#define AT i / 2
#endif
kernel void KERNEL(constant int *in, global int *out) {
    int i = get_global_id(0);
    out[i] =
        in[AT]; // BUG
}",
        &[Ints(64), Ints(64)],
        32,
        "offset 256 in argument 0 `in`",
    ),
    memory(
        "histogram",
        "kernel void KERNEL(global int *bins, global const int *in) {
    int i = get_global_id(0);
#ifdef BUG
    int bin = in[i] / 3;
#else
    int bin = in[i] / 4;
#endif
    atomic_inc(&bins[bin]); // BUG
}",
        &[Ints(16), Ints(64)],
        48,
        "atomic access of 4 bytes out of bounds: offset 64 in argument 0 `bins`",
    ),
    memory(
        "vload_at_the_end",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
#ifndef BUG
    if (i > 60) return;
#endif
    int4 v =
        vload4(0, in + i); // BUG
    out[i] = v.x + v.w;
}",
        &[Ints(64), Ints(64)],
        61,
        "in argument 0 `in`",
    ),
    memory(
        "vectors",
        "kernel void KERNEL(global const int4 *in, global int *out) {
    int i = get_global_id(0);
#ifdef BUG
    int at = i + 1;
#else
    int at = i;
#endif
    int4 v =
        in[at]; // BUG
    out[i] = v.x + v.y + v.z + v.w;
}",
        &[Ints(256), Ints(64)],
        63,
        "load of 16 bytes out of bounds: offset 1024 in argument 0 `in`",
    ),
    memory(
        "field_of_a_structure",
        "struct pair { int key; int value; };
kernel void KERNEL(global struct pair *pairs, int n) {
    int i = get_global_id(0);
#ifdef BUG
    if (i <= n)
#else
    if (i < n)
#endif
        pairs[i].value = i; // BUG
}",
        &[Ints(40), Int(20)],
        20,
        "offset 164 in argument 0 `pairs`, which has 160 bytes",
    ),
    memory(
        "part_of_a_buffer",
        "#ifdef BUG
#define AT i + 3
#else
#define AT i
#endif
kernel void KERNEL(global int *part) {
    int i = get_global_id(0);
    part[AT] = i; // BUG
}",
        &[SubBuffer(64)],
        61,
        "offset 256 in argument 0 `part`, which has 256 bytes",
    ),
    memory(
        "one_branch_only",
        "kernel void KERNEL(global int *a) {
    int i = get_global_id(0);
    if (i % 3 == 0)
        a[i] = 1;
    else if (i == 37) {
#ifdef BUG
        i *= 100;
#endif
        a[i] = 2; // BUG
    }
}",
        &[Ints(64)],
        37,
        "offset 14800 in argument 0 `a`",
    ),
    memory(
        "program_scope",
        "global int counters[4];
#ifdef BUG
#define MASK 7
#else
#define MASK 3
#endif
kernel void KERNEL(global int *out) {
    int i = get_global_id(0);
    counters[i & MASK] = 5; // BUG
    out[i] = i;
}",
        &[Ints(64)],
        4,
        "offset 16 in program-scope variable `counters`, which has 16 bytes",
    ),
    memory(
        "one_of_two_buffers",
        "kernel void KERNEL(global int *a, global int *b) {
    int i = get_global_id(0);
    global int *p = i & 1 ? a : b;
#ifdef BUG
    if (i == 5) p += 1 << 28;
#endif
    p[i] = i; // BUG
}",
        &[Ints(64), Ints(64)],
        5,
        "no memory of the launch is at address 0x",
    ),
    memory(
        "null",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] =
        in[i]; // BUG
}",
        &[IntsOrNull(64), Ints(64)],
        0,
        "offset 0 in argument 0 `in`, which has 0 bytes",
    ),
    memory(
        "async_copy",
        "#ifdef BUG
#define COUNT 33
#else
#define COUNT 32
#endif
kernel void KERNEL(global int *out, global const int *in) {
    local int tile[64];
    event_t e =
        async_work_group_copy(tile, in + get_group_id(0) * 32, COUNT, 0); // BUG
    wait_group_events(1, &e);
    out[get_global_id(0)] = tile[get_local_id(0)];
}",
        &[Ints(64), Ints(64)],
        32,
        "in argument 1 `in`, which has 256 bytes",
    ),
    memory(
        "in_a_called_function",
        "int get(global const int *from, int at) {
    return from[at]; // BUG
}
kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
#ifdef BUG
    int at = 2 * i;
#else
    int at = 63 - i;
#endif
    out[i] = get(in, at);
}",
        &[Ints(64), Ints(64)],
        32,
        "offset 256 in argument 0 `in`",
    ),
    memory(
        "bytes",
        "kernel void KERNEL(global uchar *bytes) {
    int i = get_global_id(0);
#ifdef BUG
    int at = 4 * i + 5;
#else
    int at = 4 * i + 3;
#endif
    bytes[at] = 1; // BUG
}",
        &[Ints(64)],
        63,
        "store of 1 bytes out of bounds: offset 257 in argument 0 `bytes`",
    ),
    memory(
        "argument_by_value",
        "struct four { int of[4]; };
#ifdef BUG
#define MASK 7
#else
#define MASK 3
#endif
kernel void KERNEL(struct four values, global int *out) {
    int i = get_global_id(0);
    out[i] =
        values.of[i & MASK]; // BUG
}",
        &[FourInts, Ints(64)],
        4,
        "load of 4 bytes out of bounds: offset 16 in ",
    ),
    memory(
        "generic_pointer",
        "int get(const int *from, int at) {
    return from[at]; // BUG
}
kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
#ifdef BUG
    int at = i + 32;
#else
    int at = i;
#endif
    out[i] = get(in, at);
}",
        &[Ints(64), Ints(64)],
        32,
        "offset 256 in argument 0 `in`",
    ),
    Case {
        name: "two_dimensions",
        source: "kernel void KERNEL(global int *image, int width) {
    int x = get_global_id(0), y = get_global_id(1);
#ifdef BUG
    y += 1;
#endif
    image[y * width + x] = x; // BUG
}",
        args: &[Ints(128), Int(16)],
        global: [16, 8],
        local: [8, 2],
        item: [0, 7],
        class: "memory",
        text: "work-item (0, 7, 0) (local (0, 1, 0), group (0, 3, 0))",
    },
];
