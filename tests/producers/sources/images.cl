// Images of two dimensions and a buffer of pixels, samplers in the source and as an argument. images
constant sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
constant sampler_t border = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST;
kernel void t(global uint *out, global const uint *in, read_only image2d_t from, write_only image2d_t to, sampler_t given) {
    size_t i = get_global_id(0);
    int2 at = (int2)(i & 7, i >> 3);
    uint4 a = read_imageui(from, near, at), b = read_imageui(from, given, at - (int2)(3, 0));
    uint4 c = read_imageui(from, border, ((float2)(i & 7, i >> 3) + 0.5f) / 8.0f + 1.0f);
    write_imageui(to, at, a + b * 3);
    out[i * 4] = a.x + a.y * 3 + a.z * 5 + a.w * 7;
    out[i * 4 + 1] = b.x + b.y + b.z + b.w;
    out[i * 4 + 2] = c.x ^ c.y ^ c.z ^ c.w;
    out[i * 4 + 3] = get_image_width(from) + 100 * get_image_height(to) + (get_image_channel_order(from) == CLK_RGBA) * 10000 +
                     (get_image_channel_data_type(from) == CLK_UNSIGNED_INT32) * 20000 + get_image_dim(from).y * 100000;
}
