// One step of a seven-point stencil on a cube; the launch covers the inner points only.
kernel void stencil3d(global const float *in, global float *out, int width, int height, float centre, float side)
{
    int x = get_global_id(0) + 1;
    int y = get_global_id(1) + 1;
    int z = get_global_id(2) + 1;
    int plane = width * height;
    int i = z * plane + y * width + x;
    out[i] = centre * in[i] + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] + in[i - plane] + in[i + plane]);
}
