// A reduction and a transposition through local memory.
kernel void t(global uint *out, global const uint *in) {
    local uint tile[16];
    local uint turned[4][4];
    size_t i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    turned[l & 3][l >> 2] = in[i] * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 8; step > 0; step >>= 1) {
        if (l < step) tile[l] += tile[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i * 4] = tile[0];
    out[i * 4 + 1] = turned[l >> 2][l & 3];
    out[i * 4 + 2] = tile[l % 2];
    out[i * 4 + 3] = l;
}
