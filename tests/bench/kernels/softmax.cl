// Rows of logits to probabilities, a work-group for each row.
#define GROUP 128

kernel void softmax(global const float *logits, global float *probabilities, int columns)
{
    local float partial[GROUP];
    int row = get_group_id(0), lid = get_local_id(0);
    global const float *in = logits + row * columns;
    global float *out = probabilities + row * columns;

    float most = -INFINITY;
    for (int k = lid; k < columns; k += GROUP)
        most = fmax(most, in[k]);
    partial[lid] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            partial[lid] = fmax(partial[lid], partial[lid + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (int k = lid; k < columns; k += GROUP)
        sum += exp(in[k] - most);
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            partial[lid] += partial[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float scale = 1.0f / partial[0];
    for (int k = lid; k < columns; k += GROUP)
        out[k] = exp(in[k] - most) * scale;
}
