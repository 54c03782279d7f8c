// Vectors of three, swizzles, shuffles, comparisons, loads and stores at any alignment.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint3 a = vload3(i & 15, in), b = a.zxy;
    b.xz = b.zx + a.yy;
    uint4 c = (uint4)(a, in[i]), d = shuffle(c, (uint4)(in[i] & 3, 2, 1, in[i] >> 2 & 3));
    uint8 e = shuffle2(c, d, (uint8)(0, 5, 2, 7, 1, 4, 3, 6));
    int4 less = convert_int4(c < d) * as_int4(c > (uint4)(5));
    uchar16 bytes = as_uchar16(c);
    bytes.s048c = bytes.s37bf;
    bytes.even = bytes.odd;
    vstore3(b + (uint3)(any(less), all(less == less), dot((float3)(1, 2, 3), (float3)(4, 5, 6))), 0, out + i * 4);
    out[i * 4 + 3] = e.s1 + e.s6 * 3 + as_uint4(bytes).y + (uint)(less.x + less.y + less.z + less.w) + d.w;
}
