// A sum of an array and a scaled one.
kernel void triad(global const float *a, global const float *b, global float *c, float s)
{
    size_t i = get_global_id(0);
    c[i] = a[i] + s * b[i];
}
