// Vectors of sixteen and of eight as parameters and results.
__attribute__((noinline)) uchar16 mix(uchar16 a, uchar16 b) { return hadd(a, b) ^ rotate(a, b & (uchar16)7); }
__attribute__((noinline)) ulong8 mul(ulong8 a, ulong8 b) { return mul_hi(a, b) + mad_hi(a, b, a) + clz(b); }
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint4 a = vload4(i & 15, in), b = vload4(15 - (i & 15), in);
    uint4 m = as_uint4(mix(as_uchar16(a), as_uchar16(b)));
    ulong8 l = mul(convert_ulong8((uint8)(a, b)) << 33, convert_ulong8((uint8)(b, a)) << 35);
    ulong s = l.s0 ^ l.s1 ^ l.s2 ^ l.s3 ^ l.s4 ^ l.s5 ^ l.s6 ^ l.s7;
    vstore4(m, i, out);
    out[i * 4 + 3] ^= (uint)s ^ (uint)(s >> 32);
}
