/* Special functions of double. Those of libm go one element at a time. */

#ifndef OPWRIGHT_KERNELS_SPECIAL_F64_H
#define OPWRIGHT_KERNELS_SPECIAL_F64_H

#include "coefficients.h" /* written from the tables of opwright_kernels by the build */
#include "fast/arrays/loops.h"

/* A polynomial, and a quotient of two, by such a table. */
#define POLYNOMIAL(TABLE, X) polynomial_f64(TABLE, (int)(sizeof(TABLE) / sizeof(double)), X)
#define RATIO(TABLE, X) (POLYNOMIAL(TABLE##_0, X) / POLYNOMIAL(TABLE##_1, X))

/* Return exp(x) - 1 by libm. */
ELEMENT double own_expm1_f64(double x) { return expm1(x); }
/* Return log(x). */
ELEMENT double own_log_f64(double x) { return log_f64(x); }
/* Return exp(x). */
ELEMENT double exp_above_f64(double x) { return exp_f64(x); }
/* Return the normal distribution function of x. */
ELEMENT double own_normal_f64(double x) { return 0.5 * (1.0 + erf_f64(x * 0.7071067811865476)); }
/* Return gelu(x): x times the normal distribution function. */
ELEMENT double own_gelu_f64(double x) { return x * own_normal_f64(x); }
/* Return erfc(x) by libm. */
ELEMENT double own_erfc_f64(double x) { return erfc(x); }

/* Return log(1 + e) for e from 0 to 1; what 1 + e loses of e by rounding is added. */
ELEMENT double log1p_of_part_f64(double e) {
    const double y = 1.0 + e;
    return log_f64(y) + (e - (y - 1.0)) / y;
}

/* Return the polynomial with `count` coefficients, lowest degree first, at x. */
ELEMENT double polynomial_f64(const double *coefficients, int count, double x) {
    double found = coefficients[count - 1];
    for (int i = count - 2; i >= 0; i--) {
        found = found * x + coefficients[i];
    }
    return found;
}

/* Return the quantile of the normal distribution at 0.5 + distance, where `tail` is the smaller of that probability and
 * its complement: Wichura's AS 241. */
static inline double normal_quantile(double distance, double tail) {
    const double size = fabs(distance);
    if (size <= 0.425) {
        const double t = 0.180625 - size * size;
        return copysign(size * RATIO(SPECIAL_QUANTILE_CENTRE, t), distance);
    }
    if (!(tail > 0.0)) {
        return tail == 0.0 ? copysign(INFINITY, distance) : NAN;
    }
    const double root = sqrt(-log(tail));
    const double found =
        root <= 5.0 ? RATIO(SPECIAL_QUANTILE_TAIL, root - 1.6) : RATIO(SPECIAL_QUANTILE_FAR, root - 5.0);
    return copysign(found, distance);
}

/* Return the inverse of erf at x. */
ELEMENT double own_erfinv_f64(double x) {
    return 0.7071067811865476 * normal_quantile(0.5 * x, 0.5 * (1.0 - fabs(x)));
}

/* Return the inverse of the normal distribution function at x. */
static inline double own_ndtri(double x) { return normal_quantile(x - 0.5, x < 1.0 - x ? x : 1.0 - x); }

/* Return exp(x²) * erfc(x), without overflow of exp for large x. */
static inline double own_erfcx(double x) {
    if (x < 1.25) {
        return exp(x * x) * erfc(x);
    }
    const double inverse = 1.0 / (x * x);
    const double exponent = x < 1 / 0.35 ? RATIO(SPECIAL_ERF_MIDDLE, inverse) : RATIO(SPECIAL_ERF_TAIL, inverse);
    return exp(exponent - 0.5625) / x;
}

/* Return the logarithm of the normal distribution function of x. */
static inline double own_log_ndtr(double x) {
    const double t = x * 0.7071067811865476;
    return x < -1.0 ? log(0.5 * own_erfcx(-t)) - t * t : log1p(-0.5 * erfc(t));
}

#endif
