// A polynomial of degree 32 in double precision.
#define DEGREE 32

kernel void horner(global const double *x, global double *y, constant double *coefficients)
{
    int i = get_global_id(0);
    double at = x[i];
    double sum = coefficients[DEGREE];
    for (int k = DEGREE - 1; k >= 0; --k)
        sum = sum * at + coefficients[k];
    y[i] = sum;
}
