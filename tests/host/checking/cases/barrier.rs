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
    barrier(
        "sub_group_barrier_in_a_branch",
        "__attribute__((intel_reqd_sub_group_size(8)))
kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] % 8 < 5)
#endif
        sub_group_barrier(CLK_LOCAL_MEM_FENCE); // BUG
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "of its sub-group, which has ended",
    ),
    barrier(
        "two_sub_group_barriers_for_one",
        "__attribute__((intel_reqd_sub_group_size(8)))
kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] == 9)
        sub_group_barrier(CLK_LOCAL_MEM_FENCE); // BUG
    else
#endif
        sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    // Sub-groups do not wait for each other.
    if (get_sub_group_id() == 2)
        sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "of its sub-group, which is at the barrier at line",
    ),
    barrier(
        "named_barrier_in_a_branch",
        "#pragma OPENCL EXTENSION cl_khr_subgroup_named_barrier : enable
__attribute__((intel_reqd_sub_group_size(8)))
kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
    named_barrier_t two = named_barrier_init(2);
    if (get_sub_group_id() < 2) {
#ifdef BUG
        if (in[l] != 3)
#endif
            work_group_named_barrier(two, CLK_LOCAL_MEM_FENCE); // BUG
    }
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "of its sub-group, which has ended",
    ),
    barrier(
        "one_barrier_of_a_function_at_two_calls",
        "void wait(void) {
    barrier(CLK_LOCAL_MEM_FENCE); // BUG
}
kernel void KERNEL(global int *out, global const int *in) {
    int l = get_local_id(0);
#ifdef BUG
    if (in[l] & 1)
        wait();
    else
#endif
        wait();
    out[get_global_id(0)] = l;
}",
        &[Ints(64), Ints(64)],
        "(in `wait`, called at line 8:9)",
    ),
];
