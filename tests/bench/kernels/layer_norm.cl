// Each work-item normalizes a row to mean 0 and variance 1.
kernel void layer_norm(global const float *in, global float *out, int n, float epsilon)
{
    int row = get_global_id(0);
    float sum = 0, squares = 0;
    for (int k = 0; k < n; ++k) {
        float value = in[row * n + k];
        sum += value;
        squares += value * value;
    }
    float mean = sum / n;
    float scale = rsqrt(squares / n - mean * mean + epsilon);
    for (int k = 0; k < n; ++k)
        out[row * n + k] = (in[row * n + k] - mean) * scale;
}
