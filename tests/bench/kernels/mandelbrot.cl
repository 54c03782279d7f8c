// How long each point of the complex plane stays near zero.
kernel void mandelbrot(global int *out, int width, int height, int limit)
{
    int px = get_global_id(0);
    int py = get_global_id(1);
    float cx = -2.2f + 3.2f * (float)px / (float)width;
    float cy = -1.2f + 2.4f * (float)py / (float)height;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    while (n < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        ++n;
    }
    out[py * width + px] = n;
}
