// Rows convolved with a filter, mirrored at the borders.
kernel void mirrored_blur(global const float *in, global float *out, constant float *filter, int radius, int width)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) {
        int at = x + k;
        if (k < -x)
            at = -x - k - 1;
        if (k > width - 1 - x)
            at = 2 * width - 1 - at;
        sum += filter[k + radius] * in[y * width + at];
    }
    out[y * width + x] = sum;
}
