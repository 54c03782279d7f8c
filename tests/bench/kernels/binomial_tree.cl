// American put options, each by a work-group that walks a binomial tree back from its leaves in local memory.
#define STEPS 128

kernel void binomial_tree(global const float2 *options, global float *prices, float up, float probability, float discount)
{
    local float values[STEPS + 1];
    int lid = get_local_id(0);
    float2 option = options[get_group_id(0)];
    float spot = option.x * pow(up, (float)(2 * lid - STEPS));
    values[lid] = fmax(option.y - spot, 0.0f);
    if (lid == 0)
        values[STEPS] = fmax(option.y - option.x * pow(up, (float)STEPS), 0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = STEPS - 1; step >= 0; --step) {
        float value = 0.0f;
        spot *= up;
        if (lid <= step)
            value = fmax(discount * (probability * values[lid + 1] + (1.0f - probability) * values[lid]), option.y - spot);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid <= step)
            values[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        prices[get_group_id(0)] = values[0];
}
