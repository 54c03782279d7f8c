// Estimates a quarter of the circle's area with a small random generator per work-item.
kernel void xorshift(global const uint *seeds, global int *inside, int samples)
{
    int i = get_global_id(0);
    uint state = seeds[i] | 1;
    int count = 0;
    for (int k = 0; k < samples; ++k) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float x = (float)(state >> 8) * (1.0f / 16777216.0f);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float y = (float)(state >> 8) * (1.0f / 16777216.0f);
        if (x * x + y * y < 1.0f)
            ++count;
    }
    inside[i] = count;
}
