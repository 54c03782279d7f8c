// Transposes a matrix: reads along rows, writes along columns.
kernel void transpose(global const float *in, global float *out, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    out[x * height + y] = in[y * width + x];
}
