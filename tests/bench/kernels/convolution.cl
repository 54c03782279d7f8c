// A 7 x 7 convolution of a picture; outside it is as at its border.
#define RADIUS 3

kernel void convolution(global const float *in, global float *out, constant float *mask, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    float sum = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            int sx = clamp(x + dx, 0, width - 1);
            int sy = clamp(y + dy, 0, height - 1);
            sum += in[sy * width + sx] * mask[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS];
        }
    }
    out[y * width + x] = sum;
}
