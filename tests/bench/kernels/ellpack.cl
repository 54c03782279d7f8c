// y = A * x for a sparse matrix of rows with the same number of entries, stored column by column.
kernel void ellpack(global const int *columns, global const float *values, global const float *x, global float *y,
                    int rows, int width)
{
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        int column = columns[k * rows + row];
        if (column >= 0)
            sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}
