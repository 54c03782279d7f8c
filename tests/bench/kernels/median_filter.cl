// The median of each pixel and its eight neighbours; pixels at the border stay.
kernel void median_filter(global const uchar *in, global uchar *out, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[y * width + x] = in[y * width + x];
        return;
    }
    uchar v[9];
    for (int k = 0; k < 9; ++k)
        v[k] = in[(y + k / 3 - 1) * width + x + k % 3 - 1];
    for (int i = 0; i < 5; ++i) {
        for (int j = i + 1; j < 9; ++j) {
            uchar low = min(v[i], v[j]);
            v[j] = max(v[i], v[j]);
            v[i] = low;
        }
    }
    out[y * width + x] = v[4];
}
