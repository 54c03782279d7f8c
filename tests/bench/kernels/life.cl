// One generation of Conway's game of life on a torus of bytes.
kernel void life(global const uchar *in, global uchar *out, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int left = (x + width - 1) % width, right = (x + 1) % width;
    int above = (y + height - 1) % height * width, below = (y + 1) % height * width;
    int here = y * width;
    int neighbours = in[above + left] + in[above + x] + in[above + right] + in[here + left] + in[here + right]
        + in[below + left] + in[below + x] + in[below + right];
    out[here + x] = neighbours == 3 || (neighbours == 2 && in[here + x]);
}
