// The permutation of SHA-3 on states of 25 words.
constant ulong ROUND_CONSTANTS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
    0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
    0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};
constant int ROTATIONS[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
constant int PLACES[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};

kernel void keccak(global const ulong *in, global ulong *out)
{
    size_t item = get_global_id(0);
    size_t items = get_global_size(0);
    ulong state[25];
    ulong row[5];
    for (int i = 0; i < 25; ++i)
        state[i] = in[i * items + item];
    for (int round = 0; round < 24; ++round) {
        for (int i = 0; i < 5; ++i)
            row[i] = state[i] ^ state[i + 5] ^ state[i + 10] ^ state[i + 15] ^ state[i + 20];
        for (int i = 0; i < 5; ++i) {
            ulong mixed = row[(i + 4) % 5] ^ rotate(row[(i + 1) % 5], 1UL);
            for (int j = 0; j < 25; j += 5)
                state[j + i] ^= mixed;
        }
        ulong moved = state[1];
        for (int i = 0; i < 24; ++i) {
            int place = PLACES[i];
            ulong next = state[place];
            state[place] = rotate(moved, (ulong)ROTATIONS[i]);
            moved = next;
        }
        for (int j = 0; j < 25; j += 5) {
            for (int i = 0; i < 5; ++i)
                row[i] = state[j + i];
            for (int i = 0; i < 5; ++i)
                state[j + i] ^= ~row[(i + 1) % 5] & row[(i + 2) % 5];
        }
        state[0] ^= ROUND_CONSTANTS[round];
    }
    for (int i = 0; i < 25; ++i)
        out[i * items + item] = state[i];
}
