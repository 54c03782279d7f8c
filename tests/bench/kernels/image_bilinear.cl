// A picture in another size, mixed from four neighbours.
kernel void image_bilinear(read_only image2d_t from, write_only image2d_t to)
{
    const sampler_t s = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 size = (float2)(get_global_size(0), get_global_size(1));
    write_imagef(to, at, read_imagef(from, s, (convert_float2(at) + 0.5f) / size));
}
