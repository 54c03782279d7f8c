// Atomic functions of OpenCL C 1.x in global and local memory.
kernel void t(global uint *out, global const uint *in) {
    local uint sum, most, bits;
    local int least;
    size_t i = get_global_id(0), l = get_local_id(0);
    if (l == 0) { sum = 0; most = 0; bits = 0; least = 0x7fffffff; }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum, in[i]);
    atomic_max(&most, in[i] & 0xffff);
    atomic_min(&least, (int)in[i] >> 3);
    atomic_or(&bits, 1u << (in[i] & 31));
    atomic_inc(&out[255]);
    atomic_xchg(&out[254], 77);
    atomic_cmpxchg(&out[253], 0, 5);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < 62) {
        out[i * 4] = sum;
        out[i * 4 + 1] = most;
        out[i * 4 + 2] = (uint)least;
        out[i * 4 + 3] = bits;
    }
}
