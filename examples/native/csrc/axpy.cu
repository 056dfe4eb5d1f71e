// The CUDA kernels of axpy: each thread serves every gridDim.x * blockDim.x-th element.
#include "native_demo_cuda.h"

template <typename T>
__device__ void axpy(int64_t n, const T *x, const T *y, T alpha, T *out)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
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
