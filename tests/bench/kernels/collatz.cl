// How many steps each number takes to 1 under "halve if even, else triple and add 1".
kernel void collatz(global int *steps, uint first)
{
    size_t i = get_global_id(0);
    ulong n = first + i;
    int count = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n /= 2;
        ++count;
    }
    steps[i] = count;
}
