// Pointers to pointers, differences, comparisons, pointers that phis and selects choose, in the named address spaces.
constant uint table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) uint step(global const uint **at) { return *(*at)++; }
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    global const uint *p = in + i, *end = in + 64;
    uint sum = 0;
    while (p != end && sum < 100000) sum += step(&p) & 0xfff;
    private uint own[4] = {1, 2, 3, 4}, other[4] = {5, 6, 7, 8};
    private uint *choice = in[i] & 1 ? own : other;
    choice[in[i] & 3] += 10;
    constant uint *c = in[i] & 2 ? table : table + 4;
    out[i * 4] = sum;
    out[i * 4 + 1] = (uint)(p - in);
    out[i * 4 + 2] = own[0] + own[1] * 3 + own[2] * 5 + own[3] * 7 + other[0] * 11 + other[1] * 13 + other[2] * 17 + other[3] * 19;
    out[i * 4 + 3] = c[in[i] & 3] + (p > in);
}
