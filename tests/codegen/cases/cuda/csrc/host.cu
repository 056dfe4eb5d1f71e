#include "demo_cuda.h"

#include <math.h>
#include <string.h>

template <typename T>
__global__ void blend(int64_t n, const T *x, const T *y, const int64_t *index, double by, double low, double high,
                      double shift, double sign, T *out, uint8_t *positive)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double total = ((double)x[i] + (y ? (double)y[i] : 0)) * by;
    total = total < low ? low : total;
    total = total > high ? high : total;
    total = sign * (total + floor(shift)) + index[i];
    out[i] = (T)total;
    positive[i] = total > 0;
}

template <typename T>
__global__ void add(int64_t n, double by, T *out, uint8_t *positive)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = (T)((double)out[i] + by);
    positive[i] = out[i] > 0;
}

#define BLEND(END, T)                                                                                                  \
    int blend_host_##END(const T *x, int ndim, const int64_t *shape, const T *y, int, const int64_t *,                 \
                         const int64_t *index, int, const int64_t *, T by, const T *low, const double *high,           \
                         const int64_t *shift, const int *flip, const double *weights, int64_t weights_count,          \
                         const int64_t *offsets, int64_t offsets_count, const uint8_t *mask, int64_t mask_count,       \
                         const int64_t *window, int64_t window_count, const char *mode, const char *note, T *out, int, \
                         const int64_t *, uint8_t *positive, int, const int64_t *, void *stream)                       \
    {                                                                                                                  \
        if (strcmp(mode, "up"))                                                                                        \
            return demo_cuda_fail(note ? note : mode);                                                                 \
        int64_t n = 1;                                                                                                 \
        for (int i = 0; i < ndim; i++)                                                                                 \
            n *= shape[i];                                                                                             \
        double total = (offsets ? 100 : 0) + (double)(window[0] - window[window_count - 1]);                           \
        for (int64_t j = 0; j < weights_count && j < mask_count; j++)                                                  \
            total += mask[j] ? weights[j] : 0;                                                                         \
        for (int64_t j = 0; j < offsets_count; j++)                                                                    \
            total += (double)offsets[j];                                                                               \
        const double least = low ? (double)*low : -INFINITY, most = high ? *high : INFINITY;                           \
        const double by_ = (double)by, shift_ = shift ? (double)*shift : 0, sign = flip && *flip ? -1 : 1;             \
        const unsigned blocks = (unsigned)((n + 255) / 256);                                                           \
        blend<<<blocks, 256, 0, (cudaStream_t)stream>>>(n, x, y, index, by_, least, most, shift_, sign, out, positive);\
        add<<<blocks, 256, 0, (cudaStream_t)stream>>>(n, total, out, positive);                                        \
        return cudaGetLastError();                                                                                     \
    }

BLEND(f32, float)
BLEND(f64, double)
BLEND(i16, int16_t)

template <typename T>
__global__ void swapped(int64_t n, T *x, T *y, const T *by)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const T kept = x[i];
    x[i] = by ? y[i] * by[i] : y[i];
    y[i] = kept;
}

int swap_f32(int64_t n, float *x, float *y, const float *by, void *stream)
{
    swapped<<<(unsigned)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>(n, x, y, by);
    return cudaGetLastError();
}

int swap_f64(int64_t n, double *x, double *y, const double *by, void *stream)
{
    swapped<<<(unsigned)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>(n, x, y, by);
    return cudaGetLastError();
}
