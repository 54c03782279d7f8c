// Breadth-first search, one level a launch: neighbours of the frontier that nobody has reached are on the next level.
kernel void start(global int *levels, int source)
{
    int node = get_global_id(0);
    levels[node] = node == source ? 0 : -1;
}

kernel void expand(global const int *starts, global const int *neighbours, global int *levels, int level)
{
    int node = get_global_id(0);
    if (levels[node] != level)
        return;
    for (int k = starts[node]; k < starts[node + 1]; ++k) {
        int next = neighbours[k];
        if (levels[next] < 0)
            levels[next] = level + 1;
    }
}
