// Sums of sines and cosines.
kernel void waves(global const float *x, global float *y, int terms)
{
    int i = get_global_id(0);
    float at = x[i];
    float sum = 0.0f;
    for (int k = 1; k <= terms; ++k) {
        float kf = (float)k;
        sum += sin(kf * at) / kf + cos(at + kf);
    }
    y[i] = sum;
}
