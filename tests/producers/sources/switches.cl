// Switches with gaps, ranges, fall through, and over 64 bits.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint r = 0;
    switch (in[i] % 12) {
    case 0: r = 5; break;
    case 1: r += 1;
    case 2: r += 2;
    case 3: r += 4; break;
    case 7: r = in[i] >> 4; break;
    case 8: case 9: r = 99; break;
    default: r = 1000 + in[i] % 12;
    }
    ulong wide = (ulong)(in[i] % 3) << 40;
    switch (wide) { case 0: r += 10000; break; case 1ul << 40: r += 20000; break; default: r += 30000; }
    switch ((char)in[i]) { case -1: r ^= 1; break; case 0 ... 63: r ^= 2; break; case 127: r ^= 4; break; default: r ^= 8; }
    out[i * 4] = r;
    out[i * 4 + 1] = in[i] & 1 ? r : ~r;
    out[i * 4 + 2] = 0;
    out[i * 4 + 3] = 1;
}
