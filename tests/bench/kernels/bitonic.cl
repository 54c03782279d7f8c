// Sorts 512 keys per work-group of 256: all steps of a bitonic sort in local memory.
#define KEYS 512

kernel void bitonic(global const uint *in, global uint *out)
{
    local uint keys[KEYS];
    uint lid = get_local_id(0);
    uint base = get_group_id(0) * KEYS;

    keys[lid] = in[base + lid];
    keys[lid + KEYS / 2] = in[base + lid + KEYS / 2];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint size = 2; size <= KEYS; size *= 2) {
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            uint low = 2 * lid - (lid & (stride - 1));
            uint high = low + stride;
            bool ascending = (low & size) == 0;
            uint a = keys[low];
            uint b = keys[high];
            if ((a > b) == ascending) {
                keys[low] = b;
                keys[high] = a;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    out[base + lid] = keys[lid];
    out[base + lid + KEYS / 2] = keys[lid + KEYS / 2];
}
