/* Transcendental functions without branches or calls, so that compilers compute several elements at once.
 *
 * Each is within 2 units in the last place of the true value, for every argument; sigmoid, of two roundings more, is
 * within 3. The reductions are the usual ones: a power of two, or a power of two and a factor near 1, is split off, and
 * a polynomial is left. */
#ifndef OPWRIGHT_MATHEMATICS_H
#define OPWRIGHT_MATHEMATICS_H

#include <opwright/elements.h>

/* A number that rounds what it is added to, and then holds it in its last bits. */
#define ROUNDING_F32 0x1.8p23f
#define ROUNDING_F64 0x1.8p52

/* Returns 2 ** k, of the k that was added to the rounding number. */
ELEMENT float power_of_two_f32(float held) { return from_bits_f32((bits_f32(held) + 127u) << 23); }
/* Returns 2 ** k, of the k that was added to the rounding number. */
ELEMENT double power_of_two_f64(double held) { return from_bits_f64((bits_f64(held) + 1023u) << 52); }

/* exp(y) without its power of two, 2 ** k. */
ELEMENT float exp_part_f32(float y, float k)
{
    const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f; /* the first factor has 15 bits: products are exact */
    float p = 0x1.a26762p-13f;
    p = p * r + 0x1.6d2e00p-10f;
    p = p * r + 0x1.110ff2p-7f;
    p = p * r + 0x1.555502p-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0.5f;
    p = (p * r) * r + r;
    return 1.0f + p;
}

ELEMENT float exp_f32(float x)
{
    const float low = x < -104.0f ? -104.0f : x, y = low > 89.0f ? 89.0f : low;
    const float k = (y * 0x1.715476p+0f + ROUNDING_F32) - ROUNDING_F32;
    const float part = exp_part_f32(y, k);
    const float half = (k * 0.5f + ROUNDING_F32); /* in two steps, since 2 ** k need be no float */
    const float first = power_of_two_f32(half), second = power_of_two_f32((k - (half - ROUNDING_F32)) + ROUNDING_F32);
    const float found = part * first * second;
    return x != x ? x : found;
}

ELEMENT double exp_part_f64(double y, double k)
{
    const double r = (y - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b39p-40;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r) * r + r;
    return 1.0 + p;
}

ELEMENT double exp_f64(double x)
{
    const double low = x < -746.0 ? -746.0 : x, y = low > 710.0 ? 710.0 : low;
    const double k = (y * 0x1.71547652b82fep+0 + ROUNDING_F64) - ROUNDING_F64;
    const double part = exp_part_f64(y, k);
    const double half = k * 0.5 + ROUNDING_F64;
    const double first = power_of_two_f64(half), second = power_of_two_f64((k - (half - ROUNDING_F64)) + ROUNDING_F64);
    const double found = part * first * second;
    return x != x ? x : found;
}

/* x = 2 ** k * m with m between sqrt(1/2) and sqrt(2); log m = f - f * f / 2 + s * (f * f / 2 + rest), where f = m - 1
 * and s = f / (2 + f). */
ELEMENT float log_f32(float x)
{
    const int is_small = x < 0x1p-126f;
    const float scaled = is_small ? x * 0x1p23f : x;
    const uint32_t bits = bits_f32(scaled);
    const float whole = from_bits_f32((bits & 0x007fffffu) | 0x3f800000u);
    const int is_high = whole > 0x1.6a09e6p+0f;
    const float m = is_high ? whole * 0.5f : whole;
    const float exponent = (float)(int32_t)(bits >> 23) - (is_small ? 150.0f : 127.0f);
    const float k = is_high ? exponent + 1.0f : exponent;
    const float f = m - 1.0f, s = f / (2.0f + f), z = s * s, w = z * z, half = 0.5f * f * f;
    const float rest = z * (0x1.555554p-1f + w * 0x1.23d3dcp-2f) + w * (0x1.999c26p-2f + w * 0x1.f13c4cp-3f);
    const float found = k * 0x1.62e300p-1f - ((half - (s * (half + rest) + k * 0x1.2fefa2p-17f)) - f);
    const float finite = x > 0.0f ? found : x == 0.0f ? -INFINITY : NAN;
    return x == INFINITY || x != x ? x : finite;
}

ELEMENT double log_f64(double x)
{
    const int is_small = x < 0x1p-1022;
    const double scaled = is_small ? x * 0x1p52 : x;
    const uint64_t bits = bits_f64(scaled);
    const double whole = from_bits_f64((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
    const int is_high = whole > 0x1.6a09e667f3bcdp+0;
    const double m = is_high ? whole * 0.5 : whole;
    const double held = from_bits_f64((bits >> 52) | 0x4330000000000000u) - 0x1p52; /* an integer as a double */
    const double exponent = held - (is_small ? 1075.0 : 1023.0), k = is_high ? exponent + 1.0 : exponent;
    const double f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
    const double odd =
        z * (0x1.5555555555593p-1 + w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
    const double found =
        k * 0x1.62e42fee00000p-1 - ((half - (s * (half + even + odd) + k * 0x1.a39ef35793c76p-33)) - f);
    const double finite = x > 0.0 ? found : x == 0.0 ? -INFINITY : NAN;
    return x == INFINITY || x != x ? x : finite;
}

/* Beyond 10, and 20, it is 1. */
ELEMENT float tanh_f32(float x)
{
    const float size = abs_f32(x), z = x * x, y = 2.0f * (size > 10.0f ? 10.0f : size);
    const float held = y * 0x1.715476p+0f + ROUNDING_F32;
    const float twice = exp_part_f32(y, held - ROUNDING_F32) * power_of_two_f32(held);
    float p = -0x1.76a45cp-8f;
    p = p * z + 0x1.525530p-6f;
    p = p * z - 0x1.b8440cp-5f;
    p = p * z + 0x1.110766p-3f;
    p = p * z - 0x1.555534p-2f;
    const float near = (p * z) * x + x, far = 1.0f - 2.0f / (twice + 1.0f);
    return size < 0.625f ? near : copysign_f32(far, x);
}

ELEMENT double tanh_f64(double x)
{
    const double size = abs_f64(x), z = x * x, y = 2.0 * (size > 20.0 ? 20.0 : size);
    const double held = y * 0x1.71547652b82fep+0 + ROUNDING_F64;
    const double twice = exp_part_f64(y, held - ROUNDING_F64) * power_of_two_f64(held);
    const double top = (-9.64399179425052238628e-1 * z + -9.92877231001918586564e1) * z + -1.61468768441708447952e3;
    const double bottom =
        ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
    const double near = x + x * (z * (top / bottom)), far = 1.0 - 2.0 / (twice + 1.0);
    return size < 0.625 ? near : copysign_f64(far, x);
}

/* Returns 1 / (1 + exp(-x)). */
ELEMENT float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }
/* Returns 1 / (1 + exp(-x)). */
ELEMENT double sigmoid_f64(double x) { return 1.0 / (1.0 + exp_f64(-x)); }

/* Near 0 a polynomial; beyond 1 the logarithm of what is left to 1 is one. */
ELEMENT float erf_f32(float x)
{
    const float size = abs_f32(x), y = size > 4.0f ? 4.0f : size, z = x * x;
    float near = 0x1.4ae4c6p-14f;
    near = near * z - 0x1.a485e8p-11f;
    near = near * z + 0x1.5419f4p-8f;
    near = near * z - 0x1.b7fbb4p-6f;
    near = near * z + 0x1.ce2d20p-4f;
    near = near * z - 0x1.81273ep-2f;
    near = near * z + 0x1.06eba8p-3f;
    float far = -0x1.727704p-23f;
    far = far * y + 0x1.958916p-16f;
    far = far * y - 0x1.dedd04p-12f;
    far = far * y + 0x1.1706f2p-8f;
    far = far * y - 0x1.9eda8cp-6f;
    far = far * y + 0x1.bcb1dcp-4f;
    far = far * y + 0x1.44256cp-1f;
    far = far * y + 0x1.212fb6p+0f;
    far = far * y - 0x1.a159d0p-13f;
    const float found = size < 1.0f ? x + x * near : copysign_f32(1.0f - exp_f32(-far), x);
    return x != x ? x : found;
}

ELEMENT double erf_f64(double x)
{
    const double size = abs_f64(x), y = size > 6.0 ? 6.0 : size, z = x * x;
    double near = -0x1.add55c39bbee1p-31;
    near = near * z + 0x1.d7e1482434bf3p-27;
    near = near * z - 0x1.5c25ff862877ep-23;
    near = near * z + 0x1.b98542ab06ebdp-20;
    near = near * z - 0x1.f4cae5a61a36bp-17;
    near = near * z + 0x1.f9a2c55b2019cp-14;
    near = near * z - 0x1.c02db0b91b656p-11;
    near = near * z + 0x1.565bccfc9c554p-8;
    near = near * z - 0x1.b82ce312170c7p-6;
    near = near * z + 0x1.ce2f21a04148ep-4;
    near = near * z - 0x1.812746b0379c9p-2;
    near = near * z + 0x1.06eba8214db68p-3;
    double far = -0x1.228783baa8dc0p-35;
    far = far * y + 0x1.46ecf800c76f5p-30;
    far = far * y - 0x1.50c9042f34255p-26;
    far = far * y + 0x1.a19e920759c90p-23;
    far = far * y - 0x1.55f5481d28686p-20;
    far = far * y + 0x1.75b37ee891cb0p-18;
    far = far * y - 0x1.e218f60f58a1ap-17;
    far = far * y + 0x1.6471c26685b1bp-19;
    far = far * y + 0x1.55a9c3f64b324p-13;
    far = far * y - 0x1.a545bc309c2a0p-11;
    far = far * y + 0x1.fd7dc47483e06p-10;
    far = far * y - 0x1.bde50099e5230p-12;
    far = far * y - 0x1.371824fe45b00p-6;
    far = far * y + 0x1.a4af3e366cf7dp-4;
    far = far * y + 0x1.45f5d65077a90p-1;
    far = far * y + 0x1.20dd2e00b5c2ep+0;
    far = far * y + 0x1.9d14bd46d1575p-22;
    const double found = size < 1.0 ? x + x * near : copysign_f64(1.0 - exp_f64(-far), x);
    return x != x ? x : found;
}

#endif
