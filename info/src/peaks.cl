// What the machine can do: multiply-adds without memory, and memory without arithmetic.

#define STEPS 2048

// Independent chains of multiply-adds, of which the processor works on several at a time. How many it takes, and how many fit its
// registers, depends on the machine.
#define MULTIPLY_ADD(CHAINS)                                                                                                    \
    kernel void multiply_add_##CHAINS(global float *out) {                                                                      \
        float x[CHAINS];                                                                                                        \
        for (int i = 0; i < CHAINS; i++)                                                                                        \
            x[i] = (float)get_global_id(0) + i;                                                                                 \
        const float a = 0.999f, b = 0.001f;                                                                                     \
        for (int step = 0; step < STEPS; step++)                                                                                \
            for (int i = 0; i < CHAINS; i++)                                                                                    \
                x[i] = fma(x[i], a, b);                                                                                         \
        float sum = 0;                                                                                                          \
        for (int i = 0; i < CHAINS; i++)                                                                                        \
            sum += x[i];                                                                                                        \
        out[get_global_id(0)] = sum;                                                                                            \
    }

MULTIPLY_ADD(2)
MULTIPLY_ADD(3)
MULTIPLY_ADD(6)
MULTIPLY_ADD(12)

kernel void triad(global float *a, global const float *b, global const float *c) {
    const size_t i = get_global_id(0);
    a[i] = b[i] + 3.0f * c[i];
}
