// Philox 4x32-10, a counter-based generator of random numbers; four numbers per step, summed over some steps.
kernel void philox(global uint4 *out, uint key0, uint key1, int steps)
{
    uint gid = get_global_id(0);
    uint4 sum = (uint4)(0, 0, 0, 0);
    for (int step = 0; step < steps; ++step) {
        uint4 x = (uint4)(gid, (uint)step, 0, 0);
        uint k0 = key0, k1 = key1;
        for (int round = 0; round < 10; ++round) {
            uint high0 = mul_hi(0xD2511F53u, x.x), low0 = 0xD2511F53u * x.x;
            uint high1 = mul_hi(0xCD9E8D57u, x.z), low1 = 0xCD9E8D57u * x.z;
            x = (uint4)(high1 ^ x.y ^ k0, low1, high0 ^ x.w ^ k1, low0);
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        sum += x;
    }
    out[gid] = sum;
}
