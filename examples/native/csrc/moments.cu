// The CUDA kernels of moments: a block for each row.
#include "native_demo_cuda.h"

// The sum of what all threads of a block bring, in every one of them.
__device__ double sum_of_block(double mine)
{
    extern __shared__ double parts[];
    __syncthreads(); // others may still read the last sum
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

#define MOMENTS(NAME, T)                                                                                               \
    __global__ void NAME(const T *self, int self_ndim, opwright_sizes self_shape, opwright_sizes self_strides,         \
                         T *mean, int mean_ndim, opwright_sizes mean_shape, opwright_sizes mean_strides, T *variance,  \
                         int variance_ndim, opwright_sizes variance_shape, opwright_sizes variance_strides)            \
    {                                                                                                                  \
        const T *row = self + blockIdx.x * self_strides[0];                                                            \
        const int64_t columns = self_shape[1], step = self_strides[1];                                                 \
        double total = 0, squares = 0;                                                                                 \
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)                                                    \
            total += row[i * step];                                                                                    \
        const double average = sum_of_block(total) / (double)columns;                                                  \
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)                                                    \
            squares += (row[i * step] - average) * (row[i * step] - average);                                          \
        squares = sum_of_block(squares);                                                                               \
        if (threadIdx.x == 0) {                                                                                        \
            mean[blockIdx.x * mean_strides[0]] = (T)average;                                                           \
            variance[blockIdx.x * variance_strides[0]] = (T)(squares / (double)columns);                               \
        }                                                                                                              \
    }

MOMENTS(moments_f32, float)
MOMENTS(moments_f64, double)
