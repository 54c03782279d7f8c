// What every language can say; `plain.zig` says the same for Zig's own back end.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    out[i * 4] = in[i] * 3 + 1;
    out[i * 4 + 1] = in[i ^ 1] < in[i] ? 5 : in[i] >> 2;
    uint sum = 0;
    for (uint k = 0; k < (in[i] & 15); k += 1) sum = sum * 7 + in[(i + k) & 63];
    out[i * 4 + 2] = sum;
}
