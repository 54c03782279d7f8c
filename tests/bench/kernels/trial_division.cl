// The smallest factor of each odd number, by trial division.
kernel void trial_division(global uint *factors, uint first)
{
    uint i = get_global_id(0);
    uint n = first + 2 * i;
    uint factor = n;
    for (uint d = 3; d * d <= n; d += 2) {
        if (n % d == 0) {
            factor = d;
            break;
        }
    }
    factors[i] = factor;
}
