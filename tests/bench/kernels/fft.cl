// Fourier transforms of 512 complex numbers each, radix 2, by 256 work-items in local memory.
#define POINTS 512
#define LOG_POINTS 9

kernel void fft(global const float2 *in, global float2 *out)
{
    local float2 data[POINTS];
    int lid = get_local_id(0);
    int base = get_group_id(0) * POINTS;

    for (int k = lid; k < POINTS; k += POINTS / 2) {
        int reversed = 0;
        for (int bit = 0; bit < LOG_POINTS; ++bit)
            reversed |= ((k >> bit) & 1) << (LOG_POINTS - 1 - bit);
        data[reversed] = in[base + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int half_size = 1; half_size < POINTS; half_size *= 2) {
        int position = lid & (half_size - 1);
        int even = 2 * lid - position;
        int odd = even + half_size;
        float angle = -M_PI_F * (float)position / (float)half_size;
        float2 w = (float2)(cos(angle), sin(angle));
        float2 u = data[even];
        float2 v = data[odd];
        float2 t = (float2)(w.x * v.x - w.y * v.y, w.x * v.y + w.y * v.x);
        data[even] = u + t;
        data[odd] = u - t;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    for (int k = lid; k < POINTS; k += POINTS / 2)
        out[base + k] = data[k];
}
