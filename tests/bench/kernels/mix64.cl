// Hashes 64-bit words: rounds of multiplications, shifts and exclusive ors.
kernel void mix64(global const ulong *in, global ulong *out, int rounds)
{
    size_t i = get_global_id(0);
    ulong h = in[i];
    for (int k = 0; k < rounds; ++k) {
        h += 0x9E3779B97F4A7C15UL;
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9UL;
        h = (h ^ (h >> 27)) * 0x94D049BB133111EBUL;
        h ^= h >> 31;
        h = rotate(h, 23UL);
    }
    out[i] = h;
}
