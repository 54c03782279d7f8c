// The mean of 5 x 5 bytes; outside the picture nothing counts.
#define RADIUS 2

kernel void box_blur(global const uchar *in, global uchar *out, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int x0 = max(x - RADIUS, 0), x1 = min(x + RADIUS, width - 1);
    int y0 = max(y - RADIUS, 0), y1 = min(y + RADIUS, height - 1);
    int sum = 0;
    for (int sy = y0; sy <= y1; ++sy)
        for (int sx = x0; sx <= x1; ++sx)
            sum += in[sy * width + sx];
    out[y * width + x] = sum / ((x1 - x0 + 1) * (y1 - y0 + 1));
}
