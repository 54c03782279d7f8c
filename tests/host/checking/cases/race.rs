//! Kernels whose work-items race.

use super::Arg::{Int, Ints, Local};
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
    // The memory that all have read before is that of the one who writes it, after the barrier.
    race(
        "read_in_a_loop_of_one",
        "kernel void KERNEL(int count, global int *out) {
    local int tile[32];
    int l = get_local_id(0), sum = 0;
    tile[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    int first = tile[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0)
        tile[0] = first + 5;
    for (int k = 0; k < count; ++k) {
#ifdef BUG
        sum += tile[0] * k; // BUG
#else
        if (l == 0)
            sum += tile[0] * k;
        else
            sum -= k;
#endif
    }
    out[get_global_id(0)] = sum + first;
}",
        &[Int(9), Ints(64)],
        "in local variable `",
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
    race(
        "lanes_write_one_word",
        "kernel void KERNEL(global int *out) {
    local int last;
    int l = get_local_id(0);
#ifdef BUG
    last = l; // BUG
#else
    if (l == 31) last = l;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = last;
}",
        &[Ints(64)],
        "store of 4 bytes races with a write",
    ),
    race(
        "narrowed_ids_wrap",
        "kernel void KERNEL(global int *out) {
    int l = get_local_id(0), g = get_group_id(0) * 512;
#ifdef BUG
    uchar i = l * 16;
#else
    ushort i = l * 16;
#endif
    out[g + i] = l; // BUG
}",
        &[Ints(1024)],
        "store of 4 bytes races with a write",
    ),
    race(
        "lanes_write_pairs",
        "kernel void KERNEL(global int *out) {
    int l = get_local_id(0), g = get_group_id(0) * 32;
#ifdef BUG
    out[g + l / 2] = l; // BUG
#else
    out[g + l / 2] = l / 2;
#endif
}",
        &[Ints(64)],
        "in argument 0 `out`",
    ),
    race(
        "equal_values_but_one",
        "kernel void KERNEL(global int *out, int odd) {
    local int flag;
    int l = get_local_id(0);
    flag = 7; // BUG
#ifdef BUG
    if (l == odd) flag = 8;
#else
    if (l == odd) flag = 7;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = flag;
}",
        &[Ints(64), Int(30)],
        "in local variable `",
    ),
    race(
        "all_read_and_the_last_writes",
        "kernel void KERNEL(global int *a, global int *out, int last) {
    int l = get_local_id(0), g = get_group_id(0);
    int first = a[g]; // BUG
#ifndef BUG
    barrier(CLK_GLOBAL_MEM_FENCE);
#endif
    if (l == last) a[g] = first + 1;
    out[get_global_id(0)] = first;
}",
        &[Ints(64), Ints(64), Int(31)],
        "in argument 0 `a`",
    ),
    race(
        "own_read_after_a_neighbours",
        "kernel void KERNEL(local int *a, global int *out, int last) {
    int l = get_local_id(0), sum = 0;
    a[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 1; k >= last; --k)
        sum += a[(l + k) % 32]; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    a[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[l];
}",
        &[Local(128), Ints(64), Int(0)],
        "in argument 0 `a`",
    ),
    race(
        "atomics_and_a_store",
        "kernel void KERNEL(global int *out) {
    local int counts[4];
    int l = get_local_id(0);
    if (l < 4) counts[l] = 0; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    atomic_add(&counts[l % 4], l);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = counts[l % 4];
}",
        &[Ints(64)],
        "in local variable `",
    ),
    race(
        "words_and_bytes",
        "kernel void KERNEL(global int *out) {
    local int words[32];
    local uchar *bytes = (local uchar *) words;
    int l = get_local_id(0);
    words[l] = l; // BUG
#ifdef BUG
    bytes[(4 * l + 4) % 128] = 1;
#else
    bytes[4 * l] = 1;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = words[l];
}",
        &[Ints(64)],
        "in local variable `",
    ),
    race(
        "vectors_that_overlap",
        "kernel void KERNEL(global int *out) {
    local int tile[40];
    int l = get_local_id(0);
#ifdef BUG
    vstore4((int4) (l, l + 1, l + 2, l), 0, tile + l); // BUG
#else
    if (l % 4 == 0) vstore4((int4) (l), 0, tile + l);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[l];
}",
        &[Ints(64)],
        "in local variable `",
    ),
    race(
        "halves_of_a_word",
        "kernel void KERNEL(global ushort *a) {
    int l = get_local_id(0), g = get_group_id(0) * 32;
    a[g + l] = l;
#ifdef BUG
    if (l == 20) a[g + l - 1] = 0x1234; // BUG
#endif
}",
        &[Ints(64)],
        "store of 2 bytes races with a write",
    ),
    race(
        "barrier_in_a_loop",
        "kernel void KERNEL(global int *out, local int *a, int steps) {
    int l = get_local_id(0);
    a[l] = l;
    for (int s = 0; s < steps; ++s) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int other = a[(l + (1 << s)) % 32]; // BUG
#ifdef BUG
        if (s != 2)
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
        a[l] = other + s;
    }
    out[get_global_id(0)] = a[l];
}",
        &[Ints(64), Local(128), Int(4)],
        "in argument 1 `a`",
    ),
    race(
        "pointers_that_are_swapped",
        "kernel void KERNEL(global int *out, local int *a, local int *b, int steps) {
    int l = get_local_id(0);
    local int *from = a, *to = b;
    from[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 0; s < steps; ++s) {
        to[l] = from[(l + 1) % 32]; // BUG
        local int *t = from;
        from = to;
        to = t;
#ifndef BUG
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = from[l];
}",
        &[Ints(64), Local(128), Local(128), Int(3)],
        "races with a",
    ),
    race(
        "rows_that_overlap",
        "kernel void KERNEL(global int *out, int step) {
    int l = get_local_id(0), g = get_group_id(0) * 96;
    for (int k = 0; k < 3; ++k)
        out[g + l * step + k] = k + l; // BUG
}",
        &[Ints(192), Arg::IntOrLess(3)],
        "in argument 0 `out`",
    ),
    Case {
        name: "rows_of_a_plane_that_overlap",
        source: "kernel void KERNEL(global int *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = x * 100 + y; // BUG
}",
        args: &[Ints(64), Arg::IntOrLess(8)],
        global: [8, 4],
        local: [8, 4],
        item: [ANY, ANY],
        class: "race",
        text: "in argument 0 `out`",
    },
    Case {
        name: "one_dimension_of_two",
        source: "kernel void KERNEL(global int *out) {
    int x = get_global_id(0), y = get_global_id(1);
#ifdef BUG
    out[x] = y; // BUG
#else
    out[x] = x;
#endif
}",
        args: &[Ints(64)],
        global: [16, 4],
        local: [16, 4],
        item: [ANY, ANY],
        class: "race",
        text: "in argument 0 `out`",
    },
    race(
        "between_a_fence_and_a_barrier",
        "kernel void KERNEL(global int *out, local int *a) {
    int l = get_local_id(0);
    a[l] = l;
    mem_fence(CLK_LOCAL_MEM_FENCE);
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = a[31 - l]; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    a[l] = other;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[l];
}",
        &[Ints(64), Local(128)],
        "in argument 1 `a`",
    ),
    race(
        "structures",
        "typedef struct { int a[3]; char b; } S;
kernel void KERNEL(global int *out) {
    local S s[33];
    int l = get_local_id(0);
    s[l].a[0] = l;
    s[l].a[1] = 1;
    s[l].a[2] = 2;
    s[l].b = 3;
    if (l == 0) { s[32].a[0] = 32; s[32].a[1] = s[32].a[2] = 0; s[32].b = 1; }
    barrier(CLK_LOCAL_MEM_FENCE);
    S t = s[l + 1]; // BUG
#ifndef BUG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    s[l] = t;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = s[l].a[0] + s[l].b;
}",
        &[Ints(64)],
        "in local variable `",
    ),
];
