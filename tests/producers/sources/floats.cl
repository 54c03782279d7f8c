// Functions whose results are exact.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    float x = as_float(0x3f000000u + in[i] * 77777u), y = (float)((int)in[i] - 500) * 0.125f;
    int e, q;
    float part, r = frexp(x, &e);
    float whole = modf(y, &part);
    float rest = remquo(y, 3.0f, &q);
    out[i * 4] = as_uint(fma(x, y, 1.0f)) + as_uint(r) + (uint)e * 3;
    out[i * 4 + 1] = as_uint(whole) ^ as_uint(part) ^ as_uint(rest) ^ (uint)(q & 7) << 3;
    out[i * 4 + 2] = as_uint(fmin(x, y)) ^ as_uint(rint(y)) ^ as_uint(copysign(trunc(y), -x)) ^ as_uint(ldexp(y, 5)) ^ (uint)ilogb(x);
    out[i * 4 + 3] = isgreater(x, y) + isless(x, y) * 2 + isunordered(x, nan(1u)) * 4 + signbit(y) * 8 + isfinite(x) * 16 + isinf(x / 0.0f) * 32 +
                     isnormal(y) * 64 + as_uint(nextafter(y, 1e9f)) * 128 + as_uint(fmod(y, 2.5f)) + as_uint(clamp(y, -1.0f, 1.0f)) + as_uint(step(y, 0.5f));
}
