// Points of the sphere to angles and back.
kernel void polar(global const float4 *points, global float4 *back)
{
    int i = get_global_id(0);
    float4 p = points[i];
    float radius = sqrt(p.x * p.x + p.y * p.y + p.z * p.z);
    float inclination = acos(p.z / radius);
    float azimuth = atan2(p.y, p.x);
    float s = sin(inclination);
    back[i] = (float4)(radius * s * cos(azimuth), radius * s * sin(azimuth), radius * cos(inclination), azimuth);
}
