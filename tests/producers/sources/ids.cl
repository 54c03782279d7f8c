// Ids and sizes in three dimensions, by constant dimensions and by ones beyond the third. launch: 4x4x4 by 2x2x2 from 1,2,3
kernel void t(global uint *out, global const uint *in) {
    size_t at = (get_global_id(2) - 3) * 16 + (get_global_id(1) - 2) * 4 + (get_global_id(0) - 1);
    uint a = get_global_id(0) + 10 * get_global_id(1) + 100 * get_global_id(2);
    uint b = get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2);
    uint c = get_group_id(0) + 10 * get_group_id(1) + 100 * get_group_id(2);
    uint d = get_global_size(0) * get_local_size(1) + get_num_groups(2) * 7 + get_work_dim();
    uint e = get_global_offset(0) + 10 * get_global_offset(1) + 100 * get_global_offset(2);
    uint f = get_global_id(3) + get_global_size(5) * 10 + get_local_size(4) * 100 + get_num_groups(9) * 1000;
    out[at * 4] = a + 1000 * b;
    out[at * 4 + 1] = c + 1000 * d;
    out[at * 4 + 2] = e + 1000 * f;
    out[at * 4 + 3] = in[at];
}
