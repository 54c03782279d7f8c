// Levenshtein's distance between pairs of words of 32 letters, with one row of the table in private memory.
#define LENGTH 32

kernel void edit_distance(global const uchar *left, global const uchar *right, global int *distances)
{
    int i = get_global_id(0);
    global const uchar *a = left + i * LENGTH;
    global const uchar *b = right + i * LENGTH;
    int row[LENGTH + 1];
    for (int k = 0; k <= LENGTH; ++k)
        row[k] = k;
    for (int y = 1; y <= LENGTH; ++y) {
        int diagonal = row[0];
        row[0] = y;
        for (int x = 1; x <= LENGTH; ++x) {
            int replaced = diagonal + (a[y - 1] != b[x - 1]);
            int inserted = row[x - 1] + 1;
            int removed = row[x] + 1;
            diagonal = row[x];
            row[x] = min(replaced, min(inserted, removed));
        }
    }
    distances[i] = row[LENGTH];
}
