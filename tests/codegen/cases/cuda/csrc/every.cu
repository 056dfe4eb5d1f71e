#include "demo_cuda.h"

#define BLEND(NAME, T)                                                                                                 \
    __global__ void NAME(                                                                                              \
        const T *x, int ndim, opwright_sizes shape, const T *y, int y_ndim, opwright_sizes, const int64_t *index, int, \
        opwright_sizes, T by, opwright_optional<T> low, opwright_optional<double> high,                                \
        opwright_optional<int64_t> shift, opwright_optional<int> flip, opwright_list<double> weights,                  \
        int64_t weights_count, opwright_list<int64_t> offsets, int64_t offsets_count, opwright_list<uint8_t> mask,     \
        int64_t mask_count, opwright_list<int64_t> window, int64_t window_count, T *out, int, opwright_sizes,          \
        uint8_t *positive, int, opwright_sizes)                                                                        \
    {                                                                                                                  \
        for (int64_t i = threadIdx.x + blockIdx.x * shape[1]; i < (blockIdx.x + 1) * shape[1]; i += blockDim.x) {      \
            double total = ((double)x[i] + (y ? (double)y[i] : (double)y_ndim)) * (double)by;                          \
            total = low && total < (double)*low ? (double)*low : total;                                                \
            total = high && total > *high ? *high : total;                                                             \
            total += shift ? (double)*shift : 0;                                                                       \
            total = flip && *flip ? -total : total;                                                                    \
            for (int64_t j = 0; j < weights_count && j < mask_count; j++)                                              \
                total += mask[j] ? weights[j] : 0;                                                                     \
            for (int64_t j = 0; j < offsets_count; j++)                                                                \
                total += (double)offsets[j];                                                                           \
            total += (offsets ? 100 : 0) + (double)(window[0] - window[window_count - 1] + index[i]);                  \
            out[i] = (T)total;                                                                                         \
            positive[i] = total > 0;                                                                                   \
        }                                                                                                              \
    }

BLEND(blend_f32, float)
BLEND(blend_f64, double)
BLEND(blend_i16, int16_t)

__device__ float2 product(float2 a, float2 b) { return float2{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ double2 product(double2 a, double2 b) { return double2{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
template <typename T> __device__ T product(T a, T b) { return (T)(a * b); }

#define SCALE(NAME, T)                                                                                                 \
    __global__ void NAME(T *self, int ndim, opwright_sizes shape, opwright_sizes strides, T by)                        \
    {                                                                                                                  \
        int64_t rest = blockIdx.x, at = 0;                                                                             \
        for (int i = ndim - 2; i >= 0; rest /= shape[i--])                                                             \
            at += rest % shape[i] * strides[i];                                                                        \
        const int64_t columns = ndim ? shape[ndim - 1] : 1, step = ndim ? strides[ndim - 1] : 0;                       \
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)                                                    \
            self[at + i * step] = product(self[at + i * step], by);                                                    \
    }

SCALE(scale_f32, float)
SCALE(scale_f64, double)
SCALE(scale_i64, int64_t)
SCALE(scale_c64, float2)
SCALE(scale_c128, double2)
SCALE(scale_b8, uint8_t)
SCALE(scale_u8, uint8_t)
