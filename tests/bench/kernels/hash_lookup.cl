// Values of keys in a hash table with open addressing.
uint slot_of(uint key, uint mask)
{
    key ^= key >> 16;
    key *= 0x7feb352du;
    key ^= key >> 15;
    key *= 0x846ca68bu;
    key ^= key >> 16;
    return key & mask;
}

kernel void hash_lookup(global const uint2 *table, uint mask, global const uint *keys, global uint *values)
{
    uint key = keys[get_global_id(0)];
    uint value = 0;
    for (uint slot = slot_of(key, mask);; slot = (slot + 1) & mask) {
        uint2 entry = table[slot];
        if (entry.x == key) {
            value = entry.y;
            break;
        }
        if (entry.x == 0)
            break;
    }
    values[get_global_id(0)] = value;
}
