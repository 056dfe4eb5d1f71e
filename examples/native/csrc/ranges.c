/* Kernels that are called on ranges, in several threads at once: each computes what begins at `begin`, up to `end`. */
#include "native_demo_kernels.h"

#include <math.h>

int wave_f32(int64_t begin, int64_t end, const float *self, double damping, float *out)
{
    for (int64_t i = begin; i < end; i++)
        out[i] = expf((float)-damping * self[i]) * sinf(self[i]);
    return 0;
}

int wave_f64(int64_t begin, int64_t end, const double *self, double damping, double *out)
{
    for (int64_t i = begin; i < end; i++)
        out[i] = exp(-damping * self[i]) * sin(self[i]);
    return 0;
}

#define CENTRED_ROWS(NAME, T)                                                                                          \
    int NAME(int64_t begin, int64_t end, const T *self, int self_ndim, const int64_t *self_shape, const T *weight,     \
             int weight_ndim, const int64_t *weight_shape, T *out, int out_ndim, const int64_t *out_shape)             \
    {                                                                                                                  \
        (void)out_ndim, (void)out_shape; /* as those of self: the schema says `meta: like(self)` */                    \
        if (self_ndim < 2)                                                                                             \
            return native_demo_fail("centred_rows takes matrices");                                                    \
        int64_t rows = 1; /* of an index of the first dimension */                                                     \
        for (int64_t dim = 1; dim < self_ndim - 1; dim++)                                                              \
            rows *= self_shape[dim];                                                                                   \
        const int64_t columns = self_shape[self_ndim - 1];                                                             \
        int64_t weights = 1; /* batches of rows have a weight each, or all have one */                                 \
        for (int dim = 0; dim < weight_ndim - 1; dim++)                                                                \
            weights *= weight_shape[dim];                                                                              \
        const int64_t all = self_shape[0] * rows;                                                                      \
        if (weight && (weight_ndim < 1 || weight_shape[weight_ndim - 1] != columns || (all && !weights) ||             \
                       (all && all % weights != 0)))                                                                   \
            return native_demo_fail("centred_rows takes a weight for each column");                                    \
        const int64_t batch = all ? all / weights : 1; /* rows with one weight */                                      \
        for (int64_t row = begin * rows; row < end * rows; row++) {                                                    \
            const T *const from = self + row * columns;                                                                \
            const T *const by = weight ? weight + row / batch * columns : 0;                                           \
            double total = 0;                                                                                          \
            for (int64_t i = 0; i < columns; i++)                                                                      \
                total += from[i];                                                                                      \
            const T mean = (T)(total / (double)columns);                                                               \
            for (int64_t i = 0; i < columns; i++)                                                                      \
                out[row * columns + i] = (from[i] - mean) * (by ? by[i] : 1);                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

CENTRED_ROWS(centred_rows_f32, float)
CENTRED_ROWS(centred_rows_f64, double)
