// Medians of 25 numbers, sorted by insertion in private memory.
#define COUNT 25

kernel void small_sort(global const int *in, global int *medians)
{
    int i = get_global_id(0);
    int sorted[COUNT];
    for (int k = 0; k < COUNT; ++k) {
        int value = in[i * COUNT + k];
        int place = k;
        while (place > 0 && sorted[place - 1] > value) {
            sorted[place] = sorted[place - 1];
            --place;
        }
        sorted[place] = value;
    }
    medians[i] = sorted[COUNT / 2];
}
