/* Kernels over rows: one for each convention that knows of shapes. */
#include "native_demo_kernels.h"

#define RUNNING_MAX(NAME, T)                                                                                           \
    int NAME(const T *self, int self_ndim, const int64_t *self_shape, T *out, int out_ndim, const int64_t *out_shape)  \
    {                                                                                                                  \
        (void)out_ndim, (void)out_shape; /* as those of self: the schema says `meta: like(self)` */                    \
        int64_t rows = 1, columns = self_ndim ? self_shape[self_ndim - 1] : 1;                                         \
        for (int i = 0; i < self_ndim - 1; i++)                                                                        \
            rows *= self_shape[i];                                                                                     \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            for (int64_t i = 0; i < columns; i++) {                                                                    \
                const int64_t at = row * columns + i;                                                                  \
                out[at] = i && out[at - 1] > self[at] ? out[at - 1] : self[at];                                        \
            }                                                                                                          \
        return 0;                                                                                                      \
    }

RUNNING_MAX(running_max_i64, int64_t)
RUNNING_MAX(running_max_f32, float)
RUNNING_MAX(running_max_f64, double)

#define MOMENTS(NAME, T)                                                                                               \
    int NAME(const T *self, int self_ndim, const int64_t *self_shape, const int64_t *self_strides, T *mean,            \
             int mean_ndim, const int64_t *mean_shape, const int64_t *mean_strides, T *variance, int variance_ndim,    \
             const int64_t *variance_shape, const int64_t *variance_strides)                                           \
    {                                                                                                                  \
        (void)mean_ndim, (void)mean_shape, (void)variance_ndim, (void)variance_shape;                                  \
        if (self_ndim != 2)                                                                                            \
            return native_demo_fail("moments takes a matrix");                                                         \
        for (int64_t row = 0; row < self_shape[0]; row++) {                                                            \
            const T *first = self + row * self_strides[0];                                                             \
            double total = 0, squares = 0;                                                                             \
            for (int64_t i = 0; i < self_shape[1]; i++)                                                                \
                total += first[i * self_strides[1]];                                                                   \
            const double average = total / (double)self_shape[1];                                                      \
            for (int64_t i = 0; i < self_shape[1]; i++) {                                                              \
                const double off = first[i * self_strides[1]] - average;                                               \
                squares += off * off;                                                                                  \
            }                                                                                                          \
            mean[row * mean_strides[0]] = (T)average;                                                                  \
            variance[row * variance_strides[0]] = (T)(squares / (double)self_shape[1]);                                \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

MOMENTS(moments_f32, float)
MOMENTS(moments_f64, double)
