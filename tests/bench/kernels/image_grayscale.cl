// Colours to shades of gray, in images of RGBA bytes.
kernel void image_grayscale(read_only image2d_t from, write_only image2d_t to)
{
    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 colour = read_imagef(from, s, at);
    float gray = dot(colour.xyz, (float3)(0.299f, 0.587f, 0.114f));
    write_imagef(to, at, (float4)(gray, gray, gray, colour.w));
}
