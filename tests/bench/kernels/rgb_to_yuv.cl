// Packed pixels of three bytes, to luminance and chrominance in integers.
kernel void rgb_to_yuv(global const uchar *in, global uchar *out, int pixels)
{
    int i = get_global_id(0);
    if (i >= pixels)
        return;
    int r = in[3 * i], g = in[3 * i + 1], b = in[3 * i + 2];
    out[3 * i] = ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16;
    out[3 * i + 1] = ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128;
    out[3 * i + 2] = ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128;
}
