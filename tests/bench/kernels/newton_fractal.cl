// Which root of z^3 = 1 Newton's method finds from each point, and in how many steps.
kernel void newton_fractal(global uchar *picture, int width, float scale, int most)
{
    int x = get_global_id(0), y = get_global_id(1);
    float2 z = (float2)((x + 0.5f) * scale - 1.5f, (y + 0.5f) * scale - 1.5f);
    int steps = 0;
    for (; steps < most; ++steps) {
        float2 square = (float2)(z.x * z.x - z.y * z.y, 2.0f * z.x * z.y);
        float2 cube = (float2)(square.x * z.x - square.y * z.y, square.x * z.y + square.y * z.x);
        float2 f = (float2)(cube.x - 1.0f, cube.y);
        float2 d = 3.0f * square;
        float n = d.x * d.x + d.y * d.y;
        float2 step = (float2)(f.x * d.x + f.y * d.y, f.y * d.x - f.x * d.y) / n;
        z -= step;
        if (step.x * step.x + step.y * step.y < 1e-6f)
            break;
    }
    int root = z.x > 0.0f ? 0 : z.y > 0.0f ? 1 : 2;
    picture[y * width + x] = (uchar)(root * 64 + min(steps, 63));
}
