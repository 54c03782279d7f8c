// y = a * x + y on vectors, into a third array; the last work-items may have nothing to do.
kernel void saxpy4(int n, float a, global const float4 *x, global const float4 *y, global float4 *out)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = a * x[i] + y[i];
}
