// A kernel that calls a kernel; attributes.
kernel void inner(global uint *out, global const uint *in) { out[get_global_id(0) * 4 + 1] = in[get_global_id(0)] * 2; }
__attribute__((reqd_work_group_size(16, 1, 1))) __attribute__((vec_type_hint(uint4)))
kernel void t(global uint *restrict out, global const uint *restrict in) {
    size_t i = get_global_id(0);
    inner(out, in);
    out[i * 4] = in[i] + 1;
    out[i * 4 + 2] = out[i * 4 + 1] + get_local_size(0);
    out[i * 4 + 3] = (uint)i;
}
