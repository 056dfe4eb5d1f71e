/* A block adds up a row: a part in each thread, then halves of the parts. */
#define ROW_SUMS(NAME, T)                                                                                              \
    __global__ void NAME(const T *x, int x_ndim, opwright_sizes x_shape, opwright_sizes x_strides, int with_size,      \
                         int64_t size, T *out, int out_ndim, opwright_sizes out_shape, opwright_sizes out_strides)     \
    {                                                                                                                  \
        extern __shared__ double memory[];                                                                             \
        T *const parts = (T *)memory;                                                                                  \
        T total = with_size ? (T)size : (T)0;                                                                          \
        if (threadIdx.x)                                                                                               \
            total = 0;                                                                                                 \
        for (int64_t i = threadIdx.x; i < x_shape[1]; i += blockDim.x)                                                 \
            total += x[blockIdx.x * x_strides[0] + i * x_strides[1]];                                                  \
        parts[threadIdx.x] = total;                                                                                    \
        __syncthreads();                                                                                               \
        for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {                                                    \
            if (threadIdx.x < half)                                                                                    \
                parts[threadIdx.x] += parts[threadIdx.x + half];                                                       \
            __syncthreads();                                                                                           \
        }                                                                                                              \
        if (threadIdx.x == 0)                                                                                          \
            out[blockIdx.x * out_strides[0]] = parts[0];                                                               \
    }

ROW_SUMS(row_sums_f32, float)
ROW_SUMS(row_sums_f64, double)
