/* Loops of half that are the same to the bit as a float32 loop between two casts: sums, differences and products,
 * widened, computed and narrowed in registers; and what changes signs alone, which is so of bfloat16, too. */

#include "half_loops.h"

#include "loops.h"

#include <string.h>

/* Define a loop that returns nothing and writes BITS of the bits `x`, and `y` of the second operand if there is one. */
#define LOOP_OF_BITS(NAME, OPERANDS, BITS)                                                                             \
    CLONES static void NAME(char *const *data, npy_intp count, const float *const *numbers) {                          \
        const uint16_t *xs = (const uint16_t *)data[0], *ys = (const uint16_t *)data[OPERANDS - 1];                    \
        uint16_t *out = (uint16_t *)data[OPERANDS];                                                                    \
        (void)numbers;                                                                                                 \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const uint16_t x = xs[i], y = ys[i];                                                                       \
            (void)y;                                                                                                   \
            out[i] = (uint16_t)(BITS);                                                                                 \
        }                                                                                                              \
    }

LOOP_OF_BITS(negate_bits, 1, x ^ 0x8000)
LOOP_OF_BITS(absolute_bits, 1, x & 0x7fff)
LOOP_OF_BITS(copy_sign_bits, 2, (x & 0x7fff) | (y & 0x8000))

/* Return our loop for bits of half and bfloat16, all arrays, of a ufunc's name, borrowed; NULL without an exception if
 * there is none. */
HalfLoop bits_loop(const char *ufunc) {
    return strcmp(ufunc, "negative") == 0                                    ? negate_bits
           : strcmp(ufunc, "absolute") == 0 || strcmp(ufunc, "fabs") == 0    ? absolute_bits
           : strcmp(ufunc, "copysign") == 0                                  ? copy_sign_bits
                                                                             : NULL;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define IN_REGISTERS __attribute__((target("avx512f")))
#define WIDTH 16

/* Return sixteen halves as float32, or a number sixteen times. */
#define WIDENED(FROM, NUMBER) ((NUMBER) != NULL ? _mm512_set1_ps(*(NUMBER)) : _mm512_cvtph_ps(_mm256_loadu_si256(FROM)))

/* Define a loop that returns nothing and writes COMPUTE of each pair of halves, of which one may be a number, rounded
 * to half without an error: sixteen at a time, the rest as sixteen of which some are zero. */
#define BINARY_OF_HALVES(NAME, COMPUTE)                                                                                \
    IN_REGISTERS static inline __attribute__((always_inline)) void some_##NAME(                                        \
        char *const *data, npy_intp count, const float *first, const float *second) {                                  \
        const uint16_t *x = (const uint16_t *)data[0], *y = (const uint16_t *)data[1];                                 \
        uint16_t *out = (uint16_t *)data[2], few[3][WIDTH] = {{0}};                                                    \
        for (npy_intp i = 0; i < count; i += WIDTH) {                                                                  \
            const int is_whole = count - i >= WIDTH;                                                                   \
            const size_t rest = is_whole ? 0 : (size_t)(count - i) * sizeof *x;                                        \
            if (!is_whole) {                                                                                           \
                memcpy(few[0], x + i, first == NULL ? rest : 0);                                                       \
                memcpy(few[1], y + i, second == NULL ? rest : 0);                                                      \
            }                                                                                                          \
            const void *from[2] = {is_whole ? x + i : few[0], is_whole ? y + i : few[1]};                              \
            const __m512 left = WIDENED(from[0], first), right = WIDENED(from[1], second);                             \
            const __m256i found =                                                                                      \
                _mm512_cvtps_ph(COMPUTE(left, right), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);                  \
            _mm256_storeu_si256((__m256i *)(is_whole ? out + i : few[2]), found);                                      \
            if (!is_whole) {                                                                                           \
                memcpy(out + i, few[2], rest);                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    /* Run the loop, compiled for each way in which an operand is a number. Returns nothing. */                        \
    IN_REGISTERS static void NAME(char *const *data, npy_intp count, const float *const *numbers) {                    \
        if (numbers[0] != NULL) {                                                                                      \
            some_##NAME(data, count, numbers[0], NULL);                                                                \
        } else if (numbers[1] != NULL) {                                                                               \
            some_##NAME(data, count, NULL, numbers[1]);                                                                \
        } else {                                                                                                       \
            some_##NAME(data, count, NULL, NULL);                                                                      \
        }                                                                                                              \
    }

BINARY_OF_HALVES(add_halves, _mm512_add_ps)
BINARY_OF_HALVES(subtract_halves, _mm512_sub_ps)
BINARY_OF_HALVES(multiply_halves, _mm512_mul_ps)

/* Return our loop for halves of a ufunc's name, borrowed; NULL without an exception if there is none, or the processor
 * lacks AVX-512. */
HalfLoop half_loop(const char *ufunc) {
    if (!__builtin_cpu_supports("avx512f")) {
        return NULL;
    }
    return strcmp(ufunc, "add") == 0        ? add_halves
           : strcmp(ufunc, "subtract") == 0 ? subtract_halves
           : strcmp(ufunc, "multiply") == 0 ? multiply_halves
                                            : NULL;
}
#else
/* Return NULL without an exception: this processor has no loop of ours for halves. */
HalfLoop half_loop(const char *ufunc) {
    (void)ufunc;
    return NULL;
}
#endif
