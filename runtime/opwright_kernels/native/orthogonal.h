/* Chebyshev polynomials of high degree: waves of an angle, and exponentials outside [-1, 1]. Steps are those of
 * orthogonal.py. */

#ifndef OPWRIGHT_KERNELS_ORTHOGONAL_H
#define OPWRIGHT_KERNELS_ORTHOGONAL_H

#include <math.h>
#include <stdint.h>

/* The largest degree of a Chebyshev polynomial that goes by the recurrence. */
#define LOW_DEGREE 8

/* Return a degree truncated to an integer; -1 for NaN and what 64 bits do not hold. */
static inline int64_t whole_degree(double n) { return fabs(n) < 9223372036854775808.0 ? (int64_t)n : -1; }

/* Return the Chebyshev polynomial of a kind (t, u, v, w) and degree n for x from 0 to 1, by the angle arccos(x); at 1
 * the limits of u and w. */
static double chebyshev_within(char kind, double x, double n) {
    const double sine = sqrt((1 - x) * 0.5), half = asin(sine); /* of half the angle */
    if (kind == 't') {
        return cos(2 * n * half);
    }
    if (kind == 'v') {
        return cos((2 * n + 1) * half) / cos(half);
    }
    if (sine == 0) {
        return kind == 'w' ? 2 * n + 1 : n + 1;
    }
    return kind == 'w' ? sin((2 * n + 1) * half) / sine : sin(2 * (n + 1) * half) / sqrt((1 - x) * (1 + x));
}

/* Return the Chebyshev polynomial of a kind and degree n for x from 1 on, by the hyperbolic angle θ = arcosh(x): exp(n
 * θ) times a factor from 1/2 to 2n + 1. */
static double chebyshev_beyond(char kind, double x, double n) {
    const double angle = 2 * asinh(sqrt((x - 1) * 0.5)), power = exp(n * angle);
    switch (kind) {
    case 't':
        return power * (0.5 * (1 + exp(-2 * n * angle)));
    case 'v':
        return power * ((1 + exp(-(2 * n + 1) * angle)) / (1 + exp(-angle)));
    case 'w':
        return power * (expm1(-(2 * n + 1) * angle) / expm1(-angle));
    default:
        return power * (expm1(-2 * (n + 1) * angle) / expm1(-2 * angle));
    }
}

/* Return the Chebyshev polynomial of a kind and degree n for any x. For negative x it is that of -x, where v and w
 * change roles, and odd degrees the sign; NaN stays NaN. */
static double chebyshev_by_angle(char kind, double x, double n) {
    if (x != x) {
        return x;
    }
    const int is_turned = x < 0 && (kind == 'v' || kind == 'w');
    const char its_kind = !is_turned ? kind : kind == 'v' ? 'w' : 'v';
    const double size = fabs(x);
    const double found = size <= 1 ? chebyshev_within(its_kind, size, n) : chebyshev_beyond(its_kind, size, n);
    return x < 0 && fmod(n, 2) == 1 ? -found : found;
}

#endif
