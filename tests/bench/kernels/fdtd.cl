// Maxwell's equations in two dimensions on a torus: a step of the magnetic and of the electric field.
kernel void magnetic(global const float *ez, global float *hx, global float *hy, int width, int height, float c)
{
    int x = get_global_id(0), y = get_global_id(1);
    int right = x + 1 < width ? x + 1 : 0;
    int below = y + 1 < height ? y + 1 : 0;
    int i = y * width + x;
    hx[i] -= c * (ez[below * width + x] - ez[i]);
    hy[i] += c * (ez[y * width + right] - ez[i]);
}

kernel void electric(global float *ez, global const float *hx, global const float *hy, int width, int height, float c)
{
    int x = get_global_id(0), y = get_global_id(1);
    int left = x > 0 ? x - 1 : width - 1;
    int above = y > 0 ? y - 1 : height - 1;
    int i = y * width + x;
    ez[i] += c * (hy[i] - hy[y * width + left] - hx[i] + hx[above * width + x]);
}

kernel void start(global const float *from, global float *ez, global float *hx, global float *hy)
{
    int i = get_global_id(0);
    ez[i] = from[i];
    hx[i] = 0.0f;
    hy[i] = 0.0f;
}
