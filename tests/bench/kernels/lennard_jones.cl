// Forces between particles and those in their lists of neighbours.
kernel void lennard_jones(global const float4 *positions, global const int *neighbours, global float4 *forces, int most,
                          float cutoff2)
{
    int i = get_global_id(0);
    float4 at = positions[i];
    float4 force = (float4)(0.0f);
    for (int k = 0; k < most; ++k) {
        int j = neighbours[k * get_global_size(0) + i];
        if (j < 0)
            break;
        float4 away = at - positions[j];
        float r2 = away.x * away.x + away.y * away.y + away.z * away.z;
        if (r2 < cutoff2) {
            float inverse2 = 1.0f / r2;
            float inverse6 = inverse2 * inverse2 * inverse2;
            float strength = 24.0f * inverse2 * inverse6 * (2.0f * inverse6 - 1.0f);
            force.xyz += strength * away.xyz;
            force.w += 4.0f * inverse6 * (inverse6 - 1.0f);
        }
    }
    forces[i] = force;
}
