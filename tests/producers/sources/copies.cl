// Asynchronous copies and prefetches.
kernel void t(global uint *out, global const uint *in) {
    local uint there[16];
    local uint2 pairs[8];
    size_t i = get_global_id(0), l = get_local_id(0), g = get_group_id(0);
    event_t e = async_work_group_copy(there, in + g * 16, 16, 0);
    e = async_work_group_strided_copy(pairs, (global const uint2 *)in, 8, 2, e);
    wait_group_events(1, &e);
    prefetch(in, 16);
    there[l] = there[15 - l] + pairs[l & 7].y;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t back = async_work_group_copy((global uint *)out + g * 64, (local const uint *)there, 16, 0);
    wait_group_events(1, &back);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[g * 64 + 16 + l] = there[l ^ 1];
    out[g * 64 + 32 + l] = there[0];
    out[g * 64 + 48 + l] = (uint)i;
}
