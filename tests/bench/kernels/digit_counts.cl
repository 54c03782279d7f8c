// Counts the digits of each work-item's keys, as the first step of a radix sort.
#define DIGITS 16

kernel void digit_counts(global const uint *keys, global uint *counts, int per_item, int shift)
{
    int i = get_global_id(0);
    int items = get_global_size(0);
    uint own[DIGITS];
    for (int d = 0; d < DIGITS; ++d)
        own[d] = 0;
    for (int k = 0; k < per_item; ++k)
        ++own[(keys[k * items + i] >> shift) & (DIGITS - 1)];
    for (int d = 0; d < DIGITS; ++d)
        counts[d * items + i] = own[d];
}
