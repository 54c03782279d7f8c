// Moves particles that are kept as structures: every access is strided.
typedef struct {
    float x, y, z;
    float vx, vy, vz;
    float mass;
    int kind;
} Particle;

kernel void structs(global const Particle *in, global Particle *out, float dt)
{
    int i = get_global_id(0);
    Particle p = in[i];
    float drag = p.kind == 0 ? 0.99f : 0.9f;
    p.vx = p.vx * drag;
    p.vy = p.vy * drag - 9.81f * dt;
    p.vz = p.vz * drag;
    p.x += p.vx * dt;
    p.y += p.vy * dt;
    p.z += p.vz * dt;
    out[i] = p;
}
