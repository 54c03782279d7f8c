// A struct as a kernel argument. struct argument: 1 2 3 4 5 6 7 8
typedef struct { uint a; ushort b, c; uint4 d; } record;
kernel void t(global uint *out, global const uint *in, const record r) {
    size_t i = get_global_id(0);
    out[i * 4] = r.a + in[i];
    out[i * 4 + 1] = r.b * 65536u + r.c;
    out[i * 4 + 2] = r.d.x + 3 * r.d.y + 5 * r.d.z + 7 * r.d.w;
    out[i * 4 + 3] = sizeof(record);
}
