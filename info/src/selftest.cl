kernel void selftest(global uint *out) {
    local uint tile[64];
    const uint l = get_local_id(0);
    tile[l] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint value = tile[get_local_size(0) - 1 - l];
    for (uint n = value % 7; n > 0; n--)
        value = value % 2 == 0 ? value / 2 : value * 3 + 1;
    out[get_global_id(0)] = value;
}
