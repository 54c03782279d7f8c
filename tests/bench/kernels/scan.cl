// Prefix sums within work-groups: Hillis and Steele's, between two halves of local memory.
#define GROUP 256

kernel void scan(global const int *in, global int *out)
{
    local int buffer[2 * GROUP];
    int gid = get_global_id(0);
    int lid = get_local_id(0);
    int from = 0, to = GROUP;

    buffer[lid] = in[gid];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < GROUP; step *= 2) {
        int value = buffer[from + lid];
        if (lid >= step)
            value += buffer[from + lid - step];
        buffer[to + lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        int other = from;
        from = to;
        to = other;
    }
    out[gid] = buffer[from + lid];
}
