// y = A * x for a sparse matrix in compressed rows, one row per work-item.
kernel void spmv(global const int *starts, global const int *columns, global const float *values,
                 global const float *x, global float *y, int rows)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; ++k)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
