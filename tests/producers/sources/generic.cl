// The generic address space. std: CL2.0
__attribute__((noinline)) uint total(const uint *p, uint n) { uint s = 0; for (uint k = 0; k < n; ++k) s += p[k] * (k + 1); return s; }
__attribute__((noinline)) void bump(uint *p) { *p += 7; }
kernel void t(global uint *out, global const uint *in) {
    local uint shared[16];
    size_t i = get_global_id(0), l = get_local_id(0);
    uint own[4] = {in[i], 2, 3, 4};
    shared[l] = in[i];
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    const uint *p = in[i] & 1 ? (const uint *)own : (const uint *)shared;
    out[i * 4] = total(own, 4) + total(shared + (l & 12), 4) + total(in + (i & 60), 4);
    out[i * 4 + 1] = total(p, 4);
    bump(&own[1]);
    bump(&out[i * 4 + 1]);
    out[i * 4 + 2] = own[1] + (to_global(p) ? 100 : 0) + (to_local(p) ? 200 : 0) + (to_private(p) ? 400 : 0);
    out[i * 4 + 3] = get_fence(p) == CLK_LOCAL_MEM_FENCE;
}
