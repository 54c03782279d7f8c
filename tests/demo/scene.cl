// A ray-traced scene: spheres on a chequered floor under an evening sky, with soft shadows from an area light,
// mirror and glossy reflections, and antialiasing. One work-item computes one pixel.

typedef struct {
    float4 centre_radius; // xyz: centre, w: radius
    float4 colour_mirror; // xyz: colour, w: share of light that is reflected as by a mirror
} Sphere;

typedef struct {
    float distance;
    float3 normal;
    float3 colour;
    float mirror;
} Hit;

#define FAR 1e20f
#define BOUNCES 6
#define LIGHT ((float3)(-6.0f, 9.0f, -5.0f))
#define LIGHT_RADIUS 1.6f
#define SUN normalize((float3)(-0.62f, 0.10f, 0.8f))

// A small counter-based generator (PCG's output function on a linear congruential step).
float next_random(uint *state)
{
    *state = *state * 747796405u + 2891336453u;
    uint word = ((*state >> ((*state >> 28) + 4u)) ^ *state) * 277803737u;
    word = (word >> 22) ^ word;
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

float3 random_in_ball(uint *state)
{
    float3 p;
    do {
        p = (float3)(next_random(state), next_random(state), next_random(state)) * 2.0f - 1.0f;
    } while (dot(p, p) > 1.0f);
    return p;
}

float sphere_distance(float3 origin, float3 direction, float4 sphere)
{
    float3 offset = origin - sphere.xyz;
    float b = dot(offset, direction);
    float c = dot(offset, offset) - sphere.w * sphere.w;
    float discriminant = b * b - c;
    if (discriminant < 0.0f)
        return FAR;
    float root = sqrt(discriminant);
    float nearest = -b - root;
    float distance = nearest > 1e-3f ? nearest : -b + root;
    return distance > 1e-3f ? distance : FAR;
}

Hit trace(float3 origin, float3 direction, constant Sphere *spheres, int count)
{
    Hit hit;
    hit.distance = FAR;
    hit.normal = (float3)(0.0f, 1.0f, 0.0f);
    hit.colour = (float3)(0.0f);
    hit.mirror = 0.0f;
    int nearest = -1;
    for (int i = 0; i < count; ++i) {
        float distance = sphere_distance(origin, direction, spheres[i].centre_radius);
        if (distance < hit.distance) {
            hit.distance = distance;
            nearest = i;
        }
    }
    float floor_distance = direction.y < 0.0f ? -origin.y / direction.y : FAR;
    if (floor_distance > 1e-3f && floor_distance < hit.distance && floor_distance < 400.0f) {
        float3 point = origin + direction * floor_distance;
        int square = (int)floor(point.x * 0.6f + 0.35f) + (int)floor(point.z * 0.6f);
        float fade = exp(-0.03f * floor_distance);
        float3 light_square = (float3)(0.82f, 0.80f, 0.76f), dark_square = (float3)(0.10f, 0.11f, 0.14f);
        hit.distance = floor_distance;
        hit.colour = mix((float3)(0.45f, 0.36f, 0.30f), (square & 1) ? dark_square : light_square, fade);
        hit.mirror = (square & 1) ? 0.22f : 0.08f;
    } else if (nearest >= 0) {
        Sphere sphere = spheres[nearest];
        hit.normal = (origin + direction * hit.distance - sphere.centre_radius.xyz) / sphere.centre_radius.w;
        hit.colour = sphere.colour_mirror.xyz;
        hit.mirror = sphere.colour_mirror.w;
    }
    return hit;
}

float3 sky(float3 direction)
{
    float height = clamp(direction.y, 0.0f, 1.0f) * 1.4f;
    float3 horizon = (float3)(0.95f, 0.50f, 0.26f), zenith = (float3)(0.05f, 0.12f, 0.36f);
    float3 colour = mix(horizon, zenith, fmin(sqrt(height), 1.0f));
    float towards_sun = fmax(dot(direction, SUN), 0.0f);
    float glow = towards_sun * towards_sun;
    glow *= glow;
    glow *= glow; // to the 8th
    float disc = smoothstep(0.9993f, 0.9996f, towards_sun);
    return colour + (float3)(1.0f, 0.55f, 0.25f) * (0.45f * glow) + (float3)(9.0f, 7.0f, 4.5f) * disc;
}

bool in_shadow(float3 point, float3 direction, float limit, constant Sphere *spheres, int count)
{
    for (int i = 0; i < count; ++i) {
        if (sphere_distance(point, direction, spheres[i].centre_radius) < limit)
            return true;
    }
    return false;
}

float3 radiance(float3 origin, float3 direction, constant Sphere *spheres, int count, uint *random)
{
    float3 light = (float3)(0.0f), weight = (float3)(1.0f);
    for (int bounce = 0; bounce < BOUNCES; ++bounce) {
        Hit hit = trace(origin, direction, spheres, count);
        if (hit.distance >= FAR) {
            light += weight * sky(direction);
            break;
        }
        float3 point = origin + direction * hit.distance + hit.normal * 1e-3f;

        // One point of the area light per sample: averaged over the samples that is a soft shadow.
        float3 to_light = LIGHT + LIGHT_RADIUS * random_in_ball(random) - point;
        float distance = length(to_light);
        to_light /= distance;
        float facing = fmax(dot(hit.normal, to_light), 0.0f);
        float direct = 0.0f, gloss = 0.0f;
        if (facing > 0.0f && !in_shadow(point, to_light, distance, spheres, count)) {
            direct = facing * 150.0f / (distance * distance);
            float3 half_way = normalize(to_light - direction);
            float shine = fmax(dot(hit.normal, half_way), 0.0f);
            gloss = pow(shine, 96.0f) * 110.0f / (distance * distance);
        }
        // Light of the whole sky, less where the floor is near.
        float openness = 0.35f + 0.65f * (0.5f + 0.5f * hit.normal.y);
        float3 ambient = (float3)(0.30f, 0.34f, 0.44f) * openness;

        float fresnel = 1.0f - fabs(dot(hit.normal, direction));
        fresnel = fresnel * fresnel * fresnel * fresnel * fresnel;
        float mirror = hit.mirror + (1.0f - hit.mirror) * 0.6f * fresnel;
        light += weight * ((1.0f - mirror) * hit.colour * (ambient + direct) + gloss);
        weight *= mirror * mix((float3)(1.0f), hit.colour, hit.mirror);
        if (fmax(weight.x, fmax(weight.y, weight.z)) < 0.01f)
            break;
        origin = point;
        direction = direction - 2.0f * dot(direction, hit.normal) * hit.normal;
    }
    return light;
}

kernel void render(global uchar4 *image, constant Sphere *spheres, int count, int width, int height, int samples)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x >= width || y >= height)
        return;

    float3 eye = (float3)(2.1f, 2.5f, -9.0f), target = (float3)(0.1f, 1.25f, 0.0f);
    float3 forward = normalize(target - eye);
    float3 right = normalize(cross((float3)(0.0f, 1.0f, 0.0f), forward));
    float3 up = cross(forward, right);

    uint random = (uint)(y * width + x) * 9781u + 1u;
    float3 sum = (float3)(0.0f);
    for (int sample = 0; sample < samples; ++sample) {
        float u = (2.0f * ((float)x + next_random(&random)) - (float)width) / (float)height;
        float v = ((float)height - 2.0f * ((float)y + next_random(&random))) / (float)height;
        float3 direction = normalize(forward * 1.9f + right * u + up * v);
        // A single very bright sample must not speckle its pixel.
        sum += fmin(radiance(eye, direction, spheres, count, &random), (float3)(8.0f));
    }
    float3 colour = sum * (0.62f / (float)samples);

    // Filmic tone curve, then gamma.
    colour = colour * (2.51f * colour + 0.03f) / (colour * (2.43f * colour + 0.59f) + 0.14f);
    colour = pow(clamp(colour, 0.0f, 1.0f), (float3)(1.0f / 2.2f));
    image[y * width + x] = (uchar4)(convert_uchar3_sat_rte(colour * 255.0f), 255);
}
