// Coefficients of a Fourier series, each a sum over all samples.
kernel void fourier_sum(global const float *in, global float2 *out, int count, float unit)
{
    int k = get_global_id(0);
    float real = 0.0f, imaginary = 0.0f;
    for (int j = 0; j < count; ++j) {
        float angle = unit * (float)(j * k % count);
        real += in[j] * cos(angle);
        imaginary -= in[j] * sin(angle);
    }
    out[k] = (float2)(real, imaginary);
}
