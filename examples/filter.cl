// Filters over a picture: an image of RGBA bytes in, one out. What lies outside repeats the border.

constant sampler_t nearby = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
constant sampler_t mixed = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

// The mean of the neighbours, weighted by a bell curve whose width is `radius` pixels.
kernel void blur(read_only image2d_t from, write_only image2d_t to, float radius)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int reach = (int)ceil(2.0f * radius);
    float4 sum = 0.0f;
    float weights = 0.0f;
    for (int y = -reach; y <= reach; ++y)
        for (int x = -reach; x <= reach; ++x) {
            float weight = exp(-(float)(x * x + y * y) / (2.0f * radius * radius));
            sum += weight * read_imagef(from, nearby, at + (int2)(x, y));
            weights += weight;
        }
    write_imagef(to, at, sum / weights);
}

// How fast brightness changes: bright edges on black.
kernel void edges(read_only image2d_t from, write_only image2d_t to, float strength)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float3 luminance = (float3)(0.299f, 0.587f, 0.114f);
    float near[3][3];
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x)
            near[y][x] = dot(luminance, read_imagef(from, nearby, at + (int2)(x - 1, y - 1)).xyz);
    float dx = near[0][2] + 2 * near[1][2] + near[2][2] - near[0][0] - 2 * near[1][0] - near[2][0];
    float dy = near[2][0] + 2 * near[2][1] + near[2][2] - near[0][0] - 2 * near[0][1] - near[0][2];
    float edge = strength * hypot(dx, dy);
    write_imagef(to, at, (float4)(edge, edge, edge, read_imagef(from, nearby, at).w));
}

// Shades of brown.
kernel void sepia(read_only image2d_t from, write_only image2d_t to, float strength)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 colour = read_imagef(from, nearby, at);
    float3 brown = (float3)(dot(colour.xyz, (float3)(0.393f, 0.769f, 0.189f)),
                            dot(colour.xyz, (float3)(0.349f, 0.686f, 0.168f)),
                            dot(colour.xyz, (float3)(0.272f, 0.534f, 0.131f)));
    write_imagef(to, at, (float4)(mix(colour.xyz, brown, clamp(strength, 0.0f, 1.0f)), colour.w));
}

// The picture in the size of the result.
kernel void resize(read_only image2d_t from, write_only image2d_t to, float factor)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 size = (float2)(get_global_size(0), get_global_size(1));
    write_imagef(to, at, read_imagef(from, mixed, (convert_float2(at) + 0.5f) / size));
}
