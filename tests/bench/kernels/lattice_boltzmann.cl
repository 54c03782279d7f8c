// A step of the lattice Boltzmann method with nine velocities on a torus: what streams in collides and is stored.
constant int step_x[9] = { 0, 1, 0, -1, 0, 1, -1, -1, 1 };
constant int step_y[9] = { 0, 0, 1, 0, -1, 1, 1, -1, -1 };
constant float weights[9] = { 4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36 };

kernel void lattice_boltzmann(global const float *from, global float *to, int width, int height, float omega)
{
    int x = get_global_id(0), y = get_global_id(1);
    int cells = width * height;
    float f[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
    for (int k = 0; k < 9; ++k) {
        int sx = (x - step_x[k] + width) % width;
        int sy = (y - step_y[k] + height) % height;
        f[k] = from[k * cells + sy * width + sx];
        density += f[k];
        ux += f[k] * step_x[k];
        uy += f[k] * step_y[k];
    }
    ux /= density;
    uy /= density;
    float square = 1.5f * (ux * ux + uy * uy);
    for (int k = 0; k < 9; ++k) {
        float along = 3.0f * (step_x[k] * ux + step_y[k] * uy);
        float equilibrium = weights[k] * density * (1.0f + along + 0.5f * along * along - square);
        to[k * cells + y * width + x] = f[k] + omega * (equilibrium - f[k]);
    }
}
