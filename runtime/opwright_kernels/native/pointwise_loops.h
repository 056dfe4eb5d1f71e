/* How the loops of elementwise kernels are written: each is a macro's, for the type REAL, with the name OF(name).
 * `x`, `y` and `z` are elements of the operands, `n0`, `n1` and `n2` the numbers behind them. */

#ifndef OPWRIGHT_KERNELS_POINTWISE_LOOPS_H
#define OPWRIGHT_KERNELS_POINTWISE_LOOPS_H

#include "fast/arrays/loops.h"

/* Elements of a block, which is computed in the easy way before the hard elements of it are. */
#define PART 128

#define NUMBERS                                                                                                        \
    const REAL n0 = (REAL)numbers[0], n1 = (REAL)numbers[1], n2 = (REAL)numbers[2];                                    \
    (void)n0, (void)n1, (void)n2;

/* Define a loop that returns nothing and writes an expression of `x` for each of `count` elements. */
#define LOOP1(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0];                                                                        \
        REAL *out = (REAL *)data[1];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i];                                                                                      \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

/* Define a loop that returns nothing and writes an expression of `x` and `y` for each pair of elements. */
#define LOOP2(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];                                           \
        REAL *out = (REAL *)data[2];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i], y = ys[i];                                                                           \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

/* Define a loop that returns nothing and writes an expression of `x`, `y` and `z` for each three elements. */
#define LOOP3(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1], *zs = (const REAL *)data[2];              \
        REAL *out = (REAL *)data[3];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i], y = ys[i], z = zs[i];                                                                \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

/* Define a loop of one operand that returns nothing: EASY, which compilers vectorise, for all of a block of PART, then
 * HARD for those elements where IS_HARD. */
#define LOOP1_OR(NAME, IS_HARD, EASY, HARD)                                                                            \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        (void)numbers;                                                                                                 \
        for (npy_intp start = 0; start < count; start += PART) {                                                       \
            const REAL *xs = (const REAL *)data[0] + start;                                                            \
            const npy_intp size = count - start < PART ? count - start : PART;                                         \
            REAL found[PART];                                                                                          \
            int is_hard = 0;                                                                                           \
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                           \
                const REAL x = xs[i];                                                                                  \
                is_hard |= (IS_HARD);                                                                                  \
                found[i] = (EASY);                                                                                     \
            }                                                                                                          \
            for (npy_intp i = 0; is_hard && i < size; i++) {                                                           \
                const REAL x = xs[i];                                                                                  \
                found[i] = (IS_HARD) ? (HARD) : found[i];                                                              \
            }                                                                                                          \
            memcpy((REAL *)data[1] + start, found, (size_t)size * sizeof(REAL));                                       \
        }                                                                                                              \
    }

/* Define a loop of two operands that returns nothing: EASY, which compilers vectorise, for all of a block of PART, then
 * HARD for those elements where IS_HARD. */
#define LOOP2_OR(NAME, IS_HARD, EASY, HARD)                                                                            \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        (void)numbers;                                                                                                 \
        for (npy_intp start = 0; start < count; start += PART) {                                                       \
            const REAL *xs = (const REAL *)data[0] + start, *ys = (const REAL *)data[1] + start;                       \
            const npy_intp size = count - start < PART ? count - start : PART;                                         \
            REAL found[PART];                                                                                          \
            int is_hard = 0;                                                                                           \
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                           \
                const REAL x = xs[i], y = ys[i];                                                                       \
                is_hard |= (IS_HARD);                                                                                  \
                found[i] = (EASY);                                                                                     \
            }                                                                                                          \
            for (npy_intp i = 0; is_hard && i < size; i++) {                                                           \
                const REAL x = xs[i], y = ys[i];                                                                       \
                found[i] = (IS_HARD) ? (HARD) : found[i];                                                              \
            }                                                                                                          \
            memcpy((REAL *)data[2] + start, found, (size_t)size * sizeof(REAL));                                       \
        }                                                                                                              \
    }

/* Define a loop of one operand that returns nothing: CHEAP for a block of PART of which no element IS_COSTLY, else
 * COSTLY, which gives the same for the others. */
#define LOOP1_OR_CHEAP(NAME, IS_COSTLY, COSTLY, CHEAP)                                                                 \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        NUMBERS                                                                                                        \
        for (npy_intp start = 0; start < count; start += PART) {                                                       \
            const REAL *xs = (const REAL *)data[0] + start;                                                            \
            REAL *out = (REAL *)data[1] + start;                                                                       \
            const npy_intp size = count - start < PART ? count - start : PART;                                         \
            int is_costly = 0;                                                                                         \
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                           \
                const REAL x = xs[i];                                                                                  \
                is_costly |= (IS_COSTLY);                                                                              \
            }                                                                                                          \
            if (is_costly) {                                                                                           \
                EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                       \
                    const REAL x = xs[i];                                                                              \
                    out[i] = (COSTLY);                                                                                 \
                }                                                                                                      \
            } else {                                                                                                   \
                EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                       \
                    const REAL x = xs[i];                                                                              \
                    out[i] = (CHEAP);                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
