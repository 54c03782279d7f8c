// One step of a five-point stencil; the border stays as it is.
kernel void stencil2d(global const float *in, global float *out, int width, int height, float k)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int i = y * width + x;
    float centre = in[i];
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = centre;
        return;
    }
    out[i] = centre + k * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4.0f * centre);
}
