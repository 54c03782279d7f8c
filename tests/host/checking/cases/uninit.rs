//! Kernels that use memory that nothing has written.

use super::Arg::{IntOrLess, Ints, Local};
use super::{Arg, Case};

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

pub(super) const CASES: &[Case] = &[
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
        "declared_in_a_loop",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        int x;
        if (in[i] < 50)
            x = k;
#ifndef BUG
        else
            x = 0;
#endif
        sum += x; // BUG
    }
    out[i] = sum;
}",
        &[Ints(64), Ints(64)],
        50,
        "4 bytes at offset 0 in private variable `x`, which has 4 bytes",
    ),
    uninit(
        "kept_from_the_iteration_before",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    int sum = 0;
#ifndef BUG
    float p[3];
    p[1] = 0;
#endif
    for (int k = 0; k < in[63]; ++k) {
#ifdef BUG
        float p[3];
#endif
        if (k == 0)
            p[1] = in[i];
        sum +=
            (int) p[1]; // BUG
    }
    out[i] = sum;
}",
        &[Ints(64), Ints(64)],
        0,
        "4 bytes at offset 4 in private variable `p`, which has 12 bytes",
    ),
    uninit(
        "variable_of_a_function",
        "int twice(int value) {
    int x;
#ifdef BUG
    if (value < 50)
#endif
        x = 2 * value;
    return x; // BUG
}
kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = twice(in[0]) + twice(in[i]);
}",
        &[Ints(64), Ints(64)],
        50,
        "4 bytes at offset 0 in private variable `x`, which has 4 bytes",
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
        "pointer_in_a_private_structure",
        "struct view { global const int *data; int count; global const int *more; };
kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    struct view a[1], b;
    a[0].data = in;
    a[0].count = 64;
#ifndef BUG
    a[0].more = in;
#endif
    b = a[0];
    global const int *more =
        (&b.more)[0]; // BUG
    out[i] = b.data[i] + (more ? 1 : 2);
}",
        &[Ints(64), Ints(64)],
        0,
        "8 bytes at offset 16 in private variable `b`, which has 24 bytes",
    ),
    uninit(
        "pointer_in_an_array",
        "kernel void KERNEL(global const int *in, global int *out) {
    int i = get_global_id(0);
    global const int *from[2];
    from[0] = in;
#ifndef BUG
    from[1] = in + 1;
#endif
    global const int *at =
        from[in[i] >= 50]; // BUG
    if (at)
        out[i] = 1;
}",
        &[Ints(64), Ints(64)],
        50,
        "8 bytes at offset 8 in private variable `from`, which has 16 bytes",
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
];
