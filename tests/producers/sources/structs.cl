// Structs in structs, packed ones, unions, arrays in structs, whole assignments, results and parameters by value.
typedef struct { uchar tag; uint3 v; ushort s[3]; } inner;
typedef struct __attribute__((packed)) { uchar c; uint i; ulong l; } packed;
typedef union { float f; uint u; uchar b[4]; } word;
typedef struct { inner a; packed p; word w[2]; } outer;
__attribute__((noinline)) outer make(uint x) {
    outer o;
    o.a.tag = (uchar)x;
    o.a.v = (uint3)(x, x + 1, x + 2);
    for (int k = 0; k < 3; ++k) o.a.s[k] = (ushort)(x * k);
    o.p.c = (uchar)(x >> 8); o.p.i = x * 5; o.p.l = (ulong)x * x;
    o.w[0].f = (float)(x & 1023);
    o.w[1].u = x;
    return o;
}
__attribute__((noinline)) uint sum(outer o) {
    return o.a.tag + o.a.v.x + o.a.v.y * 3 + o.a.v.z * 5 + o.a.s[2] + o.p.c + o.p.i + (uint)o.p.l + (uint)(o.p.l >> 32) + o.w[0].u + o.w[1].b[1];
}
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    outer o = make(in[i]), copy = o;
    copy.w[1].b[1] ^= 0x55;
    out[i * 4] = sum(o);
    out[i * 4 + 1] = sum(copy);
    out[i * 4 + 2] = sizeof(outer) * 1000 + sizeof(packed) * 10 + sizeof(inner);
    out[i * 4 + 3] = (uint)((private uchar *)&copy.p.l - (private uchar *)&copy);
}
