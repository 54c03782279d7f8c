// Two pictures in half precision, blended in single precision.
kernel void half_blend(global const half *a, global const half *b, global half *out, float share)
{
    size_t i = get_global_id(0);
    float4 value = vload_half4(i, a) * share + vload_half4(i, b) * (1 - share);
    vstore_half4(value, i, out);
}
