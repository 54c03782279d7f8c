// Functions of the whole work-group. std: CL2.0
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    out[i * 4] = work_group_reduce_add(in[i]);
    out[i * 4 + 1] = work_group_scan_inclusive_max(in[i] & 0xff);
    out[i * 4 + 2] = work_group_broadcast(in[i], get_group_id(0));
    out[i * 4 + 3] = work_group_all(in[i] > 0) * 2 + work_group_any(in[i] == 12345) + work_group_scan_exclusive_add(1) * 4;
}
