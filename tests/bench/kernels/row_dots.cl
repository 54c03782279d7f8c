// A matrix times a vector: each work-item computes the products of rows, with unsigned indices.
kernel void row_dots(global const float *matrix, global const float *vector, global float *out, uint rows, uint columns)
{
    for (uint row = get_global_id(0); row < rows; row += get_global_size(0)) {
        float sum = 0.0f;
        for (uint column = 0; column < columns; ++column)
            sum += matrix[row * columns + column] * vector[column];
        out[row] = sum;
    }
}
