// Ids and sizes of a dimension known only when the kernel runs. std: CL2.0
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint sum = 0;
    for (uint n = 0; n < 5; ++n) {
        uint d = (in[i] + n) % 6;
        sum = sum * 31 + get_global_id(d) + 3 * get_local_id(d) + 5 * get_global_size(d) + 7 * get_group_id(d) + 11 * get_local_size(d) +
              13 * get_num_groups(d) + 17 * get_global_offset(d);
    }
    out[i * 4] = sum;
    out[i * 4 + 1] = get_enqueued_local_size(0);
    out[i * 4 + 2] = get_global_linear_id();
    out[i * 4 + 3] = get_local_linear_id();
}
