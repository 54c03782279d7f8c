// The median of those of nine neighbours on a diamond that are close to a pixel, as in the reconstruction of colours of raw images.
constant int reach[5] = {0, 1, 2, 1, 0};

kernel void near_median(global const float *in, global float *out, int width, float threshold)
{
    int x = get_global_id(0) + 2, y = get_global_id(1) + 2;
    float centre = in[y * width + x];
    float values[9];
    int close = 0;
    for (int row = 0, k = 0; row < 5; ++row)
        for (int column = -reach[row]; column <= reach[row]; column += 2) {
            float value = in[(y + row - 2) * width + x + column];
            if (fabs(value - centre) < threshold) {
                values[k++] = value;
                ++close;
            } else {
                values[k++] = value + 64.0f;
            }
        }
    for (int i = 0; i < 8; ++i)
        for (int j = i + 1; j < 9; ++j)
            if (values[i] > values[j]) {
                float other = values[i];
                values[i] = values[j];
                values[j] = other;
            }
    out[y * width + x] = values[(close - 1) / 2];
}
