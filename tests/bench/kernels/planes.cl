// Pixels of three bytes to three planes of floats.
kernel void planes(global const uchar *pixels, global float *red, global float *green, global float *blue)
{
    int i = get_global_id(0);
    red[i] = pixels[3 * i] / 255.0f;
    green[i] = pixels[3 * i + 1] / 255.0f;
    blue[i] = pixels[3 * i + 2] / 255.0f;
}
