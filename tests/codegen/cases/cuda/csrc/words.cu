#include "demo_cuda.h"

template <typename T>
static int words(const T *, int ndim, const int64_t *shape, T *first, T *second, void *stream)
{
    int64_t bytes = sizeof(T);
    for (int i = 0; i < ndim; i++)
        bytes *= shape[i];
    int status = cudaMemsetAsync(first, 0, bytes, (cudaStream_t)stream);
    return status ? status : (int)cudaMemsetAsync(second, 0, bytes, (cudaStream_t)stream);
}

#define WORDS(END, T)                                                                                                  \
    int words_##END(const T *x, int dims, const int64_t *shape, const T *, int, const int64_t *, int, int64_t,         \
                    const T *, int, const int64_t *, T *first, int, const int64_t *, T *second, int, const int64_t *,  \
                    void *stream)                                                                                      \
    {                                                                                                                  \
        return words(x, dims, shape, first, second, stream);                                                           \
    }

WORDS(b8, uint8_t)
WORDS(u8, uint8_t)
WORDS(i8, int8_t)
WORDS(u16, uint16_t)
WORDS(i16, int16_t)
WORDS(u32, uint32_t)
WORDS(i32, int32_t)
WORDS(u64, uint64_t)
WORDS(i64, int64_t)
WORDS(f32, float)
WORDS(f64, double)
WORDS(c64, float2)
WORDS(c128, double2)

__global__ void twice(int64_t n, const float *x, float by, float *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = by * x[i];
}

int twice_f32(int64_t n, const float *x, double by, float *out, void *stream)
{
    if (by < 0)
        return demo_cuda_fail("by is negative");
    twice<<<(unsigned)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>(n, x, (float)by, out);
    return cudaGetLastError();
}

int rows_i64(const int64_t *a, int ndim, const int64_t *shape, const int64_t *strides, const int64_t *, int,
             const int64_t *, const int64_t *, int64_t, int64_t *out, int, const int64_t *, const int64_t *,
             void *stream)
{
    if (ndim != 2 || strides[1] != 1)
        return demo_cuda_fail("rows of one element behind the other are needed");
    return cudaMemcpy2DAsync(out, shape[1] * 8, a, strides[0] * 8, shape[1] * 8, shape[0], cudaMemcpyDeviceToDevice,
                             (cudaStream_t)stream);
}
