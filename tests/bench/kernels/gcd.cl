// Euclid's algorithm: a chain of divisions whose length differs between work-items.
kernel void gcd(global const uint *a, global const uint *b, global uint *result)
{
    size_t i = get_global_id(0);
    uint x = a[i], y = b[i];
    while (y != 0) {
        uint rest = x % y;
        x = y;
        y = rest;
    }
    result[i] = x;
}
