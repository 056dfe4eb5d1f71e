/* Kernels that write their arguments. */
#include "native_demo_kernels.h"

#include <math.h>

#define ADAMW_STEP(NAME, T, SQRT)                                                                                      \
    int NAME(int64_t n, T *param, const T *grad, T *exp_avg, T *exp_avg_sq, int64_t step, double lr, double beta1,     \
             double beta2, double eps, double weight_decay)                                                            \
    {                                                                                                                  \
        if (step < 1)                                                                                                  \
            return native_demo_fail("step counts from 1");                                                             \
        const T first = (T)(lr / (1 - pow(beta1, (double)step))), second = (T)(1 / (1 - pow(beta2, (double)step)));    \
        const T b1 = (T)beta1, b2 = (T)beta2, kept = (T)(1 - lr * weight_decay), least = (T)eps;                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            exp_avg[i] = b1 * exp_avg[i] + (1 - b1) * grad[i];                                                         \
            exp_avg_sq[i] = b2 * exp_avg_sq[i] + (1 - b2) * grad[i] * grad[i];                                         \
            param[i] = kept * param[i] - first * exp_avg[i] / (SQRT(exp_avg_sq[i] * second) + least);                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

ADAMW_STEP(adamw_step_f32, float, sqrtf)
ADAMW_STEP(adamw_step_f64, double, sqrt)

/* Of any strides: indices count like the digits of a number. W: in which products of integers may wrap. */
#define SCALE(NAME, T, W)                                                                                              \
    int NAME(T *self, int self_ndim, const int64_t *self_shape, const int64_t *self_strides, T by)                     \
    {                                                                                                                  \
        int64_t index[64] = {0};                                                                                       \
        for (int i = 0; i < self_ndim; i++)                                                                            \
            if (!self_shape[i])                                                                                        \
                return 0;                                                                                              \
        for (int dim = 0; dim >= 0;) {                                                                                 \
            *self = (T)((W)*self * (W)by);                                                                             \
            for (dim = self_ndim - 1; dim >= 0; dim--) {                                                               \
                self += self_strides[dim];                                                                             \
                if (++index[dim] < self_shape[dim])                                                                    \
                    break;                                                                                             \
                self -= self_shape[dim] * self_strides[dim];                                                           \
                index[dim] = 0;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

SCALE(scale_i64, int64_t, uint64_t)
SCALE(scale_f32, float, float)
SCALE(scale_f64, double, double)
SCALE(scale_c128, double _Complex, double _Complex)
