#include "earlier_kernels.h"

#define AXPY(NAME, T)                                                                     \
    int NAME(int64_t n, const T *x, const T *y, double alpha, T *out)                     \
    {                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                   \
            out[i] = (T)alpha * x[i] + y[i];                                              \
        return 0;                                                                         \
    }

AXPY(axpy_f32, float)
AXPY(axpy_f64, double)

#define RUNNING_MAX(NAME, T)                                                              \
    int NAME(const T *self, int self_ndim, const int64_t *self_shape, T *out, int out_ndim, const int64_t *out_shape) \
    {                                                                                     \
        (void)out_ndim, (void)out_shape;                                                  \
        if (self_ndim != 1)                                                               \
            return earlier_fail("running_max takes one dimension");                      \
        for (int64_t i = 0; i < self_shape[0]; i++)                                       \
            out[i] = i && out[i - 1] > self[i] ? out[i - 1] : self[i];                    \
        return 0;                                                                         \
    }

RUNNING_MAX(running_max_i64, int64_t)
RUNNING_MAX(running_max_f64, double)

#define SCALE(NAME, T)                                                                    \
    int NAME(T *self, int self_ndim, const int64_t *self_shape, const int64_t *self_strides, T by) \
    {                                                                                     \
        if (self_ndim != 1)                                                               \
            return earlier_fail("scale takes one dimension");                            \
        for (int64_t i = 0; i < self_shape[0]; i++)                                       \
            self[i * self_strides[0]] *= by;                                              \
        return 0;                                                                         \
    }

SCALE(scale_i64, int64_t)
SCALE(scale_f64, double)
