// Where each key is in a sorted table, or -1.
kernel void binary_search(global const int *table, int length, global const int *keys, global int *found)
{
    int i = get_global_id(0);
    int key = keys[i];
    int low = 0, high = length - 1;
    int place = -1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        int value = table[middle];
        if (value == key) {
            place = middle;
            break;
        }
        if (value < key)
            low = middle + 1;
        else
            high = middle - 1;
    }
    found[i] = place;
}
