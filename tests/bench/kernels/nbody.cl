// Accelerations of bodies that attract each other; w is the mass.
kernel void nbody(global const float4 *bodies, global float4 *accelerations, int count, float softening)
{
    int i = get_global_id(0);
    float4 me = bodies[i];
    float3 sum = (float3)(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < count; ++j) {
        float4 other = bodies[j];
        float3 d = other.xyz - me.xyz;
        float r2 = d.x * d.x + d.y * d.y + d.z * d.z + softening;
        float inverse = rsqrt(r2);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    accelerations[i] = (float4)(sum, 0.0f);
}
