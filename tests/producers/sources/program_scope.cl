// Variables at program scope, initialized by constants and by addresses of others. std: CL2.0
global uint counters[4] = {10, 20, 30, 40};
global uint *global place = &counters[2];
constant struct { char name[8]; uint values[3]; constant uint *of; } constant_table[2] = {
    {"first", {1, 2, 3}, 0}, {"second", {4, 5, 6}, 0}};
constant float reals[] = {0.5f, 1.5f, -2.25f};
kernel void t(global uint *out, global const uint *in) {
    size_t i = get_global_id(0);
    uint k = in[i] & 1;
    out[i * 4] = counters[in[i] & 3] + *place;
    out[i * 4 + 1] = constant_table[k].name[in[i] % 5] + constant_table[k].values[in[i] % 3] * 256;
    out[i * 4 + 2] = as_uint(reals[in[i] % 3]);
    out[i * 4 + 3] = constant_table[k].of == 0;
}
