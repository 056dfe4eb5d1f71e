/* Loops for ufuncs whose loops in NumPy are not vectorised: the same to the bit, for dense arrays. */

#include "dense_loops.h"
#include "loops.h"

/* Define a dense loop that returns nothing and writes an expression of `x` for each element. */
#define UNARY(NAME, REAL, RESULT, ...)                                                                                 \
    CLONES static void NAME(char *const *data, npy_intp count) {                                                       \
        const REAL *xs = (const REAL *)data[0];                                                                        \
        RESULT *out = (RESULT *)data[1];                                                                               \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i];                                                                                      \
            out[i] = (RESULT)(__VA_ARGS__);                                                                            \
        }                                                                                                              \
    }

/* Define a dense loop that returns nothing and writes an expression of `x` and `y` for each pair of elements. */
#define BINARY(NAME, REAL, RESULT, ...)                                                                                \
    CLONES static void NAME(char *const *data, npy_intp count) {                                                       \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];                                           \
        RESULT *out = (RESULT *)data[2];                                                                               \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i], y = ys[i];                                                                           \
            out[i] = (RESULT)(__VA_ARGS__);                                                                            \
        }                                                                                                              \
    }

/* Define the loops of both types, which return nothing: KIND is UNARY or BINARY. */
#define BOTH(KIND, NAME, RESULT32, RESULT64, ...)                                                                      \
    KIND(NAME##_f32, float, RESULT32, __VA_ARGS__)                                                                     \
    KIND(NAME##_f64, double, RESULT64, __VA_ARGS__)

BOTH(UNARY, reciprocal_of, float, double, 1 / x)
BOTH(UNARY, logical_not, npy_bool, npy_bool, x == 0)
BOTH(BINARY, logical_and, npy_bool, npy_bool, (x != 0) & (y != 0))
BOTH(BINARY, logical_or, npy_bool, npy_bool, (x != 0) | (y != 0))
BOTH(BINARY, logical_xor, npy_bool, npy_bool, (x != 0) ^ (y != 0))
BINARY(copysign_of_f32, float, float, copysign_f32(x, y))
BINARY(copysign_of_f64, double, double, copysign_f64(x, y))

/* Return hypot(x, y) of two float32: in double their squares and the sum lose nothing that the root would show. */
ELEMENT float length_f32(float x, float y) {
    const float found = (float)sqrt((double)x * (double)x + (double)y * (double)y);
    return abs_f32(x) == INFINITY || abs_f32(y) == INFINITY ? INFINITY : found;
}
BINARY(hypot_of_f32, float, float, length_f32(x, y))

static const struct {
    const char *ufunc;
    DenseLoop loops[2];
} dense_loops[] = {
    {"reciprocal", {reciprocal_of_f32, reciprocal_of_f64}},
    {"logical_not", {logical_not_f32, logical_not_f64}},
    {"logical_and", {logical_and_f32, logical_and_f64}},
    {"logical_or", {logical_or_f32, logical_or_f64}},
    {"logical_xor", {logical_xor_f32, logical_xor_f64}},
    {"copysign", {copysign_of_f32, copysign_of_f64}},
    {"hypot", {hypot_of_f32, NULL}},
};

/* Return our loop for a ufunc's name and a type number, borrowed; NULL without an exception if there is none. */
DenseLoop dense_loop(const char *ufunc, int type) {
    for (size_t i = 0; i < sizeof dense_loops / sizeof *dense_loops; i++) {
        if ((type == NPY_FLOAT || type == NPY_DOUBLE) && strcmp(dense_loops[i].ufunc, ufunc) == 0) {
            return dense_loops[i].loops[type == NPY_DOUBLE];
        }
    }
    return NULL;
}
