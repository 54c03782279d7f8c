// Values that a table of indices names.
kernel void gather(global const float *values, global const int *indices, global float *out)
{
    int i = get_global_id(0);
    out[i] = values[indices[i]];
}
