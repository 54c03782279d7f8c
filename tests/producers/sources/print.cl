// A call of printf, which these values do not reach.
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    if (in[i] == 0xdeadbeef) printf("%d %v4hlx %s %5.2f %c\n", (int)i, (uint4)(in[i]), "text", 1.5f, 'c');
    out[i * 4] = in[i];
    out[i * 4 + 1] = out[i * 4 + 2] = out[i * 4 + 3] = (uint)i;
}
