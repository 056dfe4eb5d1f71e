/* Special functions of float: one polynomial each, without a branch. The coefficients and steps are those of
 * `opwright_kernels/elementwise/single_precision.py`, so that values are the same but for the last digits of exp and
 * log. */

#ifndef OPWRIGHT_KERNELS_SPECIAL_F32_H
#define OPWRIGHT_KERNELS_SPECIAL_F32_H

#include "fast/arrays/loops.h"

/* Return exp(r) - 1 for r from -0.35 to 0.35. */
ELEMENT float expm1_near_f32(float r) {
    float p = 0x1.a26762p-13f;
    p = p * r + 0x1.6d2e00p-10f;
    p = p * r + 0x1.110ff2p-7f;
    p = p * r + 0x1.555502p-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0.5f;
    return (p * r) * r + r;
}

/* Return exp(x), but exp(-87) for x below -87: for sums with a number of about 1. */
ELEMENT float exp_above_f32(float x) {
    const float low = x < -87.0f ? -87.0f : x, y = low > 89.0f ? 89.0f : low;
    const float held = y * 0x1.715476p+0f + ROUNDING_F32, k = held - ROUNDING_F32;
    const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    const float p = expm1_near_f32(r);
    const float half = power_of_two_f32(held - 1.0f); /* 2 ** 128 is no float */
    return (half + half * p) * 2.0f;
}

/* Return log(1 + f) + k * log(2) for f from -0.3 to 0.42. */
ELEMENT float log_near_f32(float f, float k) {
    const float z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const float rest = k * -2.12194440e-4f + p * f * z - 0.5f * z;
    return k * 0.693359375f + (f + rest);
}

/* Return log(1 + e) for e from 0 to 1, to the last digits of e. */
ELEMENT float log1p_of_part_f32(float e) {
    const int is_high = e > 0.41421356f;
    return log_near_f32(is_high ? 0.5f * (e - 1.0f) : e, is_high ? 1.0f : 0.0f);
}

/* Return log(x): -infinity at 0, NaN below it. */
ELEMENT float own_log_f32(float x) {
    const int is_small = x < 0x1p-126f;
    const float scaled = is_small ? x * 0x1p23f : x;
    const uint32_t bits = bits_f32(scaled);
    const float whole = from_bits_f32((bits & 0x007fffffu) | 0x3f800000u);
    const int is_high = whole > 0x1.6a09e6p+0f;
    const float exponent = (float)(int32_t)(bits >> 23) - (is_small ? 150.0f : 127.0f);
    const float found = log_near_f32((is_high ? whole * 0.5f : whole) - 1.0f, is_high ? exponent + 1.0f : exponent);
    const float finite = x > 0.0f ? found : x == 0.0f ? -INFINITY : NAN;
    return x == INFINITY || x != x ? x : finite;
}

/* Return exp(x) - 1, accurate to the last digits near 0: 2 ** k - 1 + 2 ** k * (exp(r) - 1), halved, since 2 ** 128 is
 * no float32. */
ELEMENT float own_expm1_f32(float x) {
    const float low = x < -40.0f ? -40.0f : x, y = low > 89.0f ? 89.0f : low;
    const float held = y * 0x1.715476p+0f + ROUNDING_F32, k = held - ROUNDING_F32;
    const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    const float p = expm1_near_f32(r);
    const float half = power_of_two_f32(held - 1.0f);
    const float found = ((half - 0.5f) + half * p) * 2.0f;
    return x == 0.0f || x != x ? x : found;
}

/* Return log(p / (1 - p)), where p is the normal distribution function of x. */
ELEMENT float normal_logit_f32(float x) {
    const float z = x * x;
    float p = z * 3.4039575602662353e-09f;
    p = (p + -2.604995472665905e-07f) * z;
    p = (p + 7.876485142332967e-06f) * z;
    p = (p + -0.00011030577297788113f) * z;
    p = (p + -6.59746874589473e-05f) * z;
    p = (p + 0.0726669505238533f) * z;
    return (p + 1.5957696437835693f) * x;
}

/* Return gelu(x): x times the normal distribution function. */
ELEMENT float own_gelu_f32(float x) {
    return x / (exp_above_f32(-normal_logit_f32(x)) + 1.0f);
}

/* Return the normal distribution function of x. */
ELEMENT float own_normal_f32(float x) {
    return 1.0f / (exp_above_f32(-normal_logit_f32(x)) + 1.0f);
}

/* Return erfc(x): exp(-x²) / (1 + |x|) times a polynomial of y = 1 / (1 + |x|), and 2 minus that below 0. x² is split,
 * so that its upper part is exact; what sums and the quotient lose by rounding is added at last. */
ELEMENT float own_erfc_f32(float x) {
    const float size = abs_f32(x), held = size > 10.5f ? 10.5f : size;
    const float d = held + 1.0f, y = 1.0f / d, t = y - 0.5f;
    float p = t * 0.3442709445953369f;
    p = (p + -0.8576188683509827f) * t;
    p = (p + 0.6067673563957214f) * t;
    p = (p + 0.17974185943603516f) * t;
    p = (p + -0.6045001149177551f) * t;
    p = (p + 0.4814387261867523f) * t;
    p = (p + -0.0781015008687973f) * t;
    p = (p + -0.3061998188495636f) * t;
    p = (p + 0.40632185339927673f) * t;
    p = (p + -0.11125171929597855f) * t;
    p = (p + -0.38222548365592957f) * t;
    p = (p + 0.4753616750240326f) * t;
    const float square = held * held, upper = from_bits_f32(bits_f32(held) & 0xfffff000u);
    const float lost = (held + upper) * (held - upper) + (upper * upper - square);
    const float k = (ROUNDING_F32 - square * 0x1.715476p+0f) - ROUNDING_F32;
    const float e = expm1_near_f32(((-square - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f) - lost);
    const float s = p + e * (p + 0.8551671504974365f), n = s + 0.8551671504974365f;
    const float rest_of_d = held - (d - 1.0f);
    const float rest = (s - (n - 0.8551671504974365f)) + n * ((1.0f - d * y) - rest_of_d * y);
    const float scaled = n * y + rest * y;
    const float half = k * 0.5f + ROUNDING_F32; /* in two steps, since 2 ** k need be no float */
    const float first = power_of_two_f32(half), second = power_of_two_f32((k - (half - ROUNDING_F32)) + ROUNDING_F32);
    const float value = scaled * first * second, found = x < 0.0f ? 2.0f - value : value;
    return x != x ? x : found;
}

/* Return the inverse of erf at x, by two polynomials: of w = -log(1 - x²), and of its root where the result is above
 * 2. */
ELEMENT float own_erfinv_f32(float x) {
    const float w = 0.0f - own_log_f32((1.0f - x) * (1.0f + x)), t = sqrtf(w) - 3.0f;
    float near = w * -1.0851088916297158e-08f;
    near = (near + 2.643619438913447e-07f) * w;
    near = (near + -2.356124241487123e-06f) * w;
    near = (near + 5.7772490436036605e-06f) * w;
    near = (near + 3.962054688599892e-05f) * w;
    near = (near + -0.00011945566802751273f) * w;
    near = (near + -0.0023416648618876934f) * w;
    near = (near + 0.011552110314369202f) * w;
    near = (near + 0.23201315104961395f) * w;
    float far = t * 0.00011831344454549253f;
    far = (far + -0.0003244831459596753f) * t;
    far = (far + -4.9095513531938195e-05f) * t;
    far = (far + 0.00150243379175663f) * t;
    far = (far + -0.003607475897297263f) * t;
    far = (far + 0.005680606700479984f) * t;
    far = (far + -0.007634181994944811f) * t;
    far = (far + 0.009446052834391594f) * t;
    far = (far + 1.001674771308899f) * t;
    far = far + 2.832976818084717f;
    return w > 4.7f ? x * (w == INFINITY ? INFINITY : far) : x * near + x * 0.8862269520759583f;
}

#endif
