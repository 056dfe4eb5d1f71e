/* The logarithm of the gamma function and its derivative, in double: float is computed there, too. */

#ifndef OPWRIGHT_KERNELS_GAMMA_H
#define OPWRIGHT_KERNELS_GAMMA_H

#include "special_f64.h"

#define PI 3.14159265358979323846

/* Return digamma(x) for x from 1 to 8: a quotient of polynomials of x - 1, times the distance from its zero, which is
 * given as a sum of two doubles. */
static inline double digamma_near(double x) {
    return ((x - GAMMA_DIGAMMA_ZERO[0]) - GAMMA_DIGAMMA_ZERO[1]) * RATIO(GAMMA_DIGAMMA, x - 1.0);
}

/* Return digamma(x) for x from 8 on, by its asymptotic series. */
static inline double digamma_tail(double x) {
    const double inverse = 1.0 / x, square = inverse * inverse;
    return log(x) - 0.5 * inverse - square * POLYNOMIAL(GAMMA_DIGAMMA_TAIL, square);
}

/* Return digamma(x) for x above 0; below 1 by that of x + 1. */
static inline double digamma_above_zero(double x) {
    if (x < 1.0) {
        return digamma_near(x + 1.0) - 1.0 / x;
    }
    return x < 8.0 ? digamma_near(x) : digamma_tail(x);
}

/* Return digamma(x): infinity of the other sign at zeros, NaN at negative integers and -infinity, and by reflection for
 * the rest below 0. */
static inline double own_digamma_f64(double x) {
    if (!(x < 0.0)) {
        return x == 0.0 ? -copysign(INFINITY, x) : digamma_above_zero(x);
    }
    const double distance = x - rint(x); /* the invalid operation of -INFINITY: computed, not chosen */
    if (isinf(x) || distance == 0.0) {
        return distance == 0.0 ? NAN : distance;
    }
    return digamma_above_zero(1.0 - x) - PI / tan(PI * distance);
}

/* Return digamma(x) of a float32, computed in double. */
static inline float own_digamma_f32(float x) { return (float)own_digamma_f64((double)x); }

/* Return log(|gamma(x)|) by libm; infinity at 0, negative integers and -infinity, without libm's floating-point
 * error. */
static inline double own_lgamma_f64(double x) {
    int sign;
    return x <= 0.0 && x == floor(x) ? INFINITY : lgamma_r(x, &sign);
}

/* Whether lgamma needs libm: always, for double. */
ELEMENT int is_hard_lgamma_f64(double x) { return x == x || x != x; }
/* Whether lgamma of a float32 needs libm: for NaN, and for x that is not above 0. */
ELEMENT int is_hard_lgamma_f32(float x) { return !(x > 0.0f); }
/* Return x, which is never used: doubles take libm's lgamma. */
ELEMENT double short_lgamma_f64(double x) { return x; }

/* Return lgamma(x) for x above 0 to float32's precision, of y = x + 1 where x is below 0.5, else of y = x: (y - 1) (y -
 * 2) times a quotient of polynomials below 3, another quotient up to 8, Stirling's series above. All three share one
 * division. */
ELEMENT float short_lgamma_f32(float x) {
    const double wide = (double)x, logarithm = log_f64(wide);
    const int is_low = wide < 0.5;
    const double y = is_low ? wide + 1.0 : wide;
    const int is_near = y < 3.0, is_far = y >= 8.0;
    const double t = y - 0.5, u = y - 3.0;
    double near = 0.00030114762928240216;
    near = near * t + 0.058380760783318504;
    near = near * t + 0.710402495070657;
    near = near * t + 2.2447524910394705;
    near = near * t + 2.370009863588301;
    near = (near * t + 0.7631532515020231) * ((y - 1.0) * (y - 2.0)) + 0.0; /* no -0.0 */
    double below_near = 0.0184325736901046;
    below_near = below_near * t + 0.4282137225059452;
    below_near = below_near * t + 2.450778067218638;
    below_near = below_near * t + 4.956484152856994;
    below_near = below_near * t + 3.8694027291480344;
    below_near = below_near * t + 1.0;
    double middle = 0.0045267282808961005;
    middle = middle * u + 0.10719583013020893;
    middle = middle * u + 0.63591553675554;
    middle = middle * u + 1.2264156457501023;
    middle = middle * u + 0.6931471716427443;
    double below_middle = -3.0181191307842933e-06;
    below_middle = below_middle * u + 0.0011696017813616752;
    below_middle = below_middle * u + 0.04937962594551087;
    below_middle = below_middle * u + 0.43804696147746464;
    below_middle = below_middle * u + 1.0;
    const double top = is_near ? near : is_far ? 1.0 : middle;
    const double quotient = top / (is_near ? below_near : is_far ? y : below_middle), square = quotient * quotient;
    const double series = (square * (1.0 / 1260.0) - 1.0 / 360.0) * square + 1.0 / 12.0;
    const double far = (y - 0.5) * (logarithm - 1.0) + (0.4189385332046727 + quotient * series);
    const double found = is_far ? far : quotient;
    return (float)(is_low ? found - logarithm : found);
}

/* Return lgamma(x) of a float32, computed in double by libm. */
static inline float own_lgamma_f32(float x) { return (float)own_lgamma_f64((double)x); }

#endif
