// What the benchmark builds and runs once: small, but with a loop and a branch.
kernel void small(global int *out, int rounds)
{
    int x = (int)get_global_id(0);
    for (int k = 0; k < rounds; ++k)
        x = (x & 1) ? x * 3 + k : x / 2;
    out[get_global_id(0)] = x;
}
