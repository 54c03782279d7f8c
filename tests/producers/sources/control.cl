// Loops that are left in several ways, and jumps.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint x = in[i], steps = 0, found = 0;
    for (uint a = 0; a < 8; ++a) {
        for (uint b = 0; b < 8; ++b) {
            if (((x >> a) & 7) == b) continue;
            if (((x >> a) & 15) == b + 8) { found = a * 8 + b; goto done; }
            ++steps;
        }
        if (steps > 50) break;
    }
done:;
    uint y = x;
again:
    if (y & 1) { y >>= 1; if (y > 3) goto again; }
    else { y ^= 3; ++steps; if (steps < 200) goto again; }
    do { y = y * 5 + 1; } while ((y & 7) != 3 && ++found < 1000);
    out[i * 4] = steps;
    out[i * 4 + 1] = found;
    out[i * 4 + 2] = y;
    out[i * 4 + 3] = x ? 31 - clz(x) : 0;
}
