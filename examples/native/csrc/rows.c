/* Kernels over rows: one for each convention that knows of shapes. */
#include "native_demo_kernels.h"

#include <math.h>

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

#define NLL_ROWS(NAME, T, EXP, LOG)                                                                                    \
    int NAME(const T *logits, int logits_ndim, const int64_t *logits_shape, const int64_t *target, int target_ndim,    \
             const int64_t *target_shape, const T *weight, int weight_ndim, const int64_t *weight_shape, T *out,       \
             int out_ndim, const int64_t *out_shape)                                                                   \
    {                                                                                                                  \
        (void)out_ndim, (void)out_shape;                                                                               \
        if (logits_ndim != 2 || target_ndim != 1 || target_shape[0] != logits_shape[0])                                \
            return native_demo_fail("nll_rows takes a matrix, and a target for each row");                             \
        const int64_t classes = logits_shape[1];                                                                       \
        if (weight && (weight_ndim != 1 || weight_shape[0] != classes))                                                \
            return native_demo_fail("nll_rows takes a weight for each class");                                         \
        for (int64_t row = 0; row < logits_shape[0]; row++, logits += classes) {                                       \
            const int64_t wanted = target[row];                                                                        \
            if (wanted < 0 || wanted >= classes)                                                                       \
                return native_demo_fail("a target is no class");                                                       \
            T largest = logits[0], total = 0;                                                                          \
            for (int64_t i = 1; i < classes; i++)                                                                      \
                largest = logits[i] > largest ? logits[i] : largest;                                                   \
            for (int64_t i = 0; i < classes; i++)                                                                      \
                total += EXP(logits[i] - largest);                                                                     \
            out[row] = (largest + LOG(total) - logits[wanted]) * (weight ? weight[wanted] : 1);                        \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

NLL_ROWS(nll_rows_f32, float, expf, logf)
NLL_ROWS(nll_rows_f64, double, exp, log)
