// Halves in memory, converted with every rounding.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    private ushort memory[8];
    float x = (float)(in[i] & 0xffff) * 0.37f;
    vstore_half(x, 0, (private half *)memory);
    vstore_half_rtz(x, 1, (private half *)memory);
    vstore_half_rtp(-x, 2, (private half *)memory);
    vstore_half_rtn(-x, 3, (private half *)memory);
    vstore_half2_rte((float2)(x * 0.001f, x * 0.25f), 2, (private half *)memory);
    float2 back = vload_half2(2, (private half *)memory);
    out[i * 4] = memory[0] | (uint)memory[1] << 16;
    out[i * 4 + 1] = memory[2] | (uint)memory[3] << 16;
    out[i * 4 + 2] = as_uint(back.x + back.y);
    out[i * 4 + 3] = as_uint(vload_half(1, (private half *)memory));
}
