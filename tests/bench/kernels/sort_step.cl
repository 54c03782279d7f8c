// One step of a bitonic sort in global memory. Each work-item compares two keys; their distance is an argument.
kernel void sort_step(global const uint *in, global uint *out, uint distance, uint block)
{
    uint t = get_global_id(0);
    uint i = 2 * distance * (t / distance) + t % distance;
    uint a = in[i], b = in[i + distance];
    bool swap = (a > b) == ((i & block) == 0);
    out[i] = swap ? b : a;
    out[i + distance] = swap ? a : b;
}
