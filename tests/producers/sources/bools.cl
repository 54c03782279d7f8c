// Truth values in memory, as numbers, and in vectors.
__attribute__((noinline)) bool odd(uint x) { return x & 1; }
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    bool flags[4] = {odd(in[i]), in[i] > 500, !in[i], true};
    bool any_of = false;
    for (int k = 0; k < 3; ++k) any_of |= flags[k] && !flags[(k + 1) & 3];
    char4 v = (char4)(flags[0], flags[1], flags[2], flags[3]) != (char4)(0);
    out[i * 4] = flags[in[i] & 3] + any_of * 2 + (odd(in[i]) ^ flags[1]) * 4;
    out[i * 4 + 1] = as_uint(v);
    out[i * 4 + 2] = as_uint(flags[0] ? 1.5f : (float)flags[1]);
    out[i * 4 + 3] = (uint)(short)-(short)flags[0] + sizeof(bool);
}
