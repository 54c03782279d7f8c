// Positions on elliptic orbits: Kepler's equation solved by Newton's method.
kernel void kepler(global const float *anomalies, global const float *eccentricities, global float2 *positions)
{
    int i = get_global_id(0);
    float mean = anomalies[i], e = eccentricities[i];
    float angle = e < 0.8f ? mean : M_PI_F;
    for (int step = 0; step < 16; ++step) {
        float change = (angle - e * sin(angle) - mean) / (1.0f - e * cos(angle));
        angle -= change;
        if (fabs(change) < 1e-5f)
            break;
    }
    positions[i] = (float2)(cos(angle) - e, sqrt(1.0f - e * e) * sin(angle));
}
