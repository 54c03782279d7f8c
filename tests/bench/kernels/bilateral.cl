// A bilateral filter: neighbours count by distance and by difference in value.
#define RADIUS 3

kernel void bilateral(global const float *in, global float *out, int width, int height, float space, float range)
{
    int x = get_global_id(0), y = get_global_id(1);
    float centre = in[y * width + x];
    float sum = 0.0f, total = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            int nx = clamp(x + dx, 0, width - 1), ny = clamp(y + dy, 0, height - 1);
            float value = in[ny * width + nx];
            float difference = value - centre;
            float weight = exp(-(dx * dx + dy * dy) * space - difference * difference * range);
            sum += weight * value;
            total += weight;
        }
    }
    out[y * width + x] = sum / total;
}
