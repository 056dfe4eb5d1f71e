/* Hurwitz's zeta function and the incomplete gamma functions, in double: float is computed there, too. Steps and tables
 * are those of gamma.py and incomplete_gamma.py. */

#ifndef OPWRIGHT_KERNELS_INCOMPLETE_GAMMA_H
#define OPWRIGHT_KERNELS_INCOMPLETE_GAMMA_H

#include "gamma.h"

/* Return the Hurwitz zeta function for s above 1, by at least nine terms of its sum and the Euler-Maclaurin formula for
 * the rest. */
static double euler_maclaurin(double s, double q) {
    double total = 0, term = pow(q, -s);
    for (int steps = 0; steps < 9 || q <= 9; steps++) {
        total += term;
        q += 1;
        term = pow(q, -s);
    }
    total += term * q / (s - 1) + 0.5 * term;
    double factor = s, power = term / q;
    for (int k = 0; k < (int)(sizeof(GAMMA_ZETA) / sizeof(double)) && power != 0; k++) {
        total += factor * power / GAMMA_ZETA[k];
        factor *= (s + (2 * k + 1)) * (s + (2 * k + 2));
        power /= q * q;
    }
    return total;
}

/* Return the Hurwitz zeta function: infinity for s of 1 and at poles (q is 0 or a negative integer); NaN for s below 1,
 * and for negative q with an s that is no integer. */
static double hurwitz_zeta(double s, double q) {
    if (s == 1) {
        return INFINITY;
    }
    if (s < 1 || (q <= 0 && q == floor(q))) {
        return s < 1 ? NAN : INFINITY;
    }
    if (s != s || q != q || (q <= 0 && s != floor(s))) {
        return NAN;
    }
    return isinf(q) ? 0 : euler_maclaurin(s, q);
}

/* Return u - log(1 + u) without cancellation: where |u| is below 0.35 by the series of log(1 + u) in u / (2 + u). */
static double loss_of_log1p(double u) {
    if (!(fabs(u) < 0.35)) {
        return u - log1p(u < -1 ? -1 : u);
    }
    const double s = u / (2 + u), square = s * s;
    double sum = 0;
    for (int k = 25; k >= 3; k -= 2) {
        sum = sum * square + 1.0 / k;
    }
    return s * (u - 2 * square * sum);
}

/* Return x**a * exp(-x) / gamma(a + 1). */
static double gamma_term(double a, double x) {
    if (a < 10) {
        const double held = x < 1e3 ? x : 1e3;
        return pow(held, a) * exp(-held) / exp(own_lgamma_f64(a + 1));
    }
    const double inverse = 1 / a, rest = inverse * POLYNOMIAL(GAMMA_STIRLING, inverse * inverse);
    return exp(-a * loss_of_log1p((x - a) / a) - rest) / (INCOMPLETE_GAMMA_SQRT_2PI * sqrt(a));
}

/* Return P(a, x), the regularised lower incomplete gamma function, by its power series. */
static double lower_series(double a, double x) {
    double total = 1, term = 1, divisor = a;
    for (int n = 0; n < INCOMPLETE_GAMMA_STEPS && term > total * INCOMPLETE_GAMMA_DIGITS; n++) {
        divisor += 1;
        term *= x / divisor;
        total += term;
    }
    return total * gamma_term(a, x);
}

/* Return Q(a, x), the regularised upper incomplete gamma function, as 1 - P(a, x), without cancellation: by the series
 * of P without its first term. */
static double upper_series(double a, double x) {
    double total = 0, term = 1;
    for (int n = 1; n < INCOMPLETE_GAMMA_STEPS; n++) {
        term *= -x / n;
        const double part = term / (a + n);
        total += part;
        if (!(fabs(part) > fabs(total) * INCOMPLETE_GAMMA_DIGITS)) {
            break;
        }
    }
    const double exponent = a * log(x), rest = own_lgamma_f64(a + 1);
    return -expm1(exponent - rest) - a * exp(exponent - rest) * total;
}

/* Return x, or a tiny number for 0, so that Lentz's method can divide by it. */
static double not_zero(double x) { return x == 0 ? 1e-300 : x; }

/* Return Q(a, x) by its continued fraction, by the modified method of Lentz. */
static double continued_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, value = d;
    for (int n = 1; n < INCOMPLETE_GAMMA_STEPS; n++) {
        const double numerator = n * (a - n);
        b += 2;
        d = 1 / not_zero(numerator * d + b);
        c = not_zero(b + numerator / c);
        const double factor = c * d;
        if (!(fabs(factor - 1) > 4 * INCOMPLETE_GAMMA_DIGITS)) {
            break;
        }
        value *= factor;
    }
    return value * a * gamma_term(a, x);
}

/* Return P(a, x), or Q(a, x) where `is_upper`, by Temme's uniform expansion for large a: the normal distribution and a
 * correction. */
static double temme(double a, double x, int is_upper) {
    const double u = (x - a) / a, loss = loss_of_log1p(u), eta = copysign(sqrt(2 * loss), u), inverse = 1 / a;
    double correction = POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_7, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_6, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_5, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_4, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_3, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_2, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_1, eta);
    correction = correction * inverse + POLYNOMIAL(INCOMPLETE_GAMMA_TEMME_0, eta);
    correction *= exp(-a * loss) / (INCOMPLETE_GAMMA_SQRT_2PI * sqrt(a));
    const double sign = is_upper ? 1 : -1;
    return 0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * correction;
}

/* Return P(a, x), the regularised lower incomplete gamma function, or Q(a, x) where `is_upper`; NaN for negative
 * operands, for both 0 and for both infinite. */
static double gamma_fraction(double a, double x, int is_upper) {
    const double nothing = is_upper ? 1 : 0, whole = is_upper ? 0 : 1;
    if (isinf(a) && a == x) {
        return x - a; /* the invalid operation: computed, not chosen */
    }
    if (a < 0 || x < 0) {
        return NAN;
    }
    if (a == 0) {
        return x > 0 ? whole : NAN;
    }
    if (x == 0) {
        return nothing;
    }
    if (isinf(a)) {
        return nothing;
    }
    if (isinf(x)) {
        return whole;
    }
    if (a != a || x != x) {
        return NAN;
    }
    if (a > INCOMPLETE_GAMMA_LARGE && fabs(x - a) < INCOMPLETE_GAMMA_NEAR * a) {
        return temme(a, x, is_upper);
    }
    if (x <= 1.1 && a < (x < 0.5 ? -0.4 / log(x) : x / 1.1)) {
        const double upper = upper_series(a, x);
        return is_upper ? upper : 1 - upper;
    }
    if (x > 1.1 && x >= a) {
        const double upper = continued_fraction(a, x);
        return is_upper ? upper : 1 - upper;
    }
    const double lower = lower_series(a, x);
    return is_upper ? 1 - lower : lower;
}

/* Return the derivative of digamma(x); below 0.5 by reflection. */
static inline double trigamma(double x) {
    if (!(x < 0.5)) {
        return hurwitz_zeta(2.0, x);
    }
    const double factor = PI / sin(PI * (x - rint(x)));
    return factor * factor - hurwitz_zeta(2.0, 1.0 - x);
}

#endif
