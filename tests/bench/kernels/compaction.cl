// One element in four is kept: work-items take tickets for places in a list, and then work on what the list holds.
#define GROUP 256

uint mixed(uint x)
{
    for (int k = 0; k < 8; ++k) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
    }
    return x;
}

kernel void compaction(global const uint *in, global uint *out)
{
    local uint kept[GROUP];
    local uint count;
    uint gid = get_global_id(0);
    uint lid = get_local_id(0);
    if (lid == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[gid] = 0;
    if ((in[gid] & 3) == 0)
        kept[atomic_inc(&count)] = gid;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint k = lid; k < count; k += GROUP)
        out[kept[k]] = mixed(in[kept[k]]);
}
