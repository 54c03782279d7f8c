// Bytes to floats from -1 to 1: what a network wants of a picture.
kernel void image_convert(read_only image2d_t from, write_only image2d_t to)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, at, read_imagef(from, at) * 2.0f - 1.0f);
}
