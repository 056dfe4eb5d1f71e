/* The logarithm of the gamma function and its derivative, in double: float is computed there, too. */

#ifndef OPWRIGHT_KERNELS_GAMMA_H
#define OPWRIGHT_KERNELS_GAMMA_H

#include "special_f64.h"

#define PI 3.14159265358979323846

/* digamma(x) / (x - its zero) on [1, 8], of x - 1; the zero is a sum of two numbers. */
static inline double digamma_near(double x) {
    static const double ratio[][10] = {
        {1.2503801375034052, 2.1824133644023003, 1.452583037134508, 0.4781593947626507, 0.0838578714447671,
         0.007828020443433722, 0.00036603290836177964, 7.420096618195445e-06, 4.628095355160578e-08,
         1.4733536951457843e-11},
        {1.0, 2.4289467130117504, 2.2202203237605125, 1.0097747891094164, 0.2507062656892972, 0.03472039447836512,
         0.0026124765363473223, 9.875135845843727e-05, 1.5899202469738136e-06, 7.349204873037012e-09}};
    const double t = x - 1.0, scale = polynomial_f64(ratio[0], 10, t) / polynomial_f64(ratio[1], 10, t);
    return ((x - 1.4616321449683622) - 9.549995429965697e-17) * scale;
}

static inline double digamma_tail(double x) {
    static const double series[] = {1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0,
                                    1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0, -3617.0 / 8160.0};
    const double inverse = 1.0 / x, square = inverse * inverse;
    return log(x) - 0.5 * inverse - square * polynomial_f64(series, 8, square);
}

static inline double digamma_above_zero(double x) {
    if (x < 1.0) {
        return digamma_near(x + 1.0) - 1.0 / x;
    }
    return x < 8.0 ? digamma_near(x) : digamma_tail(x);
}

static inline double own_digamma_f64(double x) {
    if (!(x < 0.0)) {
        return digamma_above_zero(x);
    }
    const double distance = x - rint(x);
    return isinf(x) || distance == 0.0 ? NAN : digamma_above_zero(1.0 - x) - PI / tan(PI * distance);
}

static inline float own_digamma_f32(float x) { return (float)own_digamma_f64((double)x); }

static inline double own_lgamma_f64(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

static inline float own_lgamma_f32(float x) {
    int sign;
    return (float)lgamma_r((double)x, &sign);
}

#endif
