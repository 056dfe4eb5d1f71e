// Rotary embedding: a thread turns one pair of elements.
#include "fused_cuda.h"

template <typename T>
__device__ void turn(const T *x, int ndim, const opwright_sizes &shape, const T *cos, const T *sin, int inverse, T *out)
{
    const int64_t positions = shape[ndim - 2], half = shape[ndim - 1] / 2;
    int64_t pairs = half;
    for (int i = 0; i < ndim - 1; i++)
        pairs *= shape[i];
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t pair = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; pair < pairs; pair += stride) {
        const int64_t row = pair / half, at = row * 2 * half + pair % half;
        const int64_t angle = row % positions * half + pair % half;
        const T c = cos[angle], s = inverse ? -sin[angle] : sin[angle];
        out[at] = x[at] * c - x[at + half] * s;
        out[at + half] = x[at + half] * c + x[at] * s;
    }
}

__global__ void rotary_f32(const float *x, int x_ndim, opwright_sizes x_shape, const float *cos, int cos_ndim,
                           opwright_sizes cos_shape, const float *sin, int sin_ndim, opwright_sizes sin_shape,
                           int inverse, float *out, int out_ndim, opwright_sizes out_shape)
{
    turn(x, x_ndim, x_shape, cos, sin, inverse, out);
}

__global__ void rotary_f64(const double *x, int x_ndim, opwright_sizes x_shape, const double *cos, int cos_ndim,
                           opwright_sizes cos_shape, const double *sin, int sin_ndim, opwright_sizes sin_shape,
                           int inverse, double *out, int out_ndim, opwright_sizes out_shape)
{
    turn(x, x_ndim, x_shape, cos, sin, inverse, out);
}
