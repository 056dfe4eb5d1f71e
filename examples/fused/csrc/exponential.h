/* e^x in plain C, which compilers turn into vector instructions; calls of the C library's they do not.
 *
 * x = k ln 2 + r with |r| <= ln(2) / 2, so e^x = 2^k e^r. Adding and taking off 1.5 * 2^23 (2^52) rounds to an integer,
 * which then stands in the lowest bits of the sum. 2^k is made of its bits. NaN gives NaN; where e^x is smaller than
 * every normal number, 0. For x <= 0, as in a softmax: large x are not served. */
#ifndef EXPONENTIAL_H
#define EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

static inline float exp_of_float(float x)
{
    const float shift = 12582912.0f, at_least = -87.0f;
    const float y = x < at_least ? at_least : x;
    const float sum = y * 1.44269504f + shift, k = sum - shift;
    const float r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
    const float series =
        1 + r * (1 + r * (0.5f + r * (1.66666667e-1f + r * (4.16666667e-2f + r * (8.33333333e-3f + r * 1.38888889e-3f)))));
    int32_t bits;
    float power;
    memcpy(&bits, &sum, sizeof bits);
    bits = (int32_t)((uint32_t)bits << 23) + (127 << 23);
    memcpy(&power, &bits, sizeof power);
    return x < at_least ? 0 : series * power;
}

static inline double exp_of_double(double x)
{
    const double shift = 6755399441055744.0, at_least = -708.0;
    const double y = x < at_least ? at_least : x;
    const double sum = y * 1.4426950408889634 + shift, k = sum - shift;
    const double r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double series = 1.0 / 6227020800;
    series = 1.0 / 479001600 + r * series;
    series = 1.0 / 39916800 + r * series;
    series = 1.0 / 3628800 + r * series;
    series = 1.0 / 362880 + r * series;
    series = 1.0 / 40320 + r * series;
    series = 1.0 / 5040 + r * series;
    series = 1.0 / 720 + r * series;
    series = 1.0 / 120 + r * series;
    series = 1.0 / 24 + r * series;
    series = 1.0 / 6 + r * series;
    series = 0.5 + r * series;
    series = 1 + r * series;
    series = 1 + r * series;
    uint64_t bits;
    double power;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits << 52) + ((uint64_t)1023 << 52);
    memcpy(&power, &bits, sizeof power);
    return x < at_least ? 0 : series * power;
}

#endif
