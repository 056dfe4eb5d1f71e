/* The logarithm of the gamma function and its derivative, in double: float is computed there, too. */

#ifndef OPWRIGHT_KERNELS_GAMMA_H
#define OPWRIGHT_KERNELS_GAMMA_H

#include "special_f64.h"

#define PI 3.14159265358979323846

/* digamma(x) / (x - its zero) on [1, 8], of x - 1; the zero is a sum of two numbers. */
static inline double digamma_near(double x) {
    return ((x - GAMMA_DIGAMMA_ZERO[0]) - GAMMA_DIGAMMA_ZERO[1]) * RATIO(GAMMA_DIGAMMA, x - 1.0);
}

static inline double digamma_tail(double x) {
    const double inverse = 1.0 / x, square = inverse * inverse;
    return log(x) - 0.5 * inverse - square * POLYNOMIAL(GAMMA_DIGAMMA_TAIL, square);
}

static inline double digamma_above_zero(double x) {
    if (x < 1.0) {
        return digamma_near(x + 1.0) - 1.0 / x;
    }
    return x < 8.0 ? digamma_near(x) : digamma_tail(x);
}

static inline double own_digamma_f64(double x) {
    if (!(x < 0.0)) {
        return x == 0.0 ? -copysign(INFINITY, x) : digamma_above_zero(x);
    }
    const double distance = x - rint(x);
    return isinf(x) || distance == 0.0 ? NAN : digamma_above_zero(1.0 - x) - PI / tan(PI * distance);
}

static inline float own_digamma_f32(float x) { return (float)own_digamma_f64((double)x); }

static inline double own_lgamma_f64(double x) {
    int sign;
    return x <= 0.0 && x == floor(x) ? INFINITY : lgamma_r(x, &sign);
}

static inline float own_lgamma_f32(float x) { return (float)own_lgamma_f64((double)x); }

#endif
