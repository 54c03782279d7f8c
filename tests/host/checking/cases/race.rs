//! Kernels whose work-items race.

use super::Arg::{Ints, Local};
use super::{ANY, Arg, Case};

/// A bug of class `race` in a launch of 64 work-items in groups of 32. One of the two accesses is marked.
const fn race(name: &'static str, source: &'static str, args: &'static [Arg], text: &'static str) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [ANY, 0], class: "race", text }
}

pub(super) const CASES: &[Case] = &[
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
    race(
        "functions_without_a_barrier",
        "void put(local int *tile, int i, int value) {
    tile[i] = value;
}
int get(local int *tile, int i) {
    return tile[i]; // BUG
}
void step(local int *tile, int l) {
    put(tile, l, l);
}
kernel void KERNEL(global int *out) {
    local int tile[32];
    int l = get_local_id(0);
    step(tile, l);
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    out[get_global_id(0)] = get(tile, 31 - l);
}",
        &[Ints(64)],
        "(in `put`, called at line 8:9, in `step`, called at line 13:10)",
    ),
];
