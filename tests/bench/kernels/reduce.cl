// Sums of work-groups: each work-item adds up some elements, then a tree in local memory.
#define GROUP 256

kernel void reduce(global const float *in, global float *sums, int per_item)
{
    local float part[GROUP];
    int lid = get_local_id(0);
    int base = get_group_id(0) * GROUP * per_item + lid;

    float sum = 0.0f;
    for (int k = 0; k < per_item; ++k)
        sum += in[base + k * GROUP];
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int step = GROUP / 2; step > 0; step /= 2) {
        if (lid < step)
            part[lid] += part[lid + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        sums[get_group_id(0)] = part[0];
}
