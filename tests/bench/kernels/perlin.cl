// Several octaves of gradient noise.
constant float2 gradients[8] = { (float2)(1.0f, 0.0f),  (float2)(-1.0f, 0.0f), (float2)(0.0f, 1.0f),  (float2)(0.0f, -1.0f),
                                 (float2)(0.7f, 0.7f),  (float2)(-0.7f, 0.7f), (float2)(0.7f, -0.7f), (float2)(-0.7f, -0.7f) };

float corner(int x, int y, float dx, float dy)
{
    uint hash = (uint)x * 374761393u + (uint)y * 668265263u;
    hash = (hash ^ (hash >> 13)) * 1274126177u;
    float2 g = gradients[(hash ^ (hash >> 16)) & 7];
    return g.x * dx + g.y * dy;
}

float fade(float t)
{
    return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f);
}

float noise(float x, float y)
{
    float fx = floor(x), fy = floor(y);
    int ix = (int)fx, iy = (int)fy;
    float dx = x - fx, dy = y - fy;
    float top = mix(corner(ix, iy, dx, dy), corner(ix + 1, iy, dx - 1.0f, dy), fade(dx));
    float bottom = mix(corner(ix, iy + 1, dx, dy - 1.0f), corner(ix + 1, iy + 1, dx - 1.0f, dy - 1.0f), fade(dx));
    return mix(top, bottom, fade(dy));
}

kernel void perlin(global float *picture, int width, float scale, int octaves)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f, weight = 0.5f, at = scale;
    for (int octave = 0; octave < octaves; ++octave) {
        sum += weight * noise(x * at, y * at);
        weight *= 0.5f;
        at *= 2.0f;
    }
    picture[y * width + x] = sum;
}
