// Kernels for the performance guide: the vectorizer's report has remarks on each.

kernel void gather(global const int *b, global const float *a, global float *out) {
    size_t i = get_global_id(0);
    out[i] = a[b[i]];
}

kernel void rows(global const float *a, global float *out, int width) {
    size_t row = get_global_id(0);
    float sum = 0.0f;
    for (int x = 0; x < width; x++)
        sum += a[row * width + x];
    out[row] = sum;
}

kernel void roots(global float *a) {
    size_t i = get_global_id(0);
    if (a[i] > 0.0f)
        a[i] = sqrt(a[i]);
}

kernel void table(global const uchar *in, global const int *values, global int *out) {
    size_t i = get_global_id(0);
    int t[64];
    for (int k = 0; k < 64; k++)
        t[k] = values[k] + (int)i;
    out[i] = t[in[i] & 63];
}

kernel void reverse(global int *a, local int *t) {
    size_t i = get_global_id(0), l = get_local_id(0);
    t[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[i] = t[get_local_size(0) - 1 - l];
}

kernel void count(global const int *a, global int *bins) {
    atomic_inc(&bins[a[get_global_id(0)] & 63]);
}
