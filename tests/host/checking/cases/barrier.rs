//! Kernels whose barriers not all work-items reach.

use super::Arg::Ints;
use super::{ANY, Arg, Case};

/// A bug of class `barrier` in a launch of 64 work-items in groups of 32. One of the barriers is marked.
const fn barrier(name: &'static str, source: &'static str, args: &'static [Arg], text: &'static str) -> Case {
    Case { name, source, args, global: [64, 1], local: [32, 1], item: [ANY, 0], class: "barrier", text }
}

pub(super) const CASES: &[Case] = &[
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
