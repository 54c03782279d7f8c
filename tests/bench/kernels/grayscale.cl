// Brightness of RGBA pixels of a byte per channel.
kernel void grayscale(global const uchar4 *in, global uchar *out)
{
    int i = get_global_id(0);
    uchar4 pixel = in[i];
    out[i] = (77 * pixel.x + 150 * pixel.y + 29 * pixel.z + 128) >> 8;
}
