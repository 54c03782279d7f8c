// Cholesky decompositions of small symmetric matrices, one for each work-item.
#define N 6

kernel void small_cholesky(global const float *matrices, global float *lower)
{
    int item = get_global_id(0);
    float a[N][N];
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
            a[i][j] = matrices[(item * N + i) * N + j];
    for (int j = 0; j < N; ++j) {
        float diagonal = a[j][j];
        for (int k = 0; k < j; ++k)
            diagonal -= a[j][k] * a[j][k];
        diagonal = sqrt(diagonal);
        a[j][j] = diagonal;
        for (int i = j + 1; i < N; ++i) {
            float sum = a[i][j];
            for (int k = 0; k < j; ++k)
                sum -= a[i][k] * a[j][k];
            a[i][j] = sum / diagonal;
        }
    }
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
            lower[(item * N + i) * N + j] = j <= i ? a[i][j] : 0.0f;
}
