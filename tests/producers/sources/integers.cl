// Integer functions, and shifts beyond the width.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint x = in[i], y = in[(i * 7 + 3) & 63];
    int s = as_int(x * 0x9e3779b9u), u = as_int(y * 0x85ebca6bu);
    ulong l = (ulong)x * 0x9e3779b97f4a7c15ul;
    out[i * 4] = abs_diff(s, u) + (uint)add_sat(s, u) + (uint)sub_sat(s, u) + add_sat(x, 0xfffffff0u) + (uint)(uchar)sub_sat((char)s, (char)u);
    out[i * 4 + 1] = popcount(x) + clz(y) * 64 + rotate(x, y) + (uint)mul_hi(s, u) + mad24(x, y, 7u) + (uint)mul24(s >> 9, u >> 9);
    out[i * 4 + 2] = (uint)rhadd(s, u) ^ upsample((ushort)x, (ushort)y) ^ (uint)clamp(s, -1000, 1000) ^ (x << (y & 63)) ^ (uint)(s >> (x & 63));
    out[i * 4 + 3] = (uint)(l >> (y & 63)) ^ bitselect(x, y, 0x0ff00ff0u) ^ (uint)select(s, u, (int)x << 31) ^ (uint)(l % (y | 1)) ^ (uint)(s / (u | 1));
}
