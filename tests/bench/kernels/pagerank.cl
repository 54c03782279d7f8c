// One step of a ranking of pages by the links to them; the pages of a link are read through two tables.
kernel void pagerank(global const int *starts, global const int *sources, global const float *ranks,
                     global const int *out_degrees, global float *next, float damping)
{
    int page = get_global_id(0);
    int count = get_global_size(0);
    float sum = 0.0f;
    for (int k = starts[page]; k < starts[page + 1]; ++k) {
        int source = sources[k];
        sum += ranks[source] / (float)out_degrees[source];
    }
    next[page] = (1.0f - damping) / (float)count + damping * sum;
}
