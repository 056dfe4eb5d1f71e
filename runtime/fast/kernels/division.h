/* What a division leaves, of one element. */

#ifndef OPWRIGHT_KERNELS_DIVISION_H
#define OPWRIGHT_KERNELS_DIVISION_H

#include "loops.h"

/* Whether a quotient is too long for the way by double, or an operand is no number that divides. Two floats have 24
 * digits each: their quotient in double is on the right side of every integer below 2 ** 28, and what is taken away is
 * exact. */
ELEMENT int is_far_quotient_f32(float x, float y) {
    const float quotient = abs_f32(x) / abs_f32(y);
    return !(quotient < 0x1p27f) || abs_f32(y) == INFINITY;
}

/* What is left after a division toward zero, with the dividend's sign. */
ELEMENT float short_fmod_f32(float x, float y) {
    const double quotient = trunc((double)x / (double)y);
    return copysign_f32((float)((double)x - quotient * (double)y), x);
}

/* What is left after a division rounded down, with the divisor's sign. A remainder of the other sign is rounded when the
 * divisor is added. */
ELEMENT float short_remainder_f32(float x, float y) {
    const double quotient = trunc((double)x / (double)y);
    const float rest = (float)((double)x - quotient * (double)y);
    const float moved = (rest < 0) != (y < 0) ? rest + y : rest;
    return copysign_f32(rest == 0 ? rest : moved, y);
}

/* Doubles go by libm, one at a time. */
ELEMENT int is_far_quotient_f64(double x, double y) { (void)x, (void)y; return 1; }
ELEMENT double short_fmod_f64(double x, double y) { (void)x, (void)y; return 0; }
ELEMENT double short_remainder_f64(double x, double y) { (void)x, (void)y; return 0; }

#endif
