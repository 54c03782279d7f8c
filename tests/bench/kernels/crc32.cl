// Checksums of packets, a byte at a time with a table.
kernel void crc32(global const uchar *packets, int length, constant uint *table, global uint *sums)
{
    int packet = get_global_id(0);
    uint crc = 0xffffffffu;
    for (int i = 0; i < length; ++i)
        crc = table[(crc ^ packets[packet * length + i]) & 0xff] ^ (crc >> 8);
    sums[packet] = ~crc;
}
