/* Airy's and Bessel's functions, in double: float is computed there, too. Steps and tables are those of airy.py,
 * bessel.py and bessel_jy.py. */

#ifndef OPWRIGHT_KERNELS_BESSEL_H
#define OPWRIGHT_KERNELS_BESSEL_H

#include "special_f64.h"

/* Return Ai(x) for x above AIRY_RIGHT, where it decays like exp(-2/3 x^(3/2)). */
static double airy_of_decay(double x) {
    const double root = sqrt(x), zeta = x * root * (2.0 / 3.0);
    return exp(-zeta) * RATIO(AIRY_DECAY, AIRY_ZETA_RIGHT / zeta) / sqrt(root);
}

/* Return Ai(-x) for x above -AIRY_LEFT, where it oscillates: a sum of a sine and a cosine. */
static double airy_of_wave(double x) {
    const double root = sqrt(x), zeta = x * root * (2.0 / 3.0), part = AIRY_ZETA_LEFT / zeta, square = part * part;
    const double sine = sin(zeta), cosine = cos(zeta);
    const double value =
        (sine + cosine) * RATIO(AIRY_SINE, square) - (cosine - sine) * RATIO(AIRY_COSINE, square) / zeta;
    return value / (sqrt(root) * (AIRY_SQRT_PI * 1.4142135623730951));
}

/* Return the Airy function Ai(x); NaN for infinities and NaN, 0 above AIRY_END. */
static double airy_ai(double x) {
    if (!isfinite(x)) {
        return NAN;
    }
    if (x < AIRY_LEFT) {
        return airy_of_wave(-x);
    }
    if (x <= AIRY_RIGHT) {
        return x < 0 ? POLYNOMIAL(AIRY_BELOW, x + 1.6) : POLYNOMIAL(AIRY_ABOVE, x - 1);
    }
    return x <= AIRY_END ? airy_of_decay(x) : 0;
}

/* Return found * exp(x): infinity, with an overflow that is computed, where exp(x) exceeds the largest number of the
 * type. */
static inline double times_exp(double found, double x, double largest) {
    const double power = exp(x);
    return found * (power > largest ? 1e308 * power : power);
}

/* Return the modified Bessel function I0(x) for a type with this largest number; exp(-|x|) * I0(x) where `largest` is
 * 0. */
static double bessel_i0(double x, double largest) {
    const int is_scaled = largest == 0;
    const double size = fabs(x);
    if (size <= BESSEL_BORDER) {
        const double found = POLYNOMIAL(BESSEL_I0, 0.25 * size * size);
        return is_scaled ? found * exp(-size) : found;
    }
    const double found = POLYNOMIAL(BESSEL_I0_TAIL, BESSEL_BORDER / size) / sqrt(size);
    return is_scaled ? found : times_exp(found, size, largest);
}

/* Return the modified Bessel function I1(x) for a type with this largest number; exp(-|x|) * I1(x) where `largest` is
 * 0. */
static double bessel_i1(double x, double largest) {
    const int is_scaled = largest == 0;
    const double size = fabs(x);
    if (size <= BESSEL_BORDER) {
        const double found = POLYNOMIAL(BESSEL_I1, 0.25 * size * size);
        return (is_scaled ? found * exp(-size) : found) * (0.5 * x);
    }
    const double found = POLYNOMIAL(BESSEL_I1_TAIL, BESSEL_BORDER / size) / sqrt(size);
    return copysign(is_scaled ? found : times_exp(found, size, largest), x);
}

/* Return the modified Bessel function K0(x), times exp(x) where `is_scaled`; infinity at 0 and NaN below it. */
static double bessel_k0(double x, int is_scaled) {
    if (!(x > 0)) {
        return x == 0 ? INFINITY : NAN;
    }
    if (x <= 2) {
        const double square = x * x;
        const double found = POLYNOMIAL(BESSEL_K0, square) - log(0.5 * x) * POLYNOMIAL(BESSEL_I0, 0.25 * square);
        return is_scaled ? found * exp(x) : found;
    }
    const double found = RATIO(BESSEL_K0_TAIL, 2 / x) / sqrt(x);
    return is_scaled ? found : found * exp(-x);
}

/* Return the modified Bessel function K1(x), times exp(x) where `is_scaled`; infinity at 0 and NaN below it. */
static double bessel_k1(double x, int is_scaled) {
    if (!(x > 0)) {
        return x == 0 ? INFINITY : NAN;
    }
    if (x <= 2) {
        const double square = x * x, first = 0.5 * x * POLYNOMIAL(BESSEL_I1, 0.25 * square);
        const double found = POLYNOMIAL(BESSEL_K1, square) / x + log(0.5 * x) * first;
        return is_scaled ? found * exp(x) : found;
    }
    const double found = RATIO(BESSEL_K1_TAIL, 2 / x) / sqrt(x);
    return is_scaled ? found : found * exp(-x);
}

/* Return (x² - first²) (x² - second²) for two zeros of J, each given as a sum of two doubles. */
static double product_of_zeros(double x, const double *first, const double *second) {
    const double one = ((x - first[0]) - first[1]) * (x + first[0]);
    return one * (((x - second[0]) - second[1]) * (x + second[0]));
}

/* Return J0(x) for x from 0 to BESSEL_JY_BORDER: a polynomial times the factors of its first two zeros. */
static double j0_near(double x) {
    return POLYNOMIAL(BESSEL_JY_J0, x * x - BESSEL_JY_MIDDLE) *
           product_of_zeros(x, BESSEL_JY_J0_ZEROS_0, BESSEL_JY_J0_ZEROS_1);
}

/* Return J1(x) for x from 0 to BESSEL_JY_BORDER: a polynomial times x and the factors of its first two zeros. */
static double j1_near(double x) {
    return POLYNOMIAL(BESSEL_JY_J1, x * x - BESSEL_JY_MIDDLE) *
           product_of_zeros(x, BESSEL_JY_J1_ZEROS_0, BESSEL_JY_J1_ZEROS_1) * x;
}

/* Return J of order 0 or 1, or Y where `is_second`, for x above BESSEL_JY_BORDER: a sine and a cosine with
 * amplitudes. */
static double bessel_of_waves(double x, int order, int is_second) {
    const double inverse = BESSEL_JY_BORDER / x, square = inverse * inverse;
    const double upright = order == 0 ? RATIO(BESSEL_JY_P0, square) : RATIO(BESSEL_JY_P1, square);
    const double slanted = inverse * (order == 0 ? RATIO(BESSEL_JY_Q0, square) : RATIO(BESSEL_JY_Q1, square));
    const double of_x[2] = {sin(x), cos(x)}, sum = of_x[1] + of_x[0], difference = of_x[0] - of_x[1];
    const double cosine = order == 0 ? sum : difference, sine = order == 0 ? difference : -sum;
    const double root = BESSEL_JY_SQRT_PI * sqrt(x);
    return (is_second ? upright * sine + slanted * cosine : upright * cosine - slanted * sine) / root;
}

/* Return the Bessel function J0(x), which is even. */
static double bessel_j0(double x) {
    const double size = fabs(x);
    return size <= BESSEL_JY_BORDER ? j0_near(size) : bessel_of_waves(size, 0, 0);
}

/* Return the Bessel function J1(x), which is odd. */
static double bessel_j1(double x) {
    const double size = fabs(x), found = size <= BESSEL_JY_BORDER ? j1_near(size) : bessel_of_waves(size, 1, 0);
    return found * copysign(1, x);
}

/* Return the Bessel function Y0(x); -infinity at 0 and NaN below it. */
static double bessel_y0(double x) {
    if (!(x > 0)) {
        return x == 0 ? -INFINITY : NAN;
    }
    if (x > BESSEL_JY_BORDER) {
        return bessel_of_waves(x, 0, 1);
    }
    return POLYNOMIAL(BESSEL_JY_Y0, x * x - BESSEL_JY_MIDDLE) + BESSEL_JY_TWO_OVER_PI * log(x) * j0_near(x);
}

/* Return the Bessel function Y1(x); -infinity at 0 and NaN below it. */
static double bessel_y1(double x) {
    if (!(x > 0)) {
        return x == 0 ? -INFINITY : NAN;
    }
    if (x > BESSEL_JY_BORDER) {
        return bessel_of_waves(x, 1, 1);
    }
    return POLYNOMIAL(BESSEL_JY_Y1, x * x - BESSEL_JY_MIDDLE) * x +
           BESSEL_JY_TWO_OVER_PI * (log(x) * j1_near(x) - 1 / x);
}

#endif
