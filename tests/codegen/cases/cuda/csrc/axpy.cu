#include "demo_cuda.h"
#include "shared.cuh"
#include "shared.cuh"

template <typename T>
__device__ void axpy(int64_t n, const T *x, const T *y, T alpha, T *out)
{
    for (int64_t i = first_of_thread(); i < n; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = alpha * x[i] + y[i];
}

__global__ void axpy_f32(int64_t n, const float *x, const float *y, double alpha, float *out)
{
    axpy(n, x, y, (float)alpha, out);
}

__global__ void axpy_f64(int64_t n, const double *x, const double *y, double alpha, double *out)
{
    axpy(n, x, y, alpha, out);
}
