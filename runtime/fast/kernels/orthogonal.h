/* Chebyshev polynomials of high degree: waves of an angle, and exponentials outside [-1, 1]. Steps are those of
 * orthogonal.py. */

#ifndef OPWRIGHT_KERNELS_ORTHOGONAL_H
#define OPWRIGHT_KERNELS_ORTHOGONAL_H

#include <math.h>
#include <stdint.h>

/* The largest degree of a Chebyshev polynomial that goes by the recurrence. */
#define LOW_DEGREE 8

/* A degree as a whole number: -1 for what is none of 64 bits. */
static inline int64_t whole_degree(double n) { return fabs(n) < 9223372036854775808.0 ? (int64_t)n : -1; }

/* A polynomial on [0, 1], whose limit at 1 is filled in. */
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

/* A polynomial from 1 on: exp(n θ) of the hyperbolic angle θ, and a factor between 1/2 and 2n + 1. */
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

/* A Chebyshev polynomial: of -x for negative x, with the sign of an odd degree. */
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
