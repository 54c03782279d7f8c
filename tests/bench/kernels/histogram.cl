// How often each byte occurs: counted per work-group in local memory, then added up.
#define BINS 256

kernel void clear(global uint *counts)
{
    counts[get_global_id(0)] = 0;
}

kernel void histogram(global const uchar *in, global uint *counts, int per_item)
{
    local uint bins[BINS];
    int lid = get_local_id(0);
    int size = get_local_size(0);
    for (int k = lid; k < BINS; k += size)
        bins[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int base = get_group_id(0) * size * per_item + lid;
    for (int k = 0; k < per_item; ++k)
        atomic_inc(&bins[in[base + k * size]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lid; k < BINS; k += size)
        atomic_add(&counts[k], bins[k]);
}
