// Rows convolved with a filter; what is outside of a row counts as zero, by the bounds of the loop.
kernel void convolve_rows(global const float *in, constant float *filter, global float *out, int taps, int width)
{
    int x = get_global_id(0), y = get_global_id(1);
    int reach = taps / 2;
    int first = x + reach >= width ? x + reach + 1 - width : 0;
    int last = x - reach < 0 ? x + reach + 1 : taps;
    float sum = 0.0f;
    for (int k = first; k < last; ++k)
        sum += filter[k] * in[y * width + x + reach - k];
    out[y * width + x] = sum;
}
