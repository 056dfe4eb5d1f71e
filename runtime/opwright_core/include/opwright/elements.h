/* Functions of one element, with NumPy's meaning at every corner: for loops and for CUDA alike.
 *
 * The end of a name is the dtype: f32, f64, i8 … i64, u8 … u64, b8 (bool, 0 or 1). Integers wrap around, and a division
 * by zero gives 0. Nothing here depends on Python. */
#ifndef OPWRIGHT_ELEMENTS_H
#define OPWRIGHT_ELEMENTS_H

#ifndef __CUDACC_RTC__ /* the compiler at run time has what is used of them */
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

#ifdef __CUDACC__
#define ELEMENT static __device__ inline __attribute__((unused))
#else
#define ELEMENT static inline __attribute__((always_inline, unused))
#endif

/* Integers. W is unsigned and at least as wide as int, so that nothing overflows where that has no meaning. */
#define INTEGER(S, T, U, W, BITS)                                                                                      \
    ELEMENT T add_##S(T x, T y) { return (T)((W)x + (W)y); }                                                           \
    ELEMENT T subtract_##S(T x, T y) { return (T)((W)x - (W)y); }                                                      \
    ELEMENT T multiply_##S(T x, T y) { return (T)((W)x * (W)y); }                                                      \
    ELEMENT T negative_##S(T x) { return (T)((W)0 - (W)x); }                                                           \
    ELEMENT T positive_##S(T x) { return x; }                                                                          \
    ELEMENT T square_##S(T x) { return (T)((W)x * (W)x); }                                                             \
    ELEMENT T maximum_##S(T x, T y) { return x >= y ? x : y; }                                                         \
    ELEMENT T minimum_##S(T x, T y) { return x <= y ? x : y; }                                                         \
    ELEMENT T fmax_##S(T x, T y) { return x >= y ? x : y; }                                                            \
    ELEMENT T fmin_##S(T x, T y) { return x <= y ? x : y; }                                                            \
    ELEMENT T clamp_##S(T x, T y, T z) { return minimum_##S(maximum_##S(x, y), z); }                                   \
    ELEMENT T relu_##S(T x) { return x > 0 ? x : 0; }                                                                  \
    ELEMENT T where_##S(int c, T x, T y) { return c ? x : y; }                                                         \
    ELEMENT T invert_##S(T x) { return (T)~x; }                                                                        \
    ELEMENT T left_shift_##S(T x, T y) { return (U)y < BITS ? (T)((W)x << (U)y) : (T)0; }                              \
    ELEMENT int isnan_##S(T x)                                                                                         \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    ELEMENT int isinf_##S(T x)                                                                                         \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    ELEMENT int isfinite_##S(T x)                                                                                      \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        return 1;                                                                                                      \
    }                                                                                                                  \
    /* `bad` is set for a negative exponent, which NumPy refuses. */                                                   \
    ELEMENT T power_##S(T x, T y, int *bad)                                                                            \
    {                                                                                                                  \
        W base = (W)x, found = 1;                                                                                      \
        *bad |= y < (T)1 && y != 0;                                                                                    \
        for (U left = (U)y; left; left >>= 1, base *= base)                                                            \
            if (left & 1)                                                                                              \
                found *= base;                                                                                         \
        return (T)found;                                                                                               \
    }

#define SIGNED(S, T, U, W, BITS)                                                                                       \
    INTEGER(S, T, U, W, BITS)                                                                                          \
    ELEMENT T abs_##S(T x) { return x < 0 ? negative_##S(x) : x; }                                                     \
    ELEMENT T sign_##S(T x) { return (T)((x > 0) - (x < 0)); }                                                         \
    ELEMENT int signbit_##S(T x) { return x < 0; }                                                                     \
    ELEMENT T right_shift_##S(T x, T y) { return (U)y < BITS ? (T)(x >> (U)y) : (T)(x < 0 ? -1 : 0); }                 \
    ELEMENT T floor_divide_##S(T x, T y)                                                                               \
    {                                                                                                                  \
        if (y == 0)                                                                                                    \
            return 0;                                                                                                  \
        if (y == -1)                                                                                                   \
            return negative_##S(x);                                                                                    \
        return (T)(x / y - (x % y != 0 && (x < 0) != (y < 0)));                                                        \
    }                                                                                                                  \
    ELEMENT T fmod_##S(T x, T y) { return y == 0 || y == -1 ? (T)0 : (T)(x % y); }                                     \
    ELEMENT T remainder_##S(T x, T y)                                                                                  \
    {                                                                                                                  \
        const T rest = fmod_##S(x, y);                                                                                 \
        return rest != 0 && (rest < 0) != (y < 0) ? (T)(rest + y) : rest;                                              \
    }

#define UNSIGNED(S, T, W, BITS)                                                                                        \
    INTEGER(S, T, T, W, BITS)                                                                                          \
    ELEMENT T abs_##S(T x) { return x; }                                                                               \
    ELEMENT T sign_##S(T x) { return x != 0; }                                                                         \
    ELEMENT int signbit_##S(T x)                                                                                       \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    ELEMENT T right_shift_##S(T x, T y) { return y < BITS ? (T)(x >> y) : (T)0; }                                      \
    ELEMENT T floor_divide_##S(T x, T y) { return y == 0 ? (T)0 : (T)(x / y); }                                        \
    ELEMENT T fmod_##S(T x, T y) { return y == 0 ? (T)0 : (T)(x % y); }                                                \
    ELEMENT T remainder_##S(T x, T y) { return fmod_##S(x, y); }

SIGNED(i8, int8_t, uint8_t, uint32_t, 8)
SIGNED(i16, int16_t, uint16_t, uint32_t, 16)
SIGNED(i32, int32_t, uint32_t, uint32_t, 32)
SIGNED(i64, int64_t, uint64_t, uint64_t, 64)
UNSIGNED(u8, uint8_t, uint32_t, 8)
UNSIGNED(u16, uint16_t, uint32_t, 16)
UNSIGNED(u32, uint32_t, uint32_t, 32)
UNSIGNED(u64, uint64_t, uint64_t, 64)

/* Bools: sums are "or", products "and". */
ELEMENT uint8_t add_b8(uint8_t x, uint8_t y) { return x | y; }
ELEMENT uint8_t multiply_b8(uint8_t x, uint8_t y) { return x & y; }
ELEMENT uint8_t maximum_b8(uint8_t x, uint8_t y) { return x | y; }
ELEMENT uint8_t minimum_b8(uint8_t x, uint8_t y) { return x & y; }
ELEMENT uint8_t fmax_b8(uint8_t x, uint8_t y) { return x | y; }
ELEMENT uint8_t fmin_b8(uint8_t x, uint8_t y) { return x & y; }
ELEMENT uint8_t abs_b8(uint8_t x) { return x; }
ELEMENT uint8_t invert_b8(uint8_t x) { return !x; }
ELEMENT int isnan_b8(uint8_t x)
{
    (void)x;
    return 0;
}
ELEMENT int isinf_b8(uint8_t x)
{
    (void)x;
    return 0;
}
ELEMENT int isfinite_b8(uint8_t x)
{
    (void)x;
    return 1;
}
ELEMENT int signbit_b8(uint8_t x)
{
    (void)x;
    return 0;
}

/* Which of two equal floats maximum and minimum give, as NumPy does: of zeros the second; on ARM the larger, the
 * smaller. */
#ifdef __aarch64__
#define LARGER_EQUAL(S, X, Y) from_bits_##S(bits_##S(X) & bits_##S(Y))
#define SMALLER_EQUAL(S, X, Y) from_bits_##S(bits_##S(X) | bits_##S(Y))
#else
#define LARGER_EQUAL(S, X, Y) (Y)
#define SMALLER_EQUAL(S, X, Y) (Y)
#endif

/* Floats. F is the end of libm's names: what is called there is computed one element at a time. */
#define FLOATING(S, T, B, F, LAST)                                                                                     \
    ELEMENT B bits_##S(T x)                                                                                            \
    {                                                                                                                  \
        B bits;                                                                                                        \
        memcpy(&bits, &x, sizeof bits);                                                                                \
        return bits;                                                                                                   \
    }                                                                                                                  \
    ELEMENT T from_bits_##S(B bits)                                                                                    \
    {                                                                                                                  \
        T x;                                                                                                           \
        memcpy(&x, &bits, sizeof x);                                                                                   \
        return x;                                                                                                      \
    }                                                                                                                  \
    ELEMENT T abs_##S(T x) { return from_bits_##S(bits_##S(x) & ~((B)1 << LAST)); }                                    \
    ELEMENT T copysign_##S(T x, T y)                                                                                   \
    {                                                                                                                  \
        return from_bits_##S((bits_##S(x) & ~((B)1 << LAST)) | (bits_##S(y) & ((B)1 << LAST)));                        \
    }                                                                                                                  \
    ELEMENT int signbit_##S(T x) { return (int)(bits_##S(x) >> LAST); }                                                \
    ELEMENT int isnan_##S(T x) { return x != x; }                                                                      \
    ELEMENT int isinf_##S(T x) { return abs_##S(x) == (T)INFINITY; }                                                   \
    ELEMENT int isfinite_##S(T x) { return abs_##S(x) < (T)INFINITY; }                                                 \
    ELEMENT T negative_##S(T x) { return -x; }                                                                         \
    ELEMENT T positive_##S(T x) { return x; }                                                                          \
    ELEMENT T square_##S(T x) { return x * x; }                                                                        \
    ELEMENT T reciprocal_##S(T x) { return 1 / x; }                                                                    \
    ELEMENT T maximum_##S(T x, T y) { return x > y || x != x ? x : x == y ? LARGER_EQUAL(S, x, y) : y; }               \
    ELEMENT T minimum_##S(T x, T y) { return x < y || x != x ? x : x == y ? SMALLER_EQUAL(S, x, y) : y; }              \
    ELEMENT T fmax_##S(T x, T y) { return x >= y || y != y ? x : y; }                                                  \
    ELEMENT T fmin_##S(T x, T y) { return x <= y || y != y ? x : y; }                                                  \
    ELEMENT T clamp_##S(T x, T y, T z) { return minimum_##S(maximum_##S(x, y), z); }                                   \
    ELEMENT T relu_##S(T x) { return maximum_##S(x, 0); }                                                              \
    ELEMENT T sign_##S(T x) { return x != x ? x : (T)((x > 0) - (x < 0)); }                                            \
    ELEMENT T floor_##S(T x) { return floor##F(x); }                                                                   \
    ELEMENT T ceil_##S(T x) { return ceil##F(x); }                                                                     \
    ELEMENT T trunc_##S(T x) { return trunc##F(x); }                                                                   \
    ELEMENT T round_##S(T x) { return rint##F(x); }                                                                    \
    ELEMENT T sqrt_##S(T x) { return sqrt##F(x); }                                                                     \
    ELEMENT T rsqrt_##S(T x) { return 1 / sqrt##F(x); }                                                                \
    ELEMENT T fmod_##S(T x, T y) { return fmod##F(x, y); }                                                             \
    ELEMENT T remainder_##S(T x, T y)                                                                                  \
    {                                                                                                                  \
        T rest = fmod##F(x, y);                                                                                        \
        if (!y)                                                                                                        \
            return rest;                                                                                               \
        if (!rest)                                                                                                     \
            return copysign_##S(0, y);                                                                                 \
        return (y < 0) != (rest < 0) ? rest + y : rest;                                                                \
    }                                                                                                                  \
    ELEMENT T floor_divide_##S(T x, T y)                                                                               \
    {                                                                                                                  \
        if (!y)                                                                                                        \
            return x / y;                                                                                              \
        const T rest = fmod##F(x, y);                                                                                  \
        T found = (x - rest) / y;                                                                                      \
        if (rest && (y < 0) != (rest < 0))                                                                             \
            found -= 1;                                                                                                \
        if (!found)                                                                                                    \
            return copysign_##S(0, x / y);                                                                             \
        const T whole = floor##F(found);                                                                               \
        return found - whole > (T)0.5 ? whole + 1 : whole;                                                             \
    }                                                                                                                  \
    ELEMENT T logaddexp_##S(T x, T y)                                                                                  \
    {                                                                                                                  \
        if (x == y)                                                                                                    \
            return x + (T)0.693147180559945309417232121458176568;                                                      \
        const T apart = x - y;                                                                                         \
        return apart > 0 ? x + log1p##F(exp##F(-apart)) : apart <= 0 ? y + log1p##F(exp##F(apart)) : apart;            \
    }                                                                                                                  \
    ELEMENT T power_##S(T x, T y) { return pow##F(x, y); }                                                             \
    ELEMENT T hypot_##S(T x, T y) { return hypot##F(x, y); }                                                           \
    ELEMENT T atan2_##S(T x, T y) { return atan2##F(x, y); }                                                           \
    ELEMENT T exp2_##S(T x) { return exp2##F(x); }                                                                     \
    ELEMENT T expm1_##S(T x) { return expm1##F(x); }                                                                   \
    ELEMENT T log2_##S(T x) { return log2##F(x); }                                                                     \
    ELEMENT T log10_##S(T x) { return log10##F(x); }                                                                   \
    ELEMENT T log1p_##S(T x) { return log1p##F(x); }                                                                   \
    ELEMENT T cbrt_##S(T x) { return cbrt##F(x); }                                                                     \
    ELEMENT T sin_##S(T x) { return sin##F(x); }                                                                       \
    ELEMENT T cos_##S(T x) { return cos##F(x); }                                                                       \
    ELEMENT T tan_##S(T x) { return tan##F(x); }                                                                       \
    ELEMENT T asin_##S(T x) { return asin##F(x); }                                                                     \
    ELEMENT T acos_##S(T x) { return acos##F(x); }                                                                     \
    ELEMENT T atan_##S(T x) { return atan##F(x); }                                                                     \
    ELEMENT T sinh_##S(T x) { return sinh##F(x); }                                                                     \
    ELEMENT T cosh_##S(T x) { return cosh##F(x); }                                                                     \
    ELEMENT T asinh_##S(T x) { return asinh##F(x); }                                                                   \
    ELEMENT T acosh_##S(T x) { return acosh##F(x); }                                                                   \
    ELEMENT T atanh_##S(T x) { return atanh##F(x); }                                                                   \
    ELEMENT T erfc_##S(T x) { return erfc##F(x); }                                                                     \
    ELEMENT T lgamma_##S(T x) { return lgamma##F(x); }

FLOATING(f32, float, uint32_t, f, 31)
FLOATING(f64, double, uint64_t, , 63)

/* Half and bfloat16: exact one way, to the nearest (of two, the even one) the other. */
ELEMENT float from_f16(uint16_t half)
{
    const uint32_t size = (uint32_t)(half & 0x7fffu) << 13, sign = (uint32_t)(half & 0x8000u) << 16;
    const float scaled = from_bits_f32(size) * 0x1p112f;
    const uint32_t bits = size >= 0x0f800000u ? size | 0x7f800000u : bits_f32(scaled);
    return from_bits_f32(bits | sign);
}

ELEMENT uint16_t to_f16(float x)
{
    const uint32_t bits = bits_f32(x), sign = bits & 0x80000000u, size = bits ^ sign;
    /* Adding a power of two that stands 10 bits (or, for small ones, as many as are left) higher rounds. */
    const uint32_t magic = (size < 0x38800000u ? 0x38800000u : size & 0x7f800000u) + 0x06800000u;
    const float rounded = (from_bits_f32(size) + from_bits_f32(magic)) - from_bits_f32(magic);
    const uint32_t found = bits_f32(rounded * 0x1p-112f) >> 13;
    const uint32_t half = size > 0x7f800000u ? 0x7e00u : size >= 0x477ff000u ? 0x7c00u : found;
    return (uint16_t)(half | sign >> 16);
}

ELEMENT float from_bf16(uint16_t half) { return from_bits_f32((uint32_t)half << 16); }

ELEMENT uint16_t to_bf16(float x)
{
    const uint32_t bits = bits_f32(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}

#endif
