// Resamples a picture from a buffer, with the mean of four neighbours weighted in 1/256.
kernel void resize(global const uchar4 *in, global uchar4 *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    int sx = x * (width - 1) * 256 / (int)get_global_size(0);
    int sy = y * (height - 1) * 256 / (int)get_global_size(1);
    global const uchar4 *p = in + (sy >> 8) * width + (sx >> 8);
    int4 wx = sx & 255, wy = sy & 255;
    int4 above = convert_int4(p[0]) * (256 - wx) + convert_int4(p[1]) * wx;
    int4 below = convert_int4(p[width]) * (256 - wx) + convert_int4(p[width + 1]) * wx;
    out[y * get_global_size(0) + x] = convert_uchar4((above * (256 - wy) + below * wy) >> 16);
}
