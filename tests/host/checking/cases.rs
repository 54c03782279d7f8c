//! The list of kernels with bugs. Each is correct unless `BUG` is defined; the line of the bug has the comment `// BUG`.

/// A kernel, a launch, and the bug's report.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) args: &'static [Arg],
    pub(super) global: [usize; 2],
    pub(super) local: [usize; 2],
    /// The work-item that is reported.
    pub(super) item: [usize; 2],
    pub(super) class: &'static str,
    /// What the report says.
    pub(super) text: &'static str,
}

/// An argument.
pub(super) enum Arg {
    /// A buffer of so many `int`s: their indices.
    Ints(usize),
    /// A part in the middle of a buffer.
    SubBuffer(usize),
    /// NULL for the version with the bug.
    IntsOrNull(usize),
    /// Local memory of so many bytes.
    Local(usize),
    Int(i32),
    /// One less for the version with the bug.
    IntOrLess(i32),
    /// A structure of four `int`s.
    FourInts,
}

use Arg::{FourInts, Int, IntOrLess, Ints, IntsOrNull, Local, SubBuffer};

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

/// A bug of class `uninit` in a launch of 64 work-items in groups of 32.
const fn uninit(
    name: &'static str,
    source: &'static str,
    args: &'static [Arg],
    item: usize,
    text: &'static str,
) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [item, 0], class: "uninit", text }
}

/// Any work-item: which one comes second depends on the order of the work-items.
pub(super) const ANY: usize = usize::MAX;

/// A bug of class `race` in a launch of 64 work-items in groups of 32. One of the two accesses is marked.
const fn race(name: &'static str, source: &'static str, args: &'static [Arg], text: &'static str) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [ANY, 0], class: "race", text }
}

/// A bug of class `barrier` in a launch of 64 work-items in groups of 32. One of the barriers is marked.
const fn barrier(name: &'static str, source: &'static str, args: &'static [Arg], text: &'static str) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [ANY, 0], class: "barrier", text }
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
    uninit(
        "variable_without_value",
        "kernel void KERNEL(global int *out) {
    int i = get_global_id(0);
    int x;
#ifndef BUG
    x = 1;
#endif
    if (i >= 40)
        x = 2;
    out[i] = x; // BUG
}",
        &[Ints(64)],
        0,
        "use of a value that is not initialized: 4 bytes at offset 0 in private variable `x`, which has 4 bytes",
    ),
    uninit(
        "one_path_only",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    float x;
    if (in[i] < 50)
        x = 1.0f;
#ifndef BUG
    else
        x = 0.0f;
#endif
    if (x > 0.5f) // BUG
        out[i] = 1;
}",
        &[Ints(64), Ints(64)],
        50,
        "in private variable `x`",
    ),
    uninit(
        "sum_without_start",
        "kernel void KERNEL(global const int *in, global int *out) {
    int sum;
#ifndef BUG
    sum = 0;
#endif
    for (int k = 0; k < 64; ++k)
        sum += in[k]; // BUG
    out[get_global_id(0)] = sum;
}",
        &[Ints(64), Ints(64)],
        0,
        "in private variable `sum`",
    ),
    uninit(
        "array_partly_filled",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    int p[16];
#ifdef BUG
#define FILLED 12
#else
#define FILLED 16
#endif
    for (int k = 0; k < FILLED; ++k)
        p[k] = in[k];
    out[i] =
        p[in[i] & 15]; // BUG
}",
        &[Ints(64), Ints(64)],
        12,
        "4 bytes at offset 48 in private variable `p`, which has 64 bytes",
    ),
    uninit(
        "large_array",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    float p[100];
    for (int k = 0; k < in[99]; ++k)
        p[k] = k;
#ifdef BUG
    int at = min(in[i] + 60, 99);
#else
    int at = in[i];
#endif
    out[i] =
        (int) p[at]; // BUG
}",
        &[Ints(100), Ints(64)],
        39,
        "4 bytes at offset 396 in private variable `p`, which has 400 bytes",
    ),
    uninit(
        "component_of_a_vector",
        "kernel void KERNEL(global int *out) {
    int i = get_global_id(0);
    int4 v;
    v.xyz = (int3) (i, i + 1, i + 2);
#ifdef BUG
    int part =
        v.w + v.x; // BUG
#else
    int part = v.z + v.x;
#endif
    out[i] = part;
}",
        &[Ints(64)],
        0,
        "in private variable `v`, which has 16 bytes",
    ),
    uninit(
        "field_of_a_private_structure",
        "struct part { int key; char tag; int value; };
kernel void KERNEL(global int *out) {
    int i = get_global_id(0);
    struct part a, b;
    a.key = i;
    a.tag = 1;
#ifndef BUG
    a.value = 2;
#endif
    b = a;
    out[i] = b.key + b.tag +
             b.value; // BUG
}",
        &[Ints(64)],
        0,
        "4 bytes at offset 8 in private variable `b`, which has 12 bytes",
    ),
    uninit(
        "bytes_of_a_word",
        "kernel void KERNEL(global int *out, int n) {
    int i = get_global_id(0);
    uchar bytes[4];
    for (int k = 0; k < n; ++k)
        bytes[k] = k;
    out[i] =
        *(int *) bytes; // BUG
}",
        &[Ints(64), IntOrLess(4)],
        0,
        "4 bytes at offset 0 in private variable `bytes`, which has 4 bytes",
    ),
    uninit(
        "local_array",
        "kernel void KERNEL(global int *out) {
    local int tile[33];
    int l = get_local_id(0);
    tile[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
#ifdef BUG
    int from = l + 1;
#else
    int from = 31 - l;
#endif
    out[get_global_id(0)] =
        tile[from]; // BUG
}",
        &[Ints(64)],
        31,
        "4 bytes at offset 128 in local variable `",
    ),
    uninit(
        "local_memory_of_an_argument",
        "kernel void KERNEL(global int *out, local int *tile) {
    int l = get_local_id(0);
#ifdef BUG
    if (l != 9)
#endif
    tile[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] =
        tile[31 - l]; // BUG
}",
        &[Ints(64), Local(128)],
        22,
        "4 bytes at offset 36 in argument 1 `tile`, which has 128 bytes",
    ),
    uninit(
        "local_counter",
        "kernel void KERNEL(global int *out) {
    local int count;
    int l = get_local_id(0);
#ifndef BUG
    if (l == 0) count = 0;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count); // BUG
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = count;
}",
        &[Ints(64)],
        0,
        "4 bytes at offset 0 in local variable `",
    ),
    uninit(
        "through_a_pointer",
        "void put(int *to, int n) {
    for (int k = 0; k < n; ++k)
        to[k] = k;
}
int sum(const int *from) {
    int sum = 0;
    for (int k = 0; k < 8; ++k)
        sum += from[k]; // BUG
    return sum;
}
kernel void KERNEL(global int *out, int n) {
    int p[8];
    put(p, n);
    out[get_global_id(0)] = sum(p);
}",
        &[Ints(64), IntOrLess(8)],
        0,
        "4 bytes at offset 28 in private variable `p`",
    ),
    uninit(
        "part_of_an_async_copy",
        "#ifdef BUG
#define COUNT 31
#else
#define COUNT 32
#endif
kernel void KERNEL(global int *out, global const int *in) {
    local int tile[32];
    event_t e = async_work_group_copy(tile, in + get_group_id(0) * 32, COUNT, 0);
    wait_group_events(1, &e);
    out[get_global_id(0)] =
        tile[get_local_id(0)]; // BUG
}",
        &[Ints(64), Ints(64)],
        31,
        "4 bytes at offset 124 in local variable `",
    ),
    race(
        "missing_barrier",
        "kernel void KERNEL(global int *out) {
    local int tile[32];
    int l = get_local_id(0);
    tile[l] = l; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    out[get_global_id(0)] = tile[31 - l];
}",
        &[Ints(64)],
        "in local variable `",
    ),
    race(
        "missing_second_barrier",
        "kernel void KERNEL(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), sum = 0;
    for (int k = 0; k < 2; ++k) {
        tile[l] = in[k * 32 + l]; // BUG
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[(l + 5) % 32];
#ifndef BUG
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    out[get_global_id(0)] = sum;
}",
        &[Ints(64), Ints(64), Local(128)],
        "in argument 2 `tile`, which has 128 bytes",
    ),
    race(
        "wrong_fence",
        "kernel void KERNEL(global int *a, global int *out) {
    int l = get_local_id(0), base = get_group_id(0) * 32;
    a[base + l] = -l; // BUG
#ifdef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    barrier(CLK_GLOBAL_MEM_FENCE);
#endif
    out[base + l] = a[base + (l + 1) % 32];
}",
        &[Ints(64), Ints(64)],
        "in argument 0 `a`, which has 256 bytes",
    ),
    race(
        "shift_in_place",
        "kernel void KERNEL(global int *a, global int *b) {
    int i = get_global_id(0), l = get_local_id(0);
#ifdef BUG
    a[i] = a[l == 31 ? i : i + 1] + 7; // BUG
#else
    b[i] = a[l == 31 ? i : i + 1] + 7;
#endif
}",
        &[Ints(64), Ints(64)],
        "in argument 0 `a`",
    ),
    race(
        "sum_without_atomics",
        "kernel void KERNEL(global int *sum) {
    int g = get_group_id(0);
#ifdef BUG
    sum[g] += get_local_id(0) + 1; // BUG
#else
    atomic_add(&sum[g], get_local_id(0) + 1);
#endif
}",
        &[Ints(64)],
        "in argument 0 `sum`",
    ),
    race(
        "plain_read_of_an_atomic",
        "kernel void KERNEL(global int *out) {
    local int count;
    if (get_local_id(0) == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count); // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    out[get_global_id(0)] = count;
}",
        &[Ints(64)],
        "in local variable `",
    ),
    race(
        "neighbouring_bytes",
        "kernel void KERNEL(global uchar *bytes) {
    int i = get_global_id(0);
    bytes[i] = i + 100;
#ifdef BUG
    if (i % 32 == 7)
        *(global ushort *) (bytes + i - 1) = 1; // BUG
#endif
}",
        &[Ints(64)],
        "in argument 0 `bytes`, which has 256 bytes",
    ),
    race(
        "columns_and_rows",
        "kernel void KERNEL(global int *out) {
    local int tile[8][4];
    int l = get_local_id(0);
    tile[l % 8][l / 8] = l; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    out[get_global_id(0)] = tile[l / 4][l % 4];
}",
        &[Ints(64)],
        "in local variable `",
    ),
    barrier(
        "barrier_in_a_branch",
        "kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] < 20)
#endif
        barrier(CLK_LOCAL_MEM_FENCE); // BUG
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "which has ended",
    ),
    barrier(
        "return_before_a_barrier",
        "kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] == 31) return;
#endif
    barrier(CLK_LOCAL_MEM_FENCE); // BUG
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "which has ended",
    ),
    barrier(
        "two_barriers_for_one",
        "kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] & 1)
        barrier(CLK_LOCAL_MEM_FENCE); // BUG
    else
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "is at the barrier at line",
    ),
    barrier(
        "iterations_differ",
        "kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    int n = in[l] / 16 + 1;
#else
    int n = 2;
#endif
    for (int k = 0; k < n; ++k) {
        barrier(CLK_LOCAL_MEM_FENCE); // BUG
        out[get_global_id(0)] = k;
    }
}",
        &[Ints(64), Ints(64)],
        "which has ended",
    ),
    barrier(
        "reduction_in_a_branch",
        "kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0), sum = 0;
#ifdef BUG
    if (in[l] < 30)
#endif
        sum = work_group_reduce_add(l); // BUG
    out[get_global_id(0)] = sum;
}",
        &[Ints(64), Ints(64)],
        "which has ended",
    ),
];
