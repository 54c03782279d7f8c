// Spheres on a plane that ends in fog, lit by one lamp, with shadows and one mirror reflection. One ray per work-item.
#define FAR 1e20f
#define FOG 30.0f

typedef struct {
    float4 centre; // w: radius
    float4 colour; // w: share of mirrored light
} Sphere;

float hit_sphere(float3 from, float3 along, float4 sphere)
{
    float3 to = from - sphere.xyz;
    float b = dot(to, along);
    float c = dot(to, to) - sphere.w * sphere.w;
    float d = b * b - c;
    if (d < 0.0f)
        return FAR;
    float t = -b - sqrt(d);
    return t > 1e-3f ? t : FAR;
}

kernel void raytrace(constant Sphere *spheres, int count, global float4 *image, int width, int height)
{
    int px = get_global_id(0);
    int py = get_global_id(1);
    float3 from = (float3)(0.0f, 1.5f, -6.0f);
    float u = (2.0f * (float)px - (float)width) / (float)height;
    float v = ((float)height - 2.0f * (float)py) / (float)height;
    float3 along = normalize((float3)(u, v - 0.1f, 2.0f));
    float3 lamp = (float3)(-4.0f, 6.0f, -4.0f);

    float3 light = (float3)(0.0f, 0.0f, 0.0f);
    float weight = 1.0f;
    for (int bounce = 0; bounce < 2; ++bounce) {
        float nearest = FAR;
        int which = -1;
        for (int i = 0; i < count; ++i) {
            float t = hit_sphere(from, along, spheres[i].centre);
            if (t < nearest) {
                nearest = t;
                which = i;
            }
        }
        float3 normal, colour;
        float mirror = 0.0f;
        float floor_distance = along.y < 0.0f ? -from.y / along.y : FAR;
        if (floor_distance < fmin(nearest, FOG)) {
            nearest = floor_distance;
            float3 p = from + nearest * along;
            int check = ((int)floor(p.x) + (int)floor(p.z)) & 1;
            normal = (float3)(0.0f, 1.0f, 0.0f);
            colour = check ? (float3)(0.8f, 0.8f, 0.8f) : (float3)(0.2f, 0.2f, 0.2f);
        } else if (which >= 0) {
            normal = (from + nearest * along - spheres[which].centre.xyz) / spheres[which].centre.w;
            colour = spheres[which].colour.xyz;
            mirror = spheres[which].colour.w;
        } else {
            light += weight * (float3)(0.5f, 0.6f, 0.7f);
            break;
        }
        float3 point = from + nearest * along + 1e-3f * normal;
        float3 to_lamp = lamp - point;
        float distance = length(to_lamp);
        to_lamp /= distance;
        float direct = fmax(dot(normal, to_lamp), 0.0f);
        for (int i = 0; i < count && direct > 0.0f; ++i) {
            if (hit_sphere(point, to_lamp, spheres[i].centre) < distance)
                direct = 0.0f;
        }
        light += weight * (1.0f - mirror) * (0.2f + 0.8f * direct) * colour;
        if (mirror == 0.0f)
            break;
        weight *= mirror;
        from = point;
        along = along - 2.0f * dot(along, normal) * normal;
    }
    image[py * width + px] = (float4)(light, 1.0f);
}
