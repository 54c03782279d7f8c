// Private arrays by dynamic indices, arrays of constants that are copied, static tables in functions.
constant uint squares[10] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81};
constant uchar text[] = "the quick brown fox";
__attribute__((noinline)) uint look(uint k) { return squares[k]; }
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint heap[24] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    float grid[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    for (uint k = 0; k < 24; ++k) heap[(k * 7 + in[i]) % 24] += k;
    for (uint a = 1; a < 24; ++a)
        for (uint b = a; b > 0 && heap[b - 1] > heap[b]; --b) { uint keep = heap[b]; heap[b] = heap[b - 1]; heap[b - 1] = keep; }
    grid[in[i] % 3][in[i] % 2] *= 2;
    float sum = 0;
    for (int a = 0; a < 3; ++a) for (int b = 0; b < 3; ++b) sum = sum * 2 + grid[b][a];
    out[i * 4] = heap[in[i] % 24];
    out[i * 4 + 1] = text[in[i] % 19] + look(in[i] % 10) * 256;
    out[i * 4 + 2] = as_uint(sum);
    out[i * 4 + 3] = heap[0] + heap[23] * 100;
}
