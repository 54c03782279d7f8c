// The nearest sphere along each ray, found in a tree of boxes with a stack.
#define FAR 1e20f
#define STACK 32

typedef struct {
    float4 low;  // of the box; w, as an int: the first child, or -1 - sphere
    float4 high; // of the box
} Node;

kernel void bvh(global const Node *nodes, global const float4 *spheres, global const float4 *origins,
                global const float4 *directions, global float *distances)
{
    int gid = get_global_id(0);
    float3 from = origins[gid].xyz;
    float3 along = directions[gid].xyz;
    float3 inverse = 1.0f / along;
    float nearest = FAR;
    int stack[STACK];
    int top = 0;
    stack[top++] = 0;
    while (top > 0) {
        Node node = nodes[stack[--top]];
        float3 a = (node.low.xyz - from) * inverse;
        float3 b = (node.high.xyz - from) * inverse;
        float3 entries = fmin(a, b);
        float3 exits = fmax(a, b);
        float enter = fmax(fmax(entries.x, entries.y), fmax(entries.z, 0.0f));
        float leave = fmin(fmin(exits.x, exits.y), fmin(exits.z, nearest));
        if (enter > leave)
            continue;
        int child = as_int(node.low.w);
        if (child < 0) {
            float4 sphere = spheres[-1 - child];
            float3 to = from - sphere.xyz;
            float half_b = dot(to, along);
            float c = dot(to, to) - sphere.w * sphere.w;
            float d = half_b * half_b - c;
            if (d >= 0.0f) {
                float t = -half_b - sqrt(d);
                if (t > 0.0f && t < nearest)
                    nearest = t;
            }
        } else {
            stack[top++] = child;
            stack[top++] = child + 1;
        }
    }
    distances[gid] = nearest;
}
