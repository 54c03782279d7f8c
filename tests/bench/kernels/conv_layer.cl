// A layer of a network: 3 x 3 filters over all channels, a bias and a ramp.
kernel void conv_layer(global const float *in, global const float *filters, global const float *bias, global float *out,
                       int channels, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), filter = get_global_id(2);
    float sum = bias[filter];
    for (int c = 0; c < channels; ++c) {
        for (int dy = 0; dy < 3; ++dy) {
            int sy = y + dy - 1;
            if (sy < 0 || sy >= height)
                continue;
            for (int dx = 0; dx < 3; ++dx) {
                int sx = x + dx - 1;
                if (sx >= 0 && sx < width)
                    sum += in[(c * height + sy) * width + sx] * filters[((filter * channels + c) * 3 + dy) * 3 + dx];
            }
        }
    }
    out[(filter * height + y) * width + x] = fmax(sum, 0.0f);
}
