// Gamma correction with a soft knee: exp, log and pow.
kernel void powers(global const float *in, global float *out, float gamma)
{
    int i = get_global_id(0);
    float value = in[i];
    float soft = 1.0f - exp(-value);
    float bits = log2(1.0f + value);
    out[i] = pow(soft, gamma) + 0.1f * log(1.0f + bits) + exp2(-bits);
}
