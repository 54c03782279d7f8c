// Powers modulo a prime: products and remainders of 64 bits.
#define PRIME 1000000007ul

kernel void modular_power(global const uint *bases, global uint *powers, uint exponent)
{
    size_t i = get_global_id(0);
    ulong base = bases[i] % PRIME, power = 1;
    for (uint e = exponent; e != 0; e >>= 1) {
        if (e & 1)
            power = power * base % PRIME;
        base = base * base % PRIME;
    }
    powers[i] = power;
}
