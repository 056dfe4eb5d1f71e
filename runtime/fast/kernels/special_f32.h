/* Special functions of float: one polynomial each, without a branch. The coefficients and steps are those of
 * `opwright_kernels/single_precision.py`, so that values are the same but for the last digits of exp and log. */

#ifndef OPWRIGHT_KERNELS_SPECIAL_F32_H
#define OPWRIGHT_KERNELS_SPECIAL_F32_H

#include "loops.h"

/* exp(x) from -87 on, below as there: for what is added to a number of about 1. */
ELEMENT float exp_above_f32(float x) {
    const float low = x < -87.0f ? -87.0f : x, y = low > 89.0f ? 89.0f : low;
    const float held = y * 0x1.715476p+0f + ROUNDING_F32, k = held - ROUNDING_F32;
    const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    float p = 0x1.a26762p-13f;
    p = p * r + 0x1.6d2e00p-10f;
    p = p * r + 0x1.110ff2p-7f;
    p = p * r + 0x1.555502p-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0.5f;
    p = (p * r) * r + r;
    const float half = power_of_two_f32(held - 1.0f); /* 2 ** 128 is no float */
    return (half + half * p) * 2.0f;
}

/* log(1 + f) + k log 2 for f between -0.3 and 0.42. */
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

/* log(1 + e) for e from 0 to 1: what is taken of e loses no digits. */
ELEMENT float log1p_of_part_f32(float e) {
    const int is_high = e > 0.41421356f;
    return log_near_f32(is_high ? 0.5f * (e - 1.0f) : e, is_high ? 1.0f : 0.0f);
}

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

/* exp(x) - 1: 2 ** k - 1 + 2 ** k * (exp(r) - 1), halved, since 2 ** 128 is no float; exact to the last places near 0. */
ELEMENT float own_expm1_f32(float x) {
    const float low = x < -40.0f ? -40.0f : x, y = low > 89.0f ? 89.0f : low;
    const float held = y * 0x1.715476p+0f + ROUNDING_F32, k = held - ROUNDING_F32;
    const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    float p = 0x1.a26762p-13f;
    p = p * r + 0x1.6d2e00p-10f;
    p = p * r + 0x1.110ff2p-7f;
    p = p * r + 0x1.555502p-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0.5f;
    p = (p * r) * r + r;
    const float half = power_of_two_f32(held - 1.0f);
    const float found = ((half - 0.5f) + half * p) * 2.0f;
    return x == 0.0f || x != x ? x : found;
}

/* log(p / (1 - p)) of the normal distribution function p. */
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

ELEMENT float own_gelu_f32(float x) {
    return x / (exp_above_f32(-normal_logit_f32(x)) + 1.0f);
}

ELEMENT float own_normal_f32(float x) {
    return 1.0f / (exp_above_f32(-normal_logit_f32(x)) + 1.0f);
}

/* erfc(x) exp(x²) / y for y = 1 / (1 + 0.4 |x|); exp(-x²) of the square itself, whose upper half is exact. */
ELEMENT float own_erfc_f32(float x) {
    const float size = abs_f32(x), held = size > 10.5f ? 10.5f : size;
    const float y = 1.0f / (held * 0.4f + 1.0f), t = y - 0.5f;
    float p = t * -0.029205732104124145f;
    p = (p + 0.06447677046177139f) * t;
    p = (p + 0.026910484427861425f) * t;
    p = (p + -0.12299416372064209f) * t;
    p = (p + -0.10779254464968144f) * t;
    p = (p + 0.18150918809981098f) * t;
    p = (p + 0.5480148289693969f) * t;
    p = (p + 0.7262626109823072f) * t;
    p = (p + 0.6437213852905462f) * t;
    p = (p + 0.42161272776950054f) * y;
    const float square = held * held, upper = from_bits_f32(bits_f32(held) & 0xfffff000u);
    const float lost = (held + upper) * (held - upper) + (upper * upper - square), power = exp_f32(-square);
    const float value = p * (power - power * lost), found = x < 0.0f ? 2.0f - value : value;
    return x != x ? x : found;
}

/* Two polynomials, of -log(1 - x²) and of its root. */
ELEMENT float own_erfinv_f32(float x) {
    const float w = -own_log_f32((1.0f - x) * (1.0f + x)), t = sqrtf(w) - 3.0f;
    float near = w * -8.809772456178568e-09f;
    near = (near + 2.2142375472142235e-07f) * w;
    near = (near + -1.9798798505735792e-06f) * w;
    near = (near + 3.999173374293329e-06f) * w;
    near = (near + 4.4522210304002916e-05f) * w;
    near = (near + -0.00012741401258148713f) * w;
    near = (near + -0.0023343553499869624f) * w;
    near = (near + 0.011548679493234178f) * w;
    near = (near + 0.23201381385885433f) * w;
    near = near + 0.8862269206018576f;
    float far = t * 0.00010375153275096181f;
    far = (far + -0.00030034099363895043f) * t;
    far = (far + -3.566575410916852e-05f) * t;
    far = (far + 0.0014719233802015933f) * t;
    far = (far + -0.003610266957425722f) * t;
    far = (far + 0.005692557944499739f) * t;
    far = (far + -0.007634264046003763f) * t;
    far = (far + 0.009444584738600391f) * t;
    far = (far + 1.0016747690488301f) * t;
    far = far + 2.8329768131239588f;
    return x * (w == INFINITY ? INFINITY : w > 4.95f ? far : near);
}

#endif
