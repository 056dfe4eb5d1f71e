/* What a division leaves, of one element. */

#ifndef OPWRIGHT_KERNELS_DIVISION_H
#define OPWRIGHT_KERNELS_DIVISION_H

#include "fast/arrays/loops.h"

/* Whether x / y needs libm's fmod: a quotient of 2 ** 27 or more, or not finite, or an infinite y. Any other quotient
 * of two float32, 24 bits each, is on the right side of every integer in double, and the remainder is exact. */
ELEMENT int is_far_quotient_f32(float x, float y) {
    const float quotient = abs_f32(x) / abs_f32(y);
    return !(quotient < 0x1p27f) || abs_f32(y) == INFINITY;
}

/* Return the remainder of a division that truncates, with the dividend's sign, where `is_far_quotient_f32` is false. */
ELEMENT float short_fmod_f32(float x, float y) {
    const double quotient = trunc((double)x / (double)y);
    return copysign_f32((float)((double)x - quotient * (double)y), x);
}

/* Return the remainder of a division that rounds down, with the divisor's sign, where `is_far_quotient_f32` is false. A
 * remainder of the other sign is rounded when the divisor is added. */
ELEMENT float short_remainder_f32(float x, float y) {
    const double quotient = trunc((double)x / (double)y);
    const float rest = (float)((double)x - quotient * (double)y);
    const float moved = (rest < 0) != (y < 0) ? rest + y : rest;
    return copysign_f32(rest == 0 ? rest : moved, y);
}

/* Whether x / y needs libm's fmod: always, for double. */
ELEMENT int is_far_quotient_f64(double x, double y) { (void)x, (void)y; return 1; }
/* Return 0, which is never used: doubles take libm's fmod. */
ELEMENT double short_fmod_f64(double x, double y) { (void)x, (void)y; return 0; }
/* Return 0, which is never used: doubles take libm's fmod. */
ELEMENT double short_remainder_f64(double x, double y) { (void)x, (void)y; return 0; }

#endif
