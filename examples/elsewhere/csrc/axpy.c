/* alpha * x + y, element by element. */

#include "elsewhere_demo_kernels.h"

int axpy_f32(int64_t n, const float *x, const float *y, double alpha, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)alpha * x[i] + y[i];
    return 0;
}

int axpy_f64(int64_t n, const double *x, const double *y, double alpha, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = alpha * x[i] + y[i];
    return 0;
}

int axpy_beside_f32(int64_t n, const float *x, const float *y, double alpha, float *out)
{
    return axpy_f32(n, x, y, alpha, out);
}

int axpy_beside_f64(int64_t n, const double *x, const double *y, double alpha, double *out)
{
    return axpy_f64(n, x, y, alpha, out);
}
