// Sub-groups, by what holds whatever their size. std: CL2.0
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint n = get_sub_group_size(), me = get_sub_group_local_id();
    uint first = sub_group_broadcast((uint)i, 0), sum = sub_group_reduce_add(1u), scan = sub_group_scan_exclusive_add(1u);
    out[i * 4] = (sum == n) + (scan == me) * 2 + (first == i - me) * 4 + (n <= get_max_sub_group_size()) * 8;
    out[i * 4 + 1] = sub_group_all(in[i] < 0xffffffffu) + 2 * !sub_group_any(in[i] == 0xffffffffu);
    out[i * 4 + 2] = sub_group_reduce_max((uint)i) - first + 1 == n;
    out[i * 4 + 3] = get_sub_group_id() * get_max_sub_group_size() + me == get_local_id(0);
}
