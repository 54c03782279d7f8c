// A filter of 5 x 5 over a picture of RGBA bytes.
kernel void image_convolution(read_only image2d_t from, write_only image2d_t to, constant float *weights)
{
    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0.0f;
    for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x)
            sum += weights[(y + 2) * 5 + x + 2] * read_imagef(from, s, at + (int2)(x, y));
    write_imagef(to, at, sum);
}
