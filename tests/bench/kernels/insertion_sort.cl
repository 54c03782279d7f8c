// Short lists, each sorted by one work-item.
#define LENGTH 24

kernel void insertion_sort(global const int *in, global int *out)
{
    int list[LENGTH];
    int item = get_global_id(0), items = get_global_size(0);
    for (int i = 0; i < LENGTH; ++i)
        list[i] = in[i * items + item];
    for (int i = 1; i < LENGTH; ++i) {
        int key = list[i];
        int j = i - 1;
        while (j >= 0 && list[j] > key) {
            list[j + 1] = list[j];
            --j;
        }
        list[j + 1] = key;
    }
    for (int i = 0; i < LENGTH; ++i)
        out[i * items + item] = list[i];
}
