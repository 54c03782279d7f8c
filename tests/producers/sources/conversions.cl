// Conversions that saturate and round.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    int x = (int)in[i] * ((i & 1) ? 1 : -1);
    float f = (float)x * 0.013f;
    out[i * 4] = (uchar)convert_uchar_sat(x) | (uint)(uchar)convert_char_sat(x) << 8 | (uint)convert_ushort_sat(x >> 3) << 16;
    out[i * 4 + 1] = (uint)convert_int_rte(f) ^ (uint)convert_int_rtp(f) * 3 ^ (uint)convert_int_rtn(f) * 5 ^ (uint)convert_int_sat(f * 1e6f);
    out[i * 4 + 2] = as_uint(convert_float_rtz(x)) ^ as_uint(convert_float_rtp(x ^ 0x7fffff)) * 3;
    uint4 v = convert_uint4_sat((float4)(f, -f, f * 1e9f, 0.5f));
    out[i * 4 + 3] = v.x + v.y + (v.z >> 1) + v.w + (uint)convert_long_sat(f);
}
