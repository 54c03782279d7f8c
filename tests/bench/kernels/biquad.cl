// Each work-item filters one channel with a recursive filter of second order.
kernel void biquad(global const float *in, global float *out, constant float *c, int n)
{
    global const float *x = in + get_global_id(0) * n;
    global float *y = out + get_global_id(0) * n;
    float one = 0, two = 0;
    for (int k = 0; k < n; ++k) {
        float value = c[0] * x[k] + one;
        one = c[1] * x[k] - c[3] * value + two;
        two = c[2] * x[k] - c[4] * value;
        y[k] = value;
    }
}
